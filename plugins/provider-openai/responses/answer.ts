/** Converts events of the responses API into model events. Pure; `translate.ts` converts requests. */
import { type Answer, type AnswerSize, AT_WORK, refuseAnswer, toolCallOf } from "@svc/kit/providers";
import type { ModelEvent, Usage } from "@svc/sdk/models";
import type {
  Response as ModelResponse,
  ResponseOutputItem,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";
import { signatureOf } from "./translate.ts";

/** A partially received tool call. */
interface Call {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/** @param source name of the account in error messages, e.g. `model provider "acme"` */
export function createAnswer(source: string, size: AnswerSize): Answer<ResponseStreamEvent> {
  /** Open calls, by their place in the output. */
  const calls = new Map<number, Call>();
  let last: ModelResponse | undefined;
  let called = false;
  let began = false;
  let part: string | undefined;

  /** Parts of a summary are paragraphs. */
  function thought(delta: string, key: string): ModelEvent[] {
    const gap = part !== undefined && part !== key ? "\n\n" : "";
    part = key;
    return delta === "" ? [] : [{ type: "thinking", delta: gap + delta }];
  }

  function added(index: number, item: ResponseOutputItem): ModelEvent[] {
    if (item.type !== "function_call") return [];
    size.call(item.call_id + item.name + (item.arguments ?? ""), true);
    calls.set(index, { id: item.call_id, name: item.name, arguments: item.arguments ?? "" });
    return [];
  }

  function done(index: number, item: ResponseOutputItem): ModelEvent[] {
    if (item.type === "reasoning") {
      part = undefined;
      const signature = signatureOf(item);
      return signature === undefined ? [] : [{ type: "thinking", delta: "", signature }];
    }
    if (item.type !== "function_call") return [];
    const call = calls.get(index);
    calls.delete(index);
    if (item.status === "incomplete") {
      calls.set(index, call ?? { id: item.call_id, name: item.name, arguments: "" }); // `end` knows why
      return [];
    }
    called = true;
    const text = item.arguments ?? call?.arguments ?? "";
    return [toolCallOf({ id: item.call_id, name: item.name, arguments: text }, source)];
  }

  return {
    take(event) {
      began = true;
      switch (event.type) {
        case "response.output_text.delta":
        case "response.refusal.delta":
          return event.delta === "" ? [] : [{ type: "text", delta: event.delta }];
        case "response.reasoning_summary_text.delta":
          return thought(event.delta, `${event.output_index} ${event.summary_index}`);
        case "response.reasoning_text.delta":
          return thought(event.delta, `${event.output_index} ${event.content_index}`);
        case "response.output_item.added":
          return added(event.output_index, event.item);
        case "response.function_call_arguments.delta": {
          const call = calls.get(event.output_index);
          size.call(event.delta, false);
          if (call) call.arguments += event.delta;
          return [AT_WORK];
        }
        case "response.output_item.done":
          return done(event.output_index, event.item);
        case "response.completed":
        case "response.incomplete":
          last = event.response;
          return [];
        default:
          return [];
      }
    },

    end() {
      if (!began) {
        refuseAnswer("server_error", `${source} sent an empty answer; check its baseUrl, which usually ends in /v1`);
      }
      const why = last?.incomplete_details?.reason;
      if (calls.size > 0 && why === "max_output_tokens") {
        refuseAnswer(
          "request",
          `the answer of ${source} was cut off inside a tool call; increase maxTokens of the model`,
        );
      }
      if (!last) {
        const where = calls.size > 0 ? "inside a tool call" : "in the middle of its answer";
        refuseAnswer("network", `${source} disconnected ${where}; try again`);
      }
      if (why === "content_filter") {
        refuseAnswer("request", `the content filter of ${source} stopped the answer; rephrase it`);
      }
      const reason = called ? "toolUse" : last.status === "incomplete" || why !== undefined ? "length" : "stop";
      const usage = toUsage(last.usage);
      return [{ type: "finish", reason, ...(usage ? { usage } : {}) }];
    },
  };
}

/** The API counts the whole prompt; `input` excludes tokens read from or written to the cache. */
function toUsage(wire: ResponseUsage | null | undefined): Usage | undefined {
  if (!wire) return undefined;
  const cacheRead = wire.input_tokens_details?.cached_tokens ?? 0;
  const cacheWrite = wire.input_tokens_details?.cache_write_tokens ?? 0;
  const [prompt, output] = [wire.input_tokens ?? 0, wire.output_tokens ?? 0];
  const totalTokens = wire.total_tokens ?? prompt + output;
  if (totalTokens <= 0) return undefined;
  return { input: Math.max(0, prompt - cacheRead - cacheWrite), output, cacheRead, cacheWrite, totalTokens };
}
