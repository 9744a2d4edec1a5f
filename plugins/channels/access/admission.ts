/** Whose messages reach an agent. Decides only. */
import type { ChannelAccess, InboundMessage, Receipt } from "@svc/sdk/channels";

type Refusal = Extract<Receipt, { accepted: false }>["reason"];
type Rules = ChannelAccess;
type Checked = Pick<
  InboundMessage,
  "chat" | "sender" | "mentioned" | "text" | "media" | "location" | "event" | "replyTo" | "forwarded"
>;

export const EVERYBODY = "*";

/** Choice: characters of a text in which mention patterns are searched. */
const SEARCHED_CHARS = 4_000;

/** What the gateway knows about the sender and the group of a message beside the account's rules. */
export interface Known {
  /** The owner has approved the sender's code. */
  readonly isPaired?: boolean;
  /** `groupActivation` of the session: `mention` and `always` override `requireMention`; any other value is ignored. */
  readonly activation?: unknown;
}

/**
 * Why a message is refused, or `undefined`. Only listed people and groups have access, and only ids count, because
 * names can be chosen freely. `pairing`: the sender may ask the owner for access.
 */
export function refusalOf(rules: Rules, message: Checked, known: Known = {}): Refusal | undefined {
  const refusal = message.chat.type === "direct" ? ofPerson(rules, message, known) : ofGroup(rules, message, known);
  return refusal ?? (isEmpty(message) ? "empty" : undefined);
}

function ofPerson(rules: Rules, { sender }: Checked, { isPaired = false }: Known): Refusal | undefined {
  const { dmPolicy = "pairing", allowFrom } = rules;
  if (dmPolicy === "disabled") return "not-allowed";
  if (names(allowFrom, sender.id)) return undefined;
  if (dmPolicy !== "pairing") return "not-allowed";
  return isPaired ? undefined : "pairing";
}

function ofGroup(rules: Rules, message: Checked, { activation }: Known): Refusal | undefined {
  const { groupPolicy = "allowlist", groups, groupAllowFrom } = rules;
  const { chat, sender } = message;
  if (groupPolicy === "disabled") return "not-allowed";
  if (groupPolicy === "allowlist" && !groupIds(chat).some((id) => names(groups, id))) return "not-allowed";
  if (groupAllowFrom !== undefined && !names(groupAllowFrom, sender.id)) return "not-allowed";
  const needsMention = activation === "mention" || (activation !== "always" && requiresMention(rules, chat));
  return needsMention && !isMention(rules, message) ? "not-mentioned" : undefined;
}

/** Whether the message addresses the agent: by a mention, as answer to it, with a button, or by a pattern of the account. */
export function isMention({ mentionPatterns = [] }: Rules, { mentioned, replyTo, event, text }: Checked): boolean {
  if (mentioned === true || replyTo?.isOwn === true || event?.kind === "button") return true;
  const searched = text.slice(0, SEARCHED_CHARS);
  return mentionPatterns.some((pattern) => new RegExp(pattern, "iu").test(searched)); // checked by `accountsOf`
}

function requiresMention({ mentionByGroup = {}, requireMention = true }: Rules, chat: InboundMessage["chat"]): boolean {
  const own = [...groupIds(chat), EVERYBODY].find((id) => Object.hasOwn(mentionByGroup, id));
  return own === undefined ? requireMention : mentionByGroup[own] === true;
}

function groupIds({ id, parentId }: InboundMessage["chat"]): readonly string[] {
  return parentId === undefined ? [id] : [id, parentId];
}

/** A message without words may still point at something: a file, a place, or the message it answers or forwards. */
function isEmpty({ text, media = [], location, event, replyTo, forwarded }: Checked): boolean {
  const others = [replyTo?.text, forwarded?.text].some((words = "") => words.trim() !== "");
  return text.trim() === "" && media.length === 0 && location === undefined && event === undefined && !others;
}

/**
 * Whether the agent works for this person. Choice: only people listed by id, and people whose code the owner approved; a
 * message from anyone else, in a group or let in by `*`, is external content.
 */
export function isUser({ allowFrom = [], dmPolicy = "pairing" }: Rules, senderId: string, isPaired = false): boolean {
  if (isPaired && dmPolicy === "pairing") return true;
  return senderId !== EVERYBODY && allowFrom.some((id) => id.trim() === senderId);
}

/** Exact comparison, except for blanks around configured ids: ids of some networks differ only in case. */
function names(list: readonly string[] | undefined, id: string): boolean {
  return (list ?? []).some((entry) => entry.trim() === EVERYBODY || entry.trim() === id);
}
