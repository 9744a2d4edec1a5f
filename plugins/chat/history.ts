/** The view of a transcript for clients: without internal fields, cut to size. Pure. Spec: protocol/methods-chat.md §1. */
import { type Message, textOf } from "@svc/sdk/models";
import type { TranscriptItem, TranscriptPage } from "@svc/sdk/sessions";
import { isSilent, replyText, withoutDirectives } from "./display-text.ts";

/** Characters of one text, thinking or argument string, unless the caller wants another number. */
export const MAX_TEXT_CHARS = 12_000;
/** Bytes of one message as JSON. */
export const MAX_MESSAGE_BYTES = 131_072;
/** Bytes of the whole list as JSON. */
export const MAX_LIST_BYTES = 6_291_456;

export const TRUNCATION_MARKER = "\n...(truncated)...";
export const OVERSIZED_TEXT = "[this message is too large to be shown here]";

type Fields = Record<string, unknown>;

const DROPPED_MESSAGE_FIELDS = new Set(["details", "usage", "cost", "runId"]);
/** `[Mon 2026-03-02 09:15 UTC] `, prefixed to messages for the model. Spec: protocol/methods-chat.md §2. */
const TIME_STAMP = /^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d{2}-\d{2} \d{2}:\d{2}(?: [^\]\n]{1,40})?\] ?/;

/** How messages are shown. */
export interface View {
  /** Characters of one text, thinking or argument string. Default `MAX_TEXT_CHARS`. */
  readonly maxChars?: number | undefined;
  /** Bytes of the list as JSON. Default, and at most, `MAX_LIST_BYTES`. */
  readonly maxBytes?: number | undefined;
  /** Names in addition to `svc` under which rows carry their identity: `gateway.aliases`. */
  readonly aliases?: readonly string[];
  /** Marks only the last compaction, and only inside of the page. Default false: every one. */
  readonly marksLast?: boolean;
}

/** The row of one message; `undefined`: it is not shown. */
export function historyRow({ id, seq, message }: TranscriptItem, view: View = {}): Fields | undefined {
  if (isSilentReply(message)) return undefined;
  const { maxChars = MAX_TEXT_CHARS, maxBytes = MAX_LIST_BYTES } = view;
  const row = fitMessage(shownMessage(message, maxChars), Math.min(MAX_MESSAGE_BYTES, maxBytes - ROOM_FOR_FACTS));
  return withFacts(row, { id, ...(seq === undefined ? {} : { seq }), ...runOf(message) }, view);
}

/** With the run of an answer, clients know the answer as the one that they have seen in events. */
function runOf(message: Message): Fields {
  if (message.role !== "assistant") return {};
  const runId = message.runId ?? message.svcAbort?.runId;
  if (runId === undefined) return {};
  return { runId, ...(message.stopReason === "toolUse" ? {} : { runTerminal: true }) };
}

/** Bytes for what `withFacts` adds, which keeps a single message within a small list. */
const ROOM_FOR_FACTS = 512;

/** Adds facts about the row under each name of the product. */
function withFacts(row: Fields, facts: Fields, { aliases = [] }: View): Fields {
  const all = { ...(row["__svc"] as Fields | undefined), ...facts }; // only `fitMessage` sets it
  return { ...row, ...Object.fromEntries(["svc", ...aliases].map((name) => [`__${name}`, all])) };
}

/** A page as it is shown. */
export interface ShownPage {
  /** Oldest first. */
  readonly messages: readonly Fields[];
  /** The page was too large, so the oldest messages were left out. */
  readonly isCut: boolean;
  /** Id of the first message that is shown. */
  readonly firstShown: string | undefined;
}

export function shownPage({ items, firstKept }: TranscriptPage, view: View = {}): ShownPage {
  const marked = view.marksLast ? firstKept.filter((id) => id !== items[0]?.id).slice(-1) : firstKept;
  const shown = items.flatMap((item) => {
    const row = historyRow(item, view);
    const mark = marked.includes(item.id) ? [compactionMark(item, view)] : [];
    return row ? [...mark, row] : mark;
  });
  const fitting = fitList(shown, Math.min(MAX_LIST_BYTES, view.maxBytes ?? MAX_LIST_BYTES));
  const first = fitting.find(({ role }) => role !== "system");
  return {
    messages: fitting,
    isCut: fitting.length < shown.length,
    firstShown: first && (first["__svc"] as { readonly id: string }).id, // `historyRow` set it
  };
}

function compactionMark({ id, message: { timestamp } }: TranscriptItem, view: View): Fields {
  const mark = { role: "system", content: [textBlock("Compaction")], timestamp };
  return withFacts(mark, { kind: "compaction", id: `compaction-${id}` }, view);
}

function isSilentReply(message: Message): boolean {
  if (message.role !== "assistant") return false;
  return message.content.every(({ type }) => type === "text") && isSilent(textOf(message));
}

function shownMessage(message: Message, maxChars: number): Fields {
  const kept = Object.entries(message).filter(([field]) => !DROPPED_MESSAGE_FIELDS.has(field));
  const content: readonly unknown[] =
    typeof message.content === "string" ? [textBlock(message.content)] : message.content;
  return {
    ...Object.fromEntries(kept),
    content: content.map((block) => shownBlock(block as Fields, message.role, maxChars)),
  };
}

function textBlock(text: string): Fields {
  return { type: "text", text };
}

function shownBlock(block: Fields, role: Message["role"], maxChars: number): Fields {
  const cut = (text: string) => cutText(text, maxChars);
  const { thinkingSignature: _signature, ...shown } = block;
  if (typeof shown["text"] === "string") shown["text"] = cut(shownText(shown["text"], role));
  for (const field of ["thinking", "partialJson"]) {
    if (typeof shown[field] === "string") shown[field] = cut(shown[field]);
  }
  if ("arguments" in shown) shown["arguments"] = cutStrings(shown["arguments"], cut);
  return shown["type"] === "image" ? withoutImageData(shown) : shown;
}

function shownText(text: string, role: Message["role"]): string {
  if (role === "user") return withoutDirectives(text.replace(TIME_STAMP, ""));
  return role === "assistant" ? replyText(text) : text;
}

function cutText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, maxChars) + TRUNCATION_MARKER;
}

/** Choice: strings inside an arguments object are cut like an arguments string, so that one long argument does not hide the message. */
function cutStrings(value: unknown, cut: (text: string) => string): unknown {
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.map((inner) => cutStrings(inner, cut));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutStrings(inner, cut)]));
}

function withoutImageData({ data, ...image }: Fields): Fields {
  return typeof data === "string" ? { ...image, omitted: true, bytes: data.length } : image;
}

function fitMessage(message: Fields, maxBytes: number): Fields {
  if (jsonBytes(message) <= maxBytes) return message;
  const { role, timestamp, idempotencyKey } = message;
  return {
    role,
    timestamp,
    content: [textBlock(OVERSIZED_TEXT)],
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    __svc: { truncated: true, reason: "oversized" },
  };
}

/** Drops the oldest messages until the rest fits. The last one always fits, thanks to `fitMessage`. */
function fitList(messages: Fields[], maxBytes: number): Fields[] {
  let bytes = 2;
  let first = messages.length;
  while (first > 0) {
    bytes += jsonBytes(messages[first - 1]) + 1;
    if (bytes > maxBytes) break;
    first--;
  }
  return messages.slice(first);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
