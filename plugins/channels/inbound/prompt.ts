/** Texts for the agent about a message. Pure. */
import type { ChannelCapabilities } from "@svc/sdk/channels";
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import type { ContextMessage } from "./context-store.ts";
import type { Inbound } from "./inbound-message.ts";

const MAX_NAME_CHARS = 80;

/**
 * Message of the run. The text of a person the agent works for is unmarked, in a group under their name; text of anyone else
 * is marked as external content, and so are quoted messages of others and the context of a group.
 * @param context messages of the group since the last answer
 */
export function runMessage(
  message: Omit<Inbound, "media">,
  isUser: boolean,
  context: readonly ContextMessage[] = [],
): string {
  const { chat, sender } = message;
  const name = nameOf(sender);
  const words = wordsOf(message);
  const said =
    words === ""
      ? ""
      : isUser
        ? chat.type === "group"
          ? `${name}: ${words}`
          : words
        : wrapExternalContent(words, { source: "external", from: `${name} (${sender.id})` });
  return joined(contextText(context), aroundText(message), said);
}

/** What a message quotes and forwards. */
export function aroundText(message: Pick<Inbound, "replyTo" | "forwarded">): string {
  return joined(quotedText(message), forwardedText(message));
}

/** Paragraphs without the empty ones. */
export function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

export function nameOf({ name, id }: Inbound["sender"]): string {
  return externalLine(name ?? "", MAX_NAME_CHARS) || externalLine(id, MAX_NAME_CHARS);
}

/** The text of a message, with its place and the button that was pressed. */
export function wordsOf({ text, location, event }: Pick<Inbound, "text" | "location" | "event">): string {
  const button = event?.kind === "button" ? `[pressed the button "${text.trim()}": ${event.value}]` : text;
  if (!location) return button;
  const { latitude, longitude, name = "", address = "" } = location;
  const place = [externalLine(name, MAX_NAME_CHARS), externalLine(address, 2 * MAX_NAME_CHARS)].filter(Boolean);
  return `${button}\n[location: ${[`${latitude}, ${longitude}`, ...place].join(", ")}]`.trim();
}

function forwardedText({ forwarded }: Pick<Inbound, "forwarded">): string {
  if (!forwarded || forwarded.text.trim() === "") return "";
  const from = externalLine(forwarded.from ?? "", MAX_NAME_CHARS);
  return `[forwarded message]\n${wrapExternalContent(forwarded.text, { source: "external", ...(from === "" ? {} : { from }) })}`;
}

function quotedText({ replyTo }: Pick<Inbound, "replyTo">): string {
  const text = replyTo?.text?.trim() ?? "";
  if (!replyTo || text === "") return "";
  if (replyTo.isOwn === true) return `[in answer to your message: ${externalLine(text, 1_000)}]`;
  const from = externalLine(replyTo.senderName ?? "", MAX_NAME_CHARS);
  return `[in answer to this message]\n${wrapExternalContent(text, { source: "external", ...(from === "" ? {} : { from }) })}`;
}

function contextText(context: readonly ContextMessage[]): string {
  if (context.length === 0) return "";
  const lines = context.map(({ sender, text }) => `${sender}: ${text}`).join("\n");
  return `[messages of the group since your last answer]\n${wrapExternalContent(lines, { source: "external", from: "members of the group" })}`;
}

/** Identical for all messages of a chat, so that waiting messages can be answered together. */
export function channelPrompt(
  label: string,
  chatType: Inbound["chat"]["type"],
  { maxTextChars, markup = "plain" }: Pick<ChannelCapabilities, "maxTextChars" | "markup">,
): string {
  const where = chatType === "group" ? "a group" : "a direct chat";
  const form =
    markup === "plain"
      ? "Your reply is sent there as plain text: do not use markup"
      : "Your reply is sent there; Markdown is shown formatted";
  return (
    `This conversation is ${where} on ${externalLine(label, MAX_NAME_CHARS)}. ${form}; ` +
    `a reply longer than ${maxTextChars} characters is sent in several messages. If no answer is needed, ` +
    "answer only NO_REPLY."
  );
}
