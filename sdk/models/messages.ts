/** Messages as stored in transcripts and sent to models. Spec: protocol/stores.md §2. */

import type { Origin } from "../origin.ts";

/** A block of text. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** Reasoning of the model; stored only if the provider exposes it. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  /** Opaque data that the provider expects back with the reasoning. */
  readonly thinkingSignature?: string;
}

/** An inline picture. */
export interface ImageBlock {
  readonly type: "image";
  /** base64 */
  readonly data: string;
  readonly mimeType: string;
}

/** A tool call requested by the model. */
export interface ToolCallBlock {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Cost of one answer in US dollars, by kind of token. */
export interface Cost {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly total: number;
}

/** Token usage of one answer, as reported by the provider. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** Set by the plugin `models` if a price is configured for the model. */
  readonly cost?: Cost;
}

/** A message from a person or an external system. */
export interface UserMessage {
  readonly role: "user";
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** epoch ms */
  readonly timestamp: number;
  /** Origin of the text; absent: the owner. */
  readonly origin?: Origin;
  /** `<runId>:user`, where `runId` is the run that the message started or joined. Clients match the messages they sent with it. */
  readonly idempotencyKey?: string;
}

/** `UserMessage.idempotencyKey` of the message that started or joined a run. */
export function inputKeyOf(runId: string): string {
  return `${runId}:user`;
}

/** Why an answer ended. */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

/** An answer of a model, or of the gateway in its place. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCallBlock)[];
  readonly api: string;
  readonly provider: string;
  readonly model: string;
  /** Absent if the provider did not report it. */
  readonly usage?: Usage;
  readonly stopReason: StopReason;
  readonly errorMessage?: string;
  readonly timestamp: number;
  /** The origin with the least authority among the texts the model saw; absent: all came from the owner. */
  readonly origin?: Origin;
  readonly idempotencyKey?: string;
  /** The run that made it. */
  readonly runId?: string;
  readonly svcAbort?: { readonly aborted: true; readonly origin: string; readonly runId: string };
}

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/**
 * A text that the gateway, not a model, adds to a transcript. Spec: protocol/stores.md §2.
 * @param model value that stands in for the model
 * @param timestamp epoch ms
 */
export function injectedMessage(
  text: string,
  timestamp: number,
  model: "gateway-injected" | "delivery-mirror" = "gateway-injected",
): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "openai-responses",
    provider: "svc",
    model,
    usage: NO_USAGE,
    stopReason: "stop",
    timestamp,
  };
}

/** Result of a tool call; follows the assistant message that requested it. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError: boolean;
  readonly timestamp: number;
  /** Origin of the content; absent: the owner. */
  readonly origin?: Origin;
}

/** One entry of a transcript. */
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** The joined text blocks of a message. */
export function textOf(message: { readonly content: readonly { readonly type: string }[] }): string {
  return message.content
    .filter((block): block is TextBlock => block.type === "text")
    .map((block) => block.text)
    .join("");
}
