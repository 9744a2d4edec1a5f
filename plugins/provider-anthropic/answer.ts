/** Converts events of the Messages API into model events. Pure; `translate.ts` converts requests. */
import { type Answer, type AnswerSize, AT_WORK, refuseAnswer, toolCallOf } from "@svc/kit/providers";
import type { ModelEvent, Usage } from "@svc/sdk/models";
import type { MessageDeltaUsage, RawMessageStreamEvent, StopReason } from "@anthropic-ai/sdk/resources/messages";
import { REDACTED } from "./translate.ts";

type Start = Extract<RawMessageStreamEvent, { type: "content_block_start" }>["content_block"];
type Delta = Extract<RawMessageStreamEvent, { type: "content_block_delta" }>["delta"];

/** A partially received tool call. */
interface Call {
  readonly id: string;
  readonly name: string;
  /** Accumulated JSON. */
  arguments: string;
}

/** @param source name of the account in error messages, e.g. `model provider "acme"` */
export function createAnswer(source: string, size: AnswerSize): Answer<RawMessageStreamEvent> {
  const calls = new Map<number, Call>();
  let reason: StopReason | undefined;
  let usage: Usage | undefined;
  let called = false;

  function start(index: number, block: Start): ModelEvent[] {
    if (block.type === "tool_use") {
      size.call(block.id + block.name, true);
      calls.set(index, { id: block.id, name: block.name, arguments: "" });
      called = true;
    }
    if (block.type === "text" && block.text !== "") return [{ type: "text", delta: block.text }];
    if (block.type === "redacted_thinking") return [{ type: "thinking", delta: "", signature: REDACTED + block.data }];
    return [];
  }

  function add(index: number, delta: Delta): ModelEvent[] {
    if (delta.type === "input_json_delta") {
      const call = calls.get(index);
      size.call(delta.partial_json, false);
      if (call) call.arguments += delta.partial_json;
      return [AT_WORK];
    }
    if (delta.type === "text_delta" && delta.text !== "") return [{ type: "text", delta: delta.text }];
    if (delta.type === "thinking_delta" && delta.thinking !== "") return [{ type: "thinking", delta: delta.thinking }];
    // The signature is the last delta of its block: later thinking belongs to another block.
    if (delta.type === "signature_delta") return [{ type: "thinking", delta: "", signature: delta.signature }];
    return [];
  }

  return {
    take(event) {
      switch (event.type) {
        case "message_start":
          usage = addUsage(usage, event.message?.usage);
          return [];
        case "content_block_start":
          return start(event.index, event.content_block);
        case "content_block_delta":
          return add(event.index, event.delta);
        case "message_delta":
          usage = addUsage(usage, event.usage);
          reason = event.delta?.stop_reason ?? reason;
          return [];
        default:
          return [];
      }
    },

    end() {
      if (reason === undefined) {
        refuseAnswer("network", `${source} disconnected before the end of its answer; try again`);
      }
      if (reason === "refusal") refuseAnswer("request", `${source} declined to answer this request; rephrase it`);
      if (reason === "model_context_window_exceeded" && called) {
        refuseAnswer(
          "request",
          `the conversation no longer fits the model of ${source}; shorten it or start a new session`,
        );
      }
      const made = [...calls.values()].map((call) => toolCallOf(call, source, reason === "max_tokens"));
      const finish = {
        type: "finish",
        reason: finishOf(reason, called),
        ...(isCounted(usage) ? { usage } : {}),
      } as const;
      return [...made, finish];
    },
  };
}

/** Choice: `pause_turn` ends the turn, since no server-side tools are offered. */
function finishOf(reason: StopReason | undefined, called: boolean): "stop" | "length" | "toolUse" {
  if (called) return "toolUse";
  return reason === "max_tokens" || reason === "model_context_window_exceeded" ? "length" : "stop";
}

/** Usage of zero tokens is ignored, since every answer has tokens. */
function isCounted(usage: Usage | undefined): usage is Usage {
  return usage !== undefined && usage.totalTokens > 0;
}

/** The API reports cumulative counts; `input_tokens` excludes tokens read from or written to the cache. */
function addUsage(before: Usage | undefined, wire: Partial<MessageDeltaUsage> | undefined): Usage | undefined {
  if (!wire) return before;
  const input = wire.input_tokens ?? before?.input ?? 0;
  const output = wire.output_tokens ?? before?.output ?? 0;
  const cacheRead = wire.cache_read_input_tokens ?? before?.cacheRead ?? 0;
  const cacheWrite = wire.cache_creation_input_tokens ?? before?.cacheWrite ?? 0;
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite };
}
