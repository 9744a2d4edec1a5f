/** Whose messages reach an agent. Decides only. */
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";

type Refusal = Extract<Receipt, { accepted: false }>["reason"];
type Rules = Pick<ChannelAccount, "allowFrom" | "groups" | "requireMention">;

export const EVERYBODY = "*";

/**
 * Why a message is not taken, or `undefined`. Nobody is let in who is not named, and only ids count that nobody else can
 * take: names are for people to read.
 * @param activation `groupActivation` of the session of a group: `mention` and `always` go before `requireMention`; anything else
 * says nothing
 */
export function refusalOf(
  rules: Rules,
  message: Pick<InboundMessage, "chat" | "sender" | "mentioned" | "text">,
  activation?: unknown,
): Refusal | undefined {
  const { chat, sender, mentioned, text } = message;
  if (chat.type === "direct") {
    if (!names(rules.allowFrom, sender.id)) return "not-allowed";
  } else {
    if (!names(rules.groups, chat.id)) return "not-allowed";
    const needsMention = activation === "mention" || (activation !== "always" && rules.requireMention !== false);
    if (needsMention && mentioned !== true) return "not-mentioned";
  }
  return text.trim() === "" ? "empty" : undefined;
}

/**
 * Whether this person is one the agent works for. Choice: only who is listed by id; a message from anybody else, in a group
 * or let in by `*`, is text from outside.
 */
export function isUser({ allowFrom = [] }: Rules, senderId: string): boolean {
  return senderId !== EVERYBODY && allowFrom.some((id) => id.trim() === senderId);
}

/** Exactly, but for blanks around what was configured: ids of some networks differ only in case. */
function names(list: readonly string[] | undefined, id: string): boolean {
  return (list ?? []).some((entry) => entry.trim() === EVERYBODY || entry.trim() === id);
}
