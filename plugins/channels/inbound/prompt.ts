/** Texts for the agent about a message. Pure. */
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import type { Inbound } from "./inbound-message.ts";

const MAX_NAME_CHARS = 80;

/**
 * Message of the run. The text of a person the agent works for is unmarked, in a group under their name; text of anyone else
 * is marked as external content.
 */
export function runMessage({ chat, sender, text }: Inbound, isUser: boolean): string {
  const name = externalLine(sender.name ?? "", MAX_NAME_CHARS) || externalLine(sender.id, MAX_NAME_CHARS);
  if (!isUser) return wrapExternalContent(text, { source: "external", from: `${name} (${sender.id})` });
  return chat.type === "group" ? `${name}: ${text}` : text;
}

/** Identical for all messages of a chat, so that waiting messages can be answered together. */
export function channelPrompt(label: string, chatType: Inbound["chat"]["type"], maxChars: number): string {
  const where = chatType === "group" ? "a group" : "a direct chat";
  return (
    `This conversation is ${where} on ${externalLine(label, MAX_NAME_CHARS)}. Your reply is sent there unchanged: plain text, ` +
    `without markup; a reply longer than ${maxChars} characters is sent in several messages. If no answer is needed, ` +
    "answer only NO_REPLY."
  );
}
