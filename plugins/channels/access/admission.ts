/** Whose messages reach an agent. Decides only. */
import type { ChannelAccount, InboundMessage, Receipt } from "@svc/sdk/channels";

type Refusal = Extract<Receipt, { accepted: false }>["reason"];
type Rules = Pick<ChannelAccount, "allowFrom" | "groups" | "requireMention">;

export const EVERYBODY = "*";

/**
 * Why a message is refused, or `undefined`. Only listed people and groups have access, and only ids count, because
 * names can be chosen freely.
 * @param activation `groupActivation` of the session of a group: `mention` and `always` override `requireMention`; any other
 * value is ignored
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
 * Whether the agent works for this person. Choice: only people listed by id; a message from anyone else, in a group
 * or let in by `*`, is external content.
 */
export function isUser({ allowFrom = [] }: Rules, senderId: string): boolean {
  return senderId !== EVERYBODY && allowFrom.some((id) => id.trim() === senderId);
}

/** Exact comparison, except for blanks around configured ids: ids of some networks differ only in case. */
function names(list: readonly string[] | undefined, id: string): boolean {
  return (list ?? []).some((entry) => entry.trim() === EVERYBODY || entry.trim() === id);
}
