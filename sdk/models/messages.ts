/** Messages as transcripts keep them and models get them. Spec: protocol/stores.md §2. */

import type { Origin } from "../origin.ts";

/** Plain text. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** What the model thought before it spoke; only kept where the provider shows it. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  /** What the provider wants to see again with the thought, opaque. */
  readonly thinkingSignature?: string;
}

/** A picture, inline. */
export interface ImageBlock {
  readonly type: "image";
  /** base64 */
  readonly data: string;
  readonly mimeType: string;
}

/** The model asks for a tool. */
export interface ToolCallBlock {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Price of one answer in US dollars, by kind of token. */
export interface Cost {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly total: number;
}

/** Tokens of one answer, as the provider counted them. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** Filled in by the plugin `models` where the price of the model is configured. */
  readonly cost?: Cost;
}

/** What a person or an outside system said. */
export interface UserMessage {
  readonly role: "user";
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** epoch ms */
  readonly timestamp: number;
  /** Whose words it is; absent: the owner's. */
  readonly origin?: Origin;
}

/** Why an answer ended. */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

/** What a model answered, or the gateway in its place. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCallBlock)[];
  readonly api: string;
  readonly provider: string;
  readonly model: string;
  /** Absent when the provider did not say. */
  readonly usage?: Usage;
  readonly stopReason: StopReason;
  readonly errorMessage?: string;
  readonly timestamp: number;
  /** With the least authority among the words the model was shown; absent: all were the owner's. */
  readonly origin?: Origin;
  readonly idempotencyKey?: string;
  readonly svcAbort?: { readonly aborted: true; readonly origin: string; readonly runId: string };
}

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/**
 * A text the gateway puts into a transcript, which no model said. Spec: protocol/stores.md §2.
 * @param model what stands for the model. @param timestamp epoch ms
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

/** What a tool answered; follows the assistant message that asked. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError: boolean;
  readonly timestamp: number;
  /** Whose words it is; absent: the owner's. */
  readonly origin?: Origin;
}

/** One entry of a transcript. */
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** The text blocks of a message, joined. */
export function textOf(message: { readonly content: readonly { readonly type: string }[] }): string {
  return message.content
    .filter((block): block is TextBlock => block.type === "text")
    .map((block) => block.text)
    .join("");
}
