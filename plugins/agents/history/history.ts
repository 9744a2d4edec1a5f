/** Builds the history for a model from a transcript: selects messages, stamps them with their time, and pairs tool calls with results. No I/O. */
import { localTime } from "@svc/kit/time";
import type { Origin } from "@svc/sdk";
import type { Message, ResolvedModel, ToolCallBlock, ToolResultMessage, UserMessage } from "@svc/sdk/models";
import type { TranscriptItem } from "@svc/sdk/sessions";
import { toolCallsOf, unansweredCall } from "./gateway-messages.ts";

/** Choice: maximum number of messages read from a transcript; the budget below or a compaction usually needs fewer. */
export const HISTORY_MESSAGES = 400;

/** Choice: a rough, conservative estimate for most languages and tokenizers. */
export const CHARS_PER_TOKEN = 3;
const DEFAULT_CONTEXT_TOKENS = 128_000;
const DEFAULT_ANSWER_TOKENS = 8_192;
/** Choice: size of an image, about 1,500 tokens. */
const IMAGE_CHARS = 4_500;

export interface HistoryLimits {
  /** Maximum number of characters of all messages; the last user message always fits. */
  readonly budgetChars: number;
  /** IANA name; time zone of the message stamps. */
  readonly timeZone: string;
}

/** Usable tokens of the window: the configured number, else the model's own. */
export function windowOf(model: Pick<ResolvedModel, "contextWindow">, contextTokens?: number): number {
  return contextTokens ?? model.contextWindow ?? DEFAULT_CONTEXT_TOKENS;
}

/** Limits for the conversation in the window of `model`, less the answer; at least 8,000 characters. */
export function limitsOf(
  model: Pick<ResolvedModel, "contextWindow" | "maxTokens">,
  contextTokens: number | undefined,
  timeZone: string,
): HistoryLimits {
  const answer = model.maxTokens ?? DEFAULT_ANSWER_TOKENS;
  const tokens = windowOf(model, contextTokens) - answer;
  return {
    budgetChars: Math.max(8_000, tokens * CHARS_PER_TOKEN),
    timeZone,
  };
}

/** The content of a session: a summary, and the messages after it. */
export interface Context {
  readonly summary: string | undefined;
  /** Origin of the summary. */
  readonly origin?: Origin;
  readonly items: readonly TranscriptItem[];
}

/** Like `modelHistory`, preceded by a message with the summary, if there is one. */
export function contextHistory({ summary, items }: Context, limits: HistoryLimits): Message[] {
  const messages = items.map(({ message }) => message);
  if (summary === undefined) return modelHistory(messages, limits);
  const left = Math.max(8_000, limits.budgetChars - summary.length);
  const text = `[Summary of the conversation so far; the messages after it follow]\n\n${summary}`;
  const opening: UserMessage = { role: "user", content: [{ type: "text", text }], timestamp: 0 };
  return [opening, ...modelHistory(messages, { ...limits, budgetChars: left })];
}

/** Estimated tokens of these messages. */
export function tokensOf(messages: readonly Message[]): number {
  return Math.ceil(messages.reduce((chars, message) => chars + sizeOf(message), 0) / CHARS_PER_TOKEN);
}

/**
 * The newest messages within the budget, starting at a user message. Each tool call is directly followed by its result, and
 * no result is without its call. Failed answers without content are left out; user messages are stamped with their time.
 *
 * Choice: every user message is stamped, not only the newest: earlier ones then stay unchanged, which keeps the
 * provider's cache of the conversation valid. Their keys are for clients and stay here.
 */
export function modelHistory(messages: readonly Message[], limits: HistoryLimits): Message[] {
  const recent = pairToolCalls(newestWithin(messages, limits.budgetChars));
  return recent
    .filter((message) => message.role !== "assistant" || message.content.length > 0)
    .map((message) => (message.role === "user" ? stamped(message, limits) : message));
}

function newestWithin(messages: readonly Message[], budgetChars: number): readonly Message[] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  let first = messages.length;
  let chars = 0;
  while (first > 0) {
    const message = messages[first - 1];
    chars += message ? sizeOf(message) : 0;
    if (chars > budgetChars && first <= lastUser) break;
    first -= 1;
  }
  const start = messages.findIndex(({ role }, index) => index >= first && role === "user");
  return messages.slice(start < 0 ? first : start);
}

export function sizeOf(message: Message): number {
  let chars = 0;
  for (const block of message.content) {
    if (block.type === "text") chars += block.text.length;
    else if (block.type === "thinking") chars += block.thinking.length;
    else if (block.type === "image") chars += IMAGE_CHARS;
    else chars += JSON.stringify(block.arguments).length;
  }
  return chars;
}

/** Moves results to their call, adds missing results, and drops results without a call. */
function pairToolCalls(messages: readonly Message[]): Message[] {
  return messages.flatMap((message, index): Message[] => {
    if (message.role === "toolResult") return [];
    const answers = toolCallsOf(message).map(
      (call) => resultOf(call, messages, index + 1) ?? unansweredCall(call, message.timestamp),
    );
    return [message, ...answers];
  });
}

/** The result of `call`, searched from `start` up to a later call with the same id, since some servers reuse ids. */
function resultOf(call: ToolCallBlock, messages: readonly Message[], start: number): ToolResultMessage | undefined {
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (!message) return undefined;
    if (message.role === "toolResult" && message.toolCallId === call.id) return message;
    if (toolCallsOf(message).some(({ id }) => id === call.id)) return undefined;
  }
  return undefined;
}

/** Without its key, and with the time stamp unless the time is 0 (conversations given by a caller). */
function stamped({ idempotencyKey: _key, ...message }: UserMessage, limits: HistoryLimits): UserMessage {
  if (message.timestamp === 0) return message;
  const stamp = timeStamp(message.timestamp, limits.timeZone);
  const { content } = message;
  const [first, ...rest] = content;
  const stampedContent: UserMessage["content"] =
    first?.type === "text"
      ? [{ type: "text", text: `${stamp} ${first.text}` }, ...rest]
      : [{ type: "text", text: stamp }, ...content];
  return { ...message, content: stampedContent };
}

/** Size of the cache: each turn stamps all messages of the history, and formatting a stamp takes ten microseconds. */
const MOST_KEPT = 4_096;
const stamps = new Map<string, string>();

/**
 * `[Dow YYYY-MM-DD HH:MM TZ]`, the stamp before a user message. Spec: protocol/methods-agent.md §1.
 * @param timeZone IANA name
 */
export function timeStamp(epochMs: number, timeZone: string): string {
  const minute = `${timeZone} ${Math.floor(epochMs / 60_000)}`;
  const known = stamps.get(minute);
  if (known !== undefined) return known;
  if (stamps.size >= MOST_KEPT) stamps.clear();
  const stamp = `[${localTime(epochMs, timeZone)}]`;
  stamps.set(minute, stamp);
  return stamp;
}
