/** What an agent is told of a message. Pure. */
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import type { Inbound } from "./inbound-message.ts";

const MAX_NAME_CHARS = 80;

/**
 * The words of the run. A person the agent works for speaks for themselves, in a group under their name; anybody else's words
 * are marked as text from outside.
 */
export function runMessage({ chat, sender, text }: Inbound, isUser: boolean): string {
  const name = externalLine(sender.name ?? "", MAX_NAME_CHARS) || externalLine(sender.id, MAX_NAME_CHARS);
  if (!isUser) return wrapExternalContent(text, { source: "external", from: `${name} (${sender.id})` });
  return chat.type === "group" ? `${name}: ${text}` : text;
}

/** The same for all messages of a chat, so that those that wait can be answered together. */
export function channelPrompt(label: string, chatType: Inbound["chat"]["type"], maxChars: number): string {
  const where = chatType === "group" ? "a group" : "a direct chat";
  return (
    `This conversation is ${where} on ${externalLine(label, MAX_NAME_CHARS)}. Your reply is sent there as it stands: plain text, ` +
    `without markup; what is longer than ${maxChars} characters is sent in several messages. If nobody needs an answer, ` +
    "answer only NO_REPLY."
  );
}
