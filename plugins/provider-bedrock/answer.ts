/** Converts events of the Converse API into model events. Pure; `translate.ts` converts requests. */
import { type Answer, type AnswerSize, AT_WORK, refuseAnswer, toolCallOf } from "@svc/kit/providers";
import type { ModelEvent, Usage } from "@svc/sdk/models";
import { REDACTED } from "./translate.ts";
import type { ConverseEvent, Delta } from "./wire.ts";

/** A partially received tool call. */
interface Call {
  readonly id: string;
  readonly name: string;
  /** Accumulated JSON. */
  arguments: string;
}

export interface AnswerSettings {
  /** Name of the account in error messages, e.g. `model provider "acme"`. */
  readonly source: string;
  readonly size: AnswerSize;
  /** Further calls of an answer are left out. */
  readonly maxCalls: number;
}

/** Answers without use: their sentence, and the kind of failure. */
const REFUSED: Readonly<Record<string, readonly ["request" | "server_error", string]>> = {
  guardrail_intervened: ["request", "a guardrail of the account stopped the answer; rephrase it"],
  content_filtered: ["request", "the content filter stopped the answer; rephrase it"],
  malformed_model_output: ["server_error", "the model made a malformed answer; try again"],
  malformed_tool_use: ["server_error", "the model made a malformed tool call; try again"],
};

export function createAnswer({ source, size, maxCalls }: AnswerSettings): Answer<ConverseEvent> {
  const calls = new Map<number, Call>();
  let reason: string | undefined;
  let usage: Usage | undefined;

  function add(index: number, { text, toolUse, reasoningContent }: Delta): ModelEvent[] {
    if (toolUse) {
      const call = calls.get(index);
      size.call(toolUse.input ?? "", false);
      if (call) call.arguments += toolUse.input ?? "";
      return [AT_WORK];
    }
    if (text) return [{ type: "text", delta: text }];
    if (reasoningContent?.text) return [{ type: "thinking", delta: reasoningContent.text }];
    // The signature is the last delta of its block: later thinking belongs to another block.
    const { signature, redactedContent } = reasoningContent ?? {};
    if (signature) return [{ type: "thinking", delta: "", signature }];
    if (redactedContent) return [{ type: "thinking", delta: "", signature: REDACTED + redactedContent }];
    return [];
  }

  return {
    take({ name, contentBlockIndex = 0, start, delta, stopReason, usage: wire }) {
      if (start?.toolUse) {
        const { toolUseId: id, name: tool } = start.toolUse;
        size.call(id + tool, true);
        calls.set(contentBlockIndex, { id, name: tool, arguments: "" });
      }
      if (name === "messageStop") reason = stopReason ?? "end_turn";
      if (name === "metadata") usage = toUsage(wire);
      return delta ? add(contentBlockIndex, delta) : [];
    },

    end() {
      if (reason === undefined) {
        refuseAnswer("network", `${source} disconnected before the end of its answer; try again`);
      }
      const refused = Object.hasOwn(REFUSED, reason) ? REFUSED[reason] : undefined;
      if (refused) refuseAnswer(refused[0], `${source}: ${refused[1]}`);
      if (reason === "model_context_window_exceeded" && calls.size > 0) {
        const next = "shorten it or start a new session";
        refuseAnswer("request", `the conversation no longer fits the model of ${source}; ${next}`);
      }
      const allowed = [...calls.values()].slice(0, maxCalls);
      const made = allowed.map((call) => toolCallOf(call, source, reason === "max_tokens"));
      const ended = made.length > 0 ? "toolUse" : isCut(reason) ? "length" : "stop";
      return [...made, { type: "finish", reason: ended, ...(usage ? { usage } : {}) }];
    },
  };
}

function isCut(reason: string | undefined): boolean {
  return reason === "max_tokens" || reason === "model_context_window_exceeded";
}

/** `inputTokens` excludes tokens read from or written to the cache. Usage of zero tokens is ignored. */
function toUsage(wire: ConverseEvent["usage"]): Usage | undefined {
  const input = wire?.inputTokens ?? 0;
  const output = wire?.outputTokens ?? 0;
  const cacheRead = wire?.cacheReadInputTokens ?? 0;
  const cacheWrite = wire?.cacheWriteInputTokens ?? 0;
  const totalTokens = wire?.totalTokens ?? input + output + cacheRead + cacheWrite;
  return totalTokens > 0 ? { input, output, cacheRead, cacheWrite, totalTokens } : undefined;
}
