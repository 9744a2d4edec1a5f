/**
 * Turns the entries of a transcript, a tree by `id` and `parentId`, into messages in order. Pure; both generations of files use it.
 * Facts: protocol/stores.md.
 */
import { outsideOrigin } from "@svc/sdk";
import type { TranscriptMessage, TranscriptRecord } from "@svc/sdk/import";
import { isRecord, textIn } from "./values.ts";

type Stored = TranscriptMessage["message"] & Readonly<Record<string, unknown>>;

/** An entry as it was read. */
export type SourceEntry = Readonly<Record<string, unknown>>;

export interface ReadTranscript {
  /** From the root to the newest leaf. */
  readonly messages: readonly TranscriptMessage[];
  /** Messages of other branches, in the order of the file. */
  readonly branches: readonly TranscriptMessage[];
  readonly compactions: NonNullable<TranscriptRecord["compactions"]>;
  /** What was on the path before each `reset`, the oldest first: the model does not see it. */
  readonly former: readonly FormerConversation[];
  /** Key of the session, which an export of this gateway notes. */
  readonly key: string | undefined;
  /** The last choices in the transcript. */
  readonly name: string | undefined;
  readonly model: { readonly provider: string; readonly id: string } | undefined;
  readonly thinking: string | undefined;
  /** Entries without a meaning here, by type. */
  readonly dropped: Readonly<Record<string, number>>;
  /** What is damaged, one sentence each. */
  readonly faults: readonly string[];
}

export interface FormerConversation extends Pick<ReadTranscript, "messages" | "compactions"> {
  /** epoch ms of the reset */
  readonly at: number;
}

/** Field of the first line of a transcript that an export writes. File names have no session keys. */
export const SESSION_KEY = "sessionKey";

/** Entries of a file with one JSON value a line. A line that is no JSON object is left out and counted. */
export function parseLines(text: string): { readonly entries: readonly SourceEntry[]; readonly damaged: number } {
  const entries: SourceEntry[] = [];
  let damaged = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const value = parsed(line);
    if (isRecord(value)) entries.push(value);
    else damaged += 1;
  }
  return { entries, damaged };
}

/** The value of a JSON text; `undefined`: it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param isDamaged lines are missing, so an unknown parent is the entry before */
export function readTranscript(all: readonly SourceEntry[], isDamaged = false): ReadTranscript {
  const entries = all
    .filter(({ type }) => type !== "session")
    .map((entry, at) => (textIn(entry["id"]) === undefined ? { ...entry, id: `entry-${at}` } : entry));
  const faults: string[] = [];
  const path = activePath(entries, isDamaged, faults);
  const active = new Set(path);
  const dropped: Record<string, number> = {};
  const conversations = splitAtResets(path).map((part) => {
    const messages = unique(part.flatMap((entry) => messagesOf(entry, dropped)));
    return { messages, compactions: compactionsOf(part, messages, faults), at: timeOf(part.at(-1)) };
  });
  const { messages = [], compactions = [] } = conversations.pop() ?? {};
  const branches = entries.flatMap((entry) => (active.has(entry) ? [] : messagesOf(entry, {})));
  const last = (type: string) => path.findLast((entry) => entry["type"] === type);
  const change = last("model_change");
  const [provider, id] = [textIn(change?.["provider"]), textIn(change?.["modelId"])];
  return {
    messages,
    branches: unique(branches),
    compactions,
    former: conversations.filter((one) => one.messages.length > 0),
    key: textIn(all.find(({ type }) => type === "session")?.[SESSION_KEY]),
    name: textIn(last("session_info")?.["name"]),
    model: provider !== undefined && id !== undefined ? { provider, id } : undefined,
    thinking: textIn(last("thinking_level_change")?.["thinkingLevel"]),
    dropped,
    faults,
  };
}

/** Each part but the last one ends with a `reset`. */
function splitAtResets(path: readonly SourceEntry[]): SourceEntry[][] {
  const parts: SourceEntry[][] = [[]];
  for (const entry of path) {
    parts.at(-1)?.push(entry);
    if (entry["type"] === "reset") parts.push([]);
  }
  return parts;
}

function timeOf(entry: SourceEntry | undefined): number {
  return Date.parse(textIn(entry?.["timestamp"]) ?? "") || 0;
}

/** The newest entry and its ancestors, the oldest first. */
function activePath(entries: readonly SourceEntry[], isDamaged: boolean, faults: string[]): SourceEntry[] {
  const position = new Map(entries.map((entry, at) => [entry["id"], at]));
  const path: SourceEntry[] = [];
  const seen = new Set<number>();
  let at: number | undefined = entries.length - 1;
  while (at !== undefined && at >= 0) {
    if (seen.has(at)) {
      faults.push("its entries name each other as parents; the loop was cut");
      break;
    }
    seen.add(at);
    const entry: SourceEntry | undefined = entries[at];
    if (!entry) break;
    path.push(entry);
    const parent: unknown = entry["parentId"];
    const known: number | undefined = position.get(parent);
    // A missing `parentId` is that of the oldest format, whose entries are a list.
    const isList: boolean = !("parentId" in entry) || (isDamaged && known === undefined && parent !== null);
    at = known ?? (isList ? at - 1 : undefined);
  }
  return path.reverse();
}

/** The first of those with the same id. */
function unique(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  return [...new Map(messages.toReversed().map((message) => [message.id, message])).values()].reverse();
}

/** Words that the source puts around content from outside. */
const FROM_OUTSIDE = "EXTERNAL_UNTRUSTED_CONTENT";

function messagesOf(entry: SourceEntry, dropped: Record<string, number>): TranscriptMessage[] {
  const type = textIn(entry["type"]) ?? "unknown";
  const at = timeOf(entry);
  const message = CONVERTED[type]?.(entry, at);
  if (message) return [{ id: String(entry["id"]), at, message }];
  if (!KNOWN.has(type) || type === "message") dropped[type] = (dropped[type] ?? 0) + 1;
  return [];
}

/** Entries that become something else than a message, or that nothing here reads. */
const KNOWN: ReadonlySet<string> = new Set([
  "message",
  "compaction",
  "model_change",
  "thinking_level_change",
  "session_info",
  "reset",
  "leaf",
]);

const CONVERTED: Readonly<Record<string, (entry: SourceEntry, at: number) => Stored | undefined>> = {
  message: ({ message }, at) => (isRecord(message) ? converted(message, at) : undefined),
  // The source sends it to the model as words of the user.
  branch_summary: ({ summary }, at) =>
    typeof summary === "string" ? user(`Summary of another branch of this conversation:\n\n${summary}`, at) : undefined,
  custom_message: ({ content, display }, at) =>
    display === true ? assistant({ content: blocks(content) }, at) : undefined,
};

function converted(message: SourceEntry, at: number): Stored | undefined {
  const { role, timestamp } = message;
  const time = typeof timestamp === "number" ? Math.trunc(timestamp) : at;
  const content = blocks(message["content"]);
  switch (role) {
    case "user":
      return { ...fields(message), role, content, timestamp: time, ...originIn(content, "webhook") };
    case "assistant":
      return assistant(message, time);
    case "toolResult":
      return {
        ...fields(message),
        role,
        toolCallId: textIn(message["toolCallId"]) ?? "",
        toolName: textIn(message["toolName"]) ?? "",
        content,
        isError: message["isError"] === true,
        timestamp: time,
        ...originIn(content, "web"),
      };
    case "bashExecution":
      return user(`Ran \`${textIn(message["command"]) ?? ""}\`\n\n${textIn(message["output"]) ?? ""}`, time);
    default:
      return undefined;
  }
}

/** Providers and models of messages that the source itself wrote. */
export const INJECTED: ReadonlySet<unknown> = new Set(["gateway-injected", "delivery-mirror"]);

function assistant(message: SourceEntry, timestamp: number): Stored {
  const { provider, model } = message;
  const isInjected = provider === undefined || (provider === "openclaw" && INJECTED.has(model));
  return {
    ...fields(message),
    role: "assistant",
    content: blocks(message["content"]),
    api: textIn(message["api"]) ?? "",
    provider: isInjected ? "svc" : textIn(provider),
    model: textIn(model) ?? "gateway-injected",
    stopReason: textIn(message["stopReason"]) ?? "stop",
    timestamp,
  };
}

function user(text: string, timestamp: number): Stored {
  return { role: "user", content: [{ type: "text", text }], timestamp };
}

/** Fields that only the source reads begin with `__`. */
function fields(message: SourceEntry): SourceEntry {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !name.startsWith("__")));
}

function blocks(content: unknown): { readonly type: string; readonly text?: string }[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((block: unknown) =>
    isRecord(block) && BLOCKS.has(String(block["type"]))
      ? (block as { type: string }) // its fields are those of the same block here
      : { type: "text", text: `[content of the type ${isRecord(block) ? String(block["type"]) : typeof block}]` },
  );
}

const BLOCKS: ReadonlySet<string> = new Set(["text", "image", "thinking", "toolCall"]);

/** Content from outside keeps its lower authority. */
function originIn(content: readonly { readonly text?: string }[], kind: "webhook" | "web") {
  return content.some(({ text }) => text?.includes(FROM_OUTSIDE)) ? { origin: outsideOrigin(kind, "imported") } : {};
}

/** A summary whose first kept entry is not on the path keeps what follows it, or else the last message. */
function compactionsOf(
  path: readonly SourceEntry[],
  messages: readonly TranscriptMessage[],
  faults: string[],
): ReadTranscript["compactions"] {
  const ids = new Set(messages.map(({ id }) => id));
  const firstFrom = (at: number) =>
    at === -1
      ? undefined
      : path
          .slice(at)
          .map(({ id }) => textIn(id))
          .find((id) => id !== undefined && ids.has(id));
  return path.flatMap((entry, at) => {
    const { type, summary, firstKeptEntryId, tokensBefore } = entry;
    if (type !== "compaction" || typeof summary !== "string") return [];
    const named = firstFrom(path.findIndex(({ id }) => id === firstKeptEntryId));
    const firstKeptId = named ?? firstFrom(at) ?? messages.at(-1)?.id;
    if (firstKeptId === undefined) return [];
    if (named === undefined) faults.push("a compaction names a message that is not there; it keeps what follows it");
    const tokens = typeof tokensBefore === "number" && tokensBefore > 0 ? Math.trunc(tokensBefore) : 0;
    return [{ summary, firstKeptId, tokensBefore: tokens, at: timeOf(entry) }];
  });
}
