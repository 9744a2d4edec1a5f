/** What a session notes of a text an operator sent into its chat. Pure. Spec: protocol/methods-send.md §1. */
import type { AssistantMessage } from "@svc/sdk/services";

const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

/** @param timestamp epoch ms */
export function mirrored(text: string, timestamp: number): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "openai-responses",
    provider: "svc",
    model: "delivery-mirror",
    usage: NO_USAGE,
    stopReason: "stop",
    timestamp,
  };
}
