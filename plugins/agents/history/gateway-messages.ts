/** Assistant messages that the gateway writes itself, or completes for a model. Spec: protocol/stores.md §2. */
import type { AssistantMessage, Message, ToolCallBlock, ToolResultMessage } from "@svc/sdk/models";

/** Author of messages that no model completed. Spec: stores.md §2. */
const GATEWAY = { api: "openai-responses", provider: "svc", model: "gateway-injected" } as const;

/** A message of the gateway itself. */
export function gatewayMessage(text: string, timestamp: number): AssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }], ...GATEWAY, stopReason: "stop", timestamp };
}

/** The partial answer of a stopped run. Spec: protocol/methods-chat.md §3. */
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

/** The message of a run that failed. @param content the model's partial answer */
export function errorMessage(
  text: string,
  timestamp: number,
  author: Pick<AssistantMessage, "api" | "provider" | "model"> = GATEWAY,
  content: AssistantMessage["content"] = [],
): AssistantMessage {
  return { role: "assistant", content, ...author, stopReason: "error", errorMessage: text, timestamp };
}

/** Result for a tool call that got none, since models reject a conversation with an open call. */
export function unansweredCall(call: ToolCallBlock, timestamp: number): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: "No result: the run was stopped before the tool returned." }],
    isError: true,
    timestamp,
  };
}

export function toolCallsOf(message: Message): readonly ToolCallBlock[] {
  if (message.role !== "assistant") return [];
  return message.content.filter((block) => block.type === "toolCall");
}
