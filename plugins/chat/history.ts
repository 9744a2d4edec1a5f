/** The view of a transcript in `chat.history`: without internal fields, cut to size. Pure. Spec: protocol/methods-chat.md §1. */
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

const DROPPED_MESSAGE_FIELDS = new Set(["details", "usage", "cost"]);
/** `[Mon 2026-03-02 09:15 UTC] `, prefixed to messages for the model. Spec: protocol/methods-chat.md §2. */
const TIME_STAMP = /^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d{2}-\d{2} \d{2}:\d{2}(?: [^\]\n]{1,40})?\] ?/;

/**
 * The messages to show, oldest first.
 * @param compactedBefore id of the first message after the last compaction; a mark is shown before it
 */
export function shownHistory(
  items: readonly TranscriptItem[],
  compactedBefore?: string,
  maxChars: number = MAX_TEXT_CHARS,
): Fields[] {
  const shown = items.flatMap(({ id, message }) => [
    ...(id === compactedBefore ? [compactionMark(id, message.timestamp)] : []),
    ...(isSilentReply(message) ? [] : [fitMessage(shownMessage(message, maxChars))]),
  ]);
  return fitList(shown);
}

/** A page with ids and the place of every compaction. */
export interface ShownPage {
  /** Oldest first; each has its id in `__svc.id`. */
  readonly messages: readonly Fields[];
  /** The page was too large, so the oldest messages were left out. */
  readonly isCut: boolean;
  /** Id of the first message that is shown. */
  readonly firstShown: string | undefined;
}

export function shownPage({ items, firstKept }: TranscriptPage, maxChars: number = MAX_TEXT_CHARS): ShownPage {
  const shown = items.flatMap(({ id, message }) => [
    ...(firstKept.includes(id) ? [compactionMark(id, message.timestamp)] : []),
    ...(isSilentReply(message) ? [] : [withId(fitMessage(shownMessage(message, maxChars)), id)]),
  ]);
  const fitting = fitList(shown);
  const first = fitting.find(({ role }) => role !== "system");
  return {
    messages: fitting,
    isCut: fitting.length < shown.length,
    firstShown: first && (first["__svc"] as { readonly id: string }).id, // `withId` set it
  };
}

function withId(message: Fields, id: string): Fields {
  return { ...message, __svc: { ...(message["__svc"] as Fields | undefined), id } }; // only `fitMessage` sets it
}

/**
 * Id of the first message the last compaction kept, if it is among the last `limit`.
 * Choice: only the last compaction is marked; sessions do not provide earlier ones.
 */
export function compactionIn(
  { summary, items }: { readonly summary: string | undefined; readonly items: readonly TranscriptItem[] },
  limit: number,
): string | undefined {
  return summary === undefined || items.length >= limit ? undefined : items[0]?.id;
}

function compactionMark(id: string, timestamp: number): Fields {
  return {
    role: "system",
    content: [textBlock("Compaction")],
    timestamp,
    __svc: { kind: "compaction", id: `compaction-${id}` },
  };
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

function fitMessage(message: Fields): Fields {
  if (jsonBytes(message) <= MAX_MESSAGE_BYTES) return message;
  const { role, timestamp } = message;
  return { role, timestamp, content: [textBlock(OVERSIZED_TEXT)], __svc: { truncated: true, reason: "oversized" } };
}

/** Drops the oldest messages until the rest fits. The last one always fits, thanks to `fitMessage`. */
function fitList(messages: Fields[]): Fields[] {
  let bytes = 2;
  let first = messages.length;
  while (first > 0) {
    bytes += jsonBytes(messages[first - 1]) + 1;
    if (bytes > MAX_LIST_BYTES) break;
    first--;
  }
  return messages.slice(first);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
