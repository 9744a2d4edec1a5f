/** Splits `messages` into instructions, history and the current question. Pure. Spec: http/chat-completions.md §4. */
import { invalidRequest } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { fieldsOf, type ImagePart, joinedText, readContent } from "./content.ts";
import { type Entry, type KnownCalls, readEntry, type ResultEntry } from "./entries.ts";
import { refuseField } from "./refusals.ts";

export interface Conversation {
  /** All texts of `system` and `developer`, joined by blank lines. */
  readonly system: string;
  /** Messages before the question; empty: the session's own conversation is used. */
  readonly history: readonly Entry[];
  /** Answers to the calls at the end of `history`; if `history` is empty, to the calls at the end of the session. */
  readonly results: readonly ResultEntry[];
  /** May be empty if there are `results` or `images`. */
  readonly message: string;
  readonly images: readonly ImagePart[];
}

const ENTRY_ROLES = ["user", "assistant", "tool", "function"];

/** @param messages anything except a list counts as an empty list. @throws GatewayError `INVALID_REQUEST` naming the field */
export function readConversation(messages: unknown): Conversation {
  const system: string[] = [];
  const entries: Entry[] = [];
  const calls: KnownCalls = new Map();
  let unknownRole: string | undefined;
  for (const [index, value] of (Array.isArray(messages) ? messages : []).entries()) {
    const param = `messages[${index}]`;
    const fields = fieldsOf(value, param);
    const { role } = fields;
    if (role === "system" || role === "developer")
      system.push(joinedText(readContent(fields["content"], `${param}.content`, "other")));
    else if (typeof role === "string" && ENTRY_ROLES.includes(role)) {
      const entry = readEntry(role, fields, param, calls);
      if (entry) entries.push(entry);
    } else unknownRole ??= `${param}.role`;
  }
  const asked = takeApart(entries);
  if (unknownRole !== undefined) refuseField(unknownRole, "must be system, developer, user, assistant or tool");
  requireCalls(asked);
  const history = withOpening(asked.history);
  return { system: system.filter((text) => text.trim() !== "").join("\n\n"), ...asked, history };
}

/** Models get a conversation from the first user message on; without one, an opening message of the assistant would be lost. */
const OPENING: Entry = { role: "user", parts: [{ type: "text", text: "[the assistant speaks first]" }] };

function withOpening(history: readonly Entry[]): readonly Entry[] {
  return history[0]?.role === "assistant" ? [OPENING, ...history] : history;
}

/** Messages after the last question or tool result are ignored. Spec: §4 rule 5. */
function takeApart(entries: readonly Entry[]): Omit<Conversation, "system"> {
  const last = entries.findLastIndex(({ role }) => role !== "assistant");
  const current = entries[last];
  const nothing = { results: [], message: "", images: [] };
  if (!current) {
    const said = entries.at(-1);
    const message = said?.role === "assistant" ? textOf(said) : "";
    return message === "" ? missing() : { ...nothing, history: entries.slice(0, -1), message };
  }
  const before = entries.slice(0, last);
  if (current.role === "user") {
    const message = joinedText(current.parts);
    const images = current.parts.filter((part) => part.type === "image_url");
    const results = before.every(isResult) ? before : [];
    return { history: results.length > 0 ? [] : before, results, message, images };
  }
  const first = entries.findLastIndex((entry, index) => index < last && entry.role !== "toolResult") + 1;
  return { ...nothing, history: entries.slice(0, first), results: entries.slice(first, last + 1).filter(isResult) };
}

function isResult(entry: Entry): entry is ResultEntry {
  return entry.role === "toolResult";
}

function missing(): never {
  return invalidRequest("Missing user message in `messages`.", { param: "messages" });
}

/**
 * Refuses an answer without its call, which would be lost. Only without history may an answer refer to a call of the
 * session.
 */
function requireCalls({ history, results }: Omit<Conversation, "system">): void {
  const inRequest = history.length > 0 ? [...history, ...results] : [];
  for (const entry of inRequest)
    if (isResult(entry) && entry.toolName === undefined)
      refuseField(`${entry.param}.tool_call_id`, "no assistant message before it has a call of this id");
}
