/** Decides when a conversation is summarized, and which part of it. No I/O. */
import { isGatewayError } from "@svc/sdk";
import { type Message, textOf } from "@svc/sdk/models";
import type { TranscriptItem } from "@svc/sdk/sessions";
import { CHARS_PER_TOKEN, type Context, HISTORY_MESSAGES, sizeOf, tokensOf } from "./history.ts";

/** Choice: maximum number of characters of one message in the text to summarize. */
const MESSAGE_CHARS = 8_000;

export interface Fullness {
  /** tokens */
  readonly window: number;
  /** tokens reserved for the answer */
  readonly reserve: number;
  /** Tokens of the session after its last run, if known. */
  readonly lastTotal: number | undefined;
}

/** Choice: at least half of the window may be filled, even if the reserve is larger than the other half. */
export function isTooFull(context: Context, { window, reserve, lastTotal }: Fullness): boolean {
  const room = Math.max(window - reserve, window / 2);
  return contextTokens(context, lastTotal) > room || context.items.length >= HISTORY_MESSAGES;
}

/** Tokens of the conversation: the count of the last run plus the newest message, else an estimate. */
export function contextTokens({ summary, items }: Context, lastTotal?: number): number {
  const messages = items.map(({ message }) => message);
  const newest = messages.at(-1);
  if (lastTotal !== undefined) return lastTotal + (newest?.role === "user" ? tokensOf([newest]) : 0);
  return tokensOf(messages) + Math.ceil((summary?.length ?? 0) / CHARS_PER_TOKEN);
}

/** Error texts of model servers, which have no common error code. */
const OVERFLOW =
  /context[ _-]?(?:length|window|size)|maximum context|too many (?:input )?tokens|prompt is too long|input is too long|exceeds? .{0,40}tokens?\b|context_length_exceeded|request too large/i;

/**
 * Whether a model rejected a request because it does not fit into its window.
 * Choice: only rejections count, not e.g. a broken connection whose error text mentions tokens.
 */
export function isContextOverflow(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  const details = (error.details ?? {}) as { readonly kind?: unknown; readonly status?: unknown }; // `ProviderFailure`, if the provider sets one
  if (details.kind !== undefined && details.kind !== "request") return false;
  return details.status === 413 || OVERFLOW.test(error.message);
}

export interface CompactionPlan {
  readonly older: readonly TranscriptItem[];
  /** Begins with a user message. */
  readonly kept: readonly TranscriptItem[];
  readonly firstKeptId: string;
}

/**
 * Keeps the newest messages of up to `keepTokens` in total, starting at a user message, and always the last user message
 * with everything after it. @returns `undefined` when nothing is left to summarize
 */
export function planCompaction(items: readonly TranscriptItem[], keepTokens: number): CompactionPlan | undefined {
  const isUser = ({ message }: TranscriptItem) => message.role === "user";
  const lastUser = items.findLastIndex(isUser);
  let first = items.length;
  let chars = 0;
  while (first > 0) {
    const item = items[first - 1];
    chars += item ? sizeOf(item.message) : 0;
    if (chars > keepTokens * CHARS_PER_TOKEN && first <= lastUser) break;
    first -= 1;
  }
  const start = items.findIndex((item, index) => index >= first && isUser(item));
  const firstKept = items[start];
  if (start <= 0 || !firstKept) return undefined;
  return { older: items.slice(0, start), kept: items.slice(start), firstKeptId: firstKept.id };
}

/** The conversation as text, in parts of at most `partChars` characters; a message is never split. */
export function asText(items: readonly TranscriptItem[], partChars: number): string[] {
  const parts: string[] = [];
  let part = "";
  for (const { message } of items) {
    const text = messageText(message).slice(0, Math.max(1_000, partChars));
    if (text === "") continue;
    if (part !== "" && part.length + text.length > partChars) {
      parts.push(part);
      part = "";
    }
    part += part === "" ? text : `\n\n${text}`;
  }
  return part === "" ? parts : [...parts, part];
}

function messageText(message: Message): string {
  const text = textOf(message);
  const images = message.content.filter(({ type }) => type === "image").map(() => "[image]");
  if (message.role === "user") return said("User", [text, ...images]);
  if (message.role === "toolResult") return said(`Result of ${message.toolName}`, [text, ...images]);
  const calls = message.content.flatMap((block) =>
    block.type === "toolCall" ? [`[uses ${block.name} with ${JSON.stringify(block.arguments)}]`] : [],
  );
  return said("Assistant", [text, ...calls]);
}

function said(who: string, pieces: readonly string[]): string {
  const text = pieces.filter((piece) => piece !== "").join("\n");
  if (text === "") return "";
  return `${who}: ${text.length > MESSAGE_CHARS ? `${text.slice(0, MESSAGE_CHARS)} [cut]` : text}`;
}
