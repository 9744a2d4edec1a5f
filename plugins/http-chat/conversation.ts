/** `messages` taken apart: instructions, what was said before, and what the agent is asked now. Pure. Spec: http/chat-completions.md §4. */
import { invalidRequest } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { fieldsOf, type ImagePart, joinedText, readContent } from "./content.ts";
import { type Entry, type KnownCalls, readEntry, type ResultEntry } from "./entries.ts";
import { refuseField } from "./refusals.ts";

export interface Conversation {
  /** All texts of `system` and `developer`, a blank line between them. */
  readonly system: string;
  /** Before the question; empty: the session's own conversation counts. */
  readonly history: readonly Entry[];
  /** Answers to calls at the end of `history`, or of the session where that is empty. */
  readonly results: readonly ResultEntry[];
  /** May be empty beside `results` or `images`. */
  readonly message: string;
  readonly images: readonly ImagePart[];
}

const ENTRY_ROLES = ["user", "assistant", "tool", "function"];

/** @param messages anything but a list is an empty one. @throws GatewayError `INVALID_REQUEST` naming the field */
export function readConversation(messages: unknown): Conversation {
  const system: string[] = [];
  const entries: Entry[] = [];
  const calls: KnownCalls = new Map();
  let stranger: string | undefined;
  for (const [index, value] of (Array.isArray(messages) ? messages : []).entries()) {
    const param = `messages[${index}]`;
    const fields = fieldsOf(value, param);
    const { role } = fields;
    if (role === "system" || role === "developer")
      system.push(joinedText(readContent(fields["content"], `${param}.content`, "other")));
    else if (typeof role === "string" && ENTRY_ROLES.includes(role)) {
      const entry = readEntry(role, fields, param, calls);
      if (entry) entries.push(entry);
    } else stranger ??= `${param}.role`;
  }
  const asked = takeApart(entries);
  if (stranger !== undefined) refuseField(stranger, "must be system, developer, user, assistant or tool");
  requireCalls(asked);
  const history = withOpening(asked.history);
  return { system: system.filter((text) => text.trim() !== "").join("\n\n"), ...asked, history };
}

/** Models are shown a conversation from a message of the user on; without one, what the assistant said first would be lost. */
const OPENING: Entry = { role: "user", parts: [{ type: "text", text: "[the assistant speaks first]" }] };

function withOpening(history: readonly Entry[]): readonly Entry[] {
  return history[0]?.role === "assistant" ? [OPENING, ...history] : history;
}

/** What comes after the last question or answer of a tool does not count. Spec: §4 rule 5. */
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

/** Answers without their call would be lost; only the session may have the call of what comes alone. */
function requireCalls({ history, results }: Omit<Conversation, "system">): void {
  const inRequest = history.length > 0 ? [...history, ...results] : [];
  for (const entry of inRequest)
    if (isResult(entry) && entry.toolName === undefined)
      refuseField(`${entry.param}.tool_call_id`, "no assistant message before it has a call of this id");
}
