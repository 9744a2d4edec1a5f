/** Assistant messages that the gateway writes itself, or closes in the model's place. Spec: protocol/stores.md §2. */
import type { AssistantMessage, Message, ToolCallBlock, ToolResultMessage } from "@svc/sdk/models";

/** Author of messages no model finished. Spec: stores.md §2. */
const GATEWAY = { api: "openai-responses", provider: "svc", model: "gateway-injected" } as const;

/** What the gateway says itself. */
export function gatewayMessage(text: string, timestamp: number): AssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }], ...GATEWAY, stopReason: "stop", timestamp };
}

/** What a stopped run had said so far. Spec: protocol/methods-chat.md §3. */
export function abortedMessage(runId: string, text: string, reason: string, timestamp: number): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    ...GATEWAY,
    stopReason: "aborted",
    timestamp,
    idempotencyKey: `${runId}:assistant`,
    svcAbort: { aborted: true, origin: reason === "stop" ? "stop-command" : reason, runId },
  };
}

/** A run that ended in an error. `content`: what the model had said before it. */
export function errorMessage(
  text: string,
  timestamp: number,
  author: Pick<AssistantMessage, "api" | "provider" | "model"> = GATEWAY,
  content: AssistantMessage["content"] = [],
): AssistantMessage {
  return { role: "assistant", content, ...author, stopReason: "error", errorMessage: text, timestamp };
}

/** Answer to a call that got none. Models refuse a conversation with an open call. */
export function unansweredCall(call: ToolCallBlock, timestamp: number): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: "No result: the run was stopped before the tool answered." }],
    isError: true,
    timestamp,
  };
}

export function toolCallsOf(message: Message): readonly ToolCallBlock[] {
  if (message.role !== "assistant") return [];
  return message.content.filter((block) => block.type === "toolCall");
}
