/** Converts chunks of the chat-completions API into model events. Pure; `translate.ts` converts requests. */
import { type Answer, type AnswerSize, AT_WORK, refuseAnswer, toolCallOf } from "@svc/kit/providers";
import type { ModelEvent, Usage } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";

type Delta = ChatCompletionChunk.Choice.Delta;
type ToolCallDelta = ChatCompletionChunk.Choice.Delta.ToolCall;

/** The server's marker of a complete answer. */
export const DONE = "[DONE]";

/** A partially received tool call. */
interface Call {
  readonly index: number;
  readonly id: string;
  name: string;
  arguments: string;
}

export type Chunk = ChatCompletionChunk | typeof DONE;

/**
 * @param source name of the account in error messages, e.g. `model provider "acme"`
 * @param newId creates ids for servers that send tool calls without one
 */
export function createAnswer(source: string, newId: () => string, size: AnswerSize): Answer<Chunk> {
  const calls: Call[] = [];
  let said = false;
  let isDone = false;
  let reason: string | undefined;
  let usage: Usage | undefined;

  return {
    take(chunk) {
      if (chunk === DONE) isDone = true;
      if (chunk === DONE) return [];
      if (chunk.usage) usage = toUsage(chunk.usage) ?? usage;
      const choice = chunk.choices?.[0]; // the usage chunk has none, and some servers leave the list out
      if (!choice) return [];
      if (choice.finish_reason) reason = choice.finish_reason;
      const parts = choice.delta?.tool_calls ?? [];
      for (const part of parts) addToCalls(calls, part, newId, size);
      const events = piecesOf(choice.delta);
      if (events.some(({ type }) => type === "text")) said = true;
      return parts.length > 0 ? [...events, AT_WORK] : events;
    },

    end() {
      if (reason === undefined && !said && calls.length === 0) {
        refuseAnswer("server_error", `${source} sent an empty answer; check its baseUrl, which usually ends in /v1`);
      }
      if (reason === undefined && !isDone) {
        const where = calls.length > 0 ? "inside a tool call" : "in the middle of its answer";
        refuseAnswer("network", `${source} disconnected ${where}; try again`);
      }
      if (reason === "content_filter") {
        refuseAnswer("request", `the content filter of ${source} stopped the answer; rephrase it`);
      }
      if (reason === undefined && calls.some((call) => !parseToolArguments(call.arguments))) {
        refuseAnswer("network", `${source} disconnected inside a tool call; try again`);
      }
      const finish = { type: "finish", reason: finishOf(reason, calls), ...(usage ? { usage } : {}) } as const;
      return [...calls.map((call) => toolCallOf(call, source, reason === "length")), finish];
    },
  };
}

/** Fields for thinking that compatible servers add. */
interface Thoughts {
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
}

function piecesOf(delta: (Delta & Thoughts) | undefined): ModelEvent[] {
  const events: ModelEvent[] = [];
  const thought = delta?.reasoning_content ?? delta?.reasoning;
  if (typeof thought === "string" && thought !== "") events.push({ type: "thinking", delta: thought });
  const text = delta?.content || delta?.refusal;
  if (typeof text === "string" && text !== "") events.push({ type: "text", delta: text });
  return events;
}

/** Adds a fragment. Servers differ: no index, no id, the id again in each fragment, one index for several calls. */
function addToCalls(calls: Call[], delta: ToolCallDelta, newId: () => string, size: AnswerSize): void {
  const last = calls.at(-1);
  const index = delta.index ?? last?.index ?? 0;
  let call = calls.findLast((known) => known.index === index);
  const another = delta.id && call && delta.id !== call.id && delta.function?.name;
  const { name = "", arguments: args = "" } = delta.function ?? {};
  size.call(name + args, !call || Boolean(another));
  if (!call || another) {
    call = { index, id: delta.id || newId(), name: "", arguments: "" };
    calls.push(call);
  }
  if (call.name !== name) call.name += name;
  call.arguments += args;
}

/** Some servers send `stop` with tool calls; the tool calls count. */
function finishOf(reason: string | undefined, calls: readonly Call[]): "stop" | "length" | "toolUse" {
  if (calls.length > 0) return "toolUse";
  return reason === "length" ? "length" : "stop";
}

/**
 * The API counts the whole prompt; `input` excludes tokens read from or written to the cache.
 * Usage of zero tokens is ignored, since every answer has tokens.
 */
function toUsage(wire: NonNullable<ChatCompletionChunk["usage"]>): Usage | undefined {
  const cacheRead = wire.prompt_tokens_details?.cached_tokens ?? 0;
  const cacheWrite = wire.prompt_tokens_details?.cache_write_tokens ?? 0;
  const output = wire.completion_tokens ?? 0;
  const prompt = wire.prompt_tokens ?? Math.max(0, (wire.total_tokens ?? 0) - output);
  const totalTokens = wire.total_tokens ?? prompt + output;
  if (totalTokens <= 0) return undefined;
  return { input: Math.max(0, prompt - cacheRead - cacheWrite), output, cacheRead, cacheWrite, totalTokens };
}
