/** Converts chunks of the API of Gemini into model events. Pure; `translate.ts` converts requests. */
import { type Answer, type AnswerSize, refuseAnswer } from "@svc/kit/providers";
import type { ModelEvent, Usage } from "@svc/sdk/models";
import { FOR_CALL, FOR_TEXT } from "./translate.ts";
import type { GenerateChunk, Part } from "./wire.ts";

export interface AnswerSettings {
  /** Name of the account in error messages, e.g. `model provider "acme"`. */
  readonly source: string;
  readonly size: AnswerSize;
  /** Creates ids for calls without one. */
  readonly newId: () => string;
  /** Further calls of an answer are left out, since the API cannot forbid them. */
  readonly maxCalls: number;
}

/** Why an answer was stopped, as the next sentence of "... stopped the answer". */
const STOPPED: Readonly<Record<string, string>> = {
  SAFETY: "its safety filter considers it harmful",
  RECITATION: "it repeats existing texts",
  LANGUAGE: "the language is not supported",
  BLOCKLIST: "it contains forbidden words",
  PROHIBITED_CONTENT: "it contains prohibited content",
  SPII: "it contains sensitive personal data",
  IMAGE_SAFETY: "its safety filter considers an image harmful",
  MODEL_ARMOR: "the filter of the project considers it harmful",
};

/** Faults of the model itself: the next attempt may succeed. */
const FAULTS: Readonly<Record<string, string>> = {
  MALFORMED_FUNCTION_CALL: "made a malformed tool call",
  UNEXPECTED_TOOL_CALL: "called a tool that it was not offered",
  TOO_MANY_TOOL_CALLS: "made too many tool calls",
  MALFORMED_RESPONSE: "made a malformed answer",
  OTHER: "ended the answer for an unknown reason",
};

export function createAnswer({ source, size, newId, maxCalls }: AnswerSettings): Answer<GenerateChunk> {
  let calls = 0;
  let began = false;
  let reason: string | undefined;
  let note: string | undefined;
  let blocked: string | undefined;
  let usage: Usage | undefined;

  function eventsOf({ text, thought, thoughtSignature, functionCall }: Part): ModelEvent[] {
    const events: ModelEvent[] = [];
    if (text) events.push(thought ? { type: "thinking", delta: text } : { type: "text", delta: text });
    if (functionCall) {
      calls += 1;
      if (calls > maxCalls) return events;
      if (thoughtSignature) events.push({ type: "thinking", delta: "", signature: FOR_CALL + thoughtSignature });
      const { id, name, args } = functionCall;
      events.push({ type: "toolCall", id: id || newId(), name, arguments: argumentsOf(args) });
    } else if (thoughtSignature) events.push({ type: "thinking", delta: "", signature: FOR_TEXT + thoughtSignature });
    return events;
  }

  return {
    take({ candidates, promptFeedback, usageMetadata }) {
      began = true;
      const [candidate] = candidates ?? [];
      blocked = promptFeedback?.blockReason ?? blocked;
      usage = toUsage(usageMetadata) ?? usage;
      if (candidate?.finishReason) reason = candidate.finishReason;
      note = candidate?.finishMessage ?? promptFeedback?.blockReasonMessage ?? note;
      const events = (candidate?.content?.parts ?? []).flatMap(eventsOf);
      for (const event of events) size.event(event);
      return events;
    },

    end() {
      const said = note ? `. It says: ${note.slice(0, 300)}` : "";
      if (blocked !== undefined && reason === undefined) {
        const why = STOPPED[blocked] ?? blocked;
        refuseAnswer("request", `${source} did not accept the conversation: ${why}; rephrase the last message${said}`);
      }
      if (!began) {
        refuseAnswer(
          "server_error",
          `${source} sent an empty answer; check its baseUrl, which usually ends in /v1beta`,
        );
      }
      if (reason === undefined) {
        refuseAnswer("network", `${source} disconnected in the middle of its answer; try again`);
      }
      if (Object.hasOwn(FAULTS, reason)) {
        refuseAnswer("server_error", `the model of ${source} ${FAULTS[reason]}; try again${said}`);
      }
      if (reason !== "STOP" && reason !== "MAX_TOKENS") {
        refuseAnswer("request", `${source} stopped the answer: ${STOPPED[reason] ?? reason}; rephrase it${said}`);
      }
      const ended = calls > 0 ? "toolUse" : reason === "MAX_TOKENS" ? "length" : "stop";
      return [{ type: "finish", reason: ended, ...(usage ? { usage } : {}) }];
    },
  };
}

function argumentsOf(args: unknown): Record<string, unknown> {
  if (args === undefined || args === null) return {};
  const isObject = typeof args === "object" && !Array.isArray(args);
  // Choice: a key that no tool has, so that the schema rejects the call and the model sees its own text in the error.
  return isObject ? (args as Record<string, unknown>) : { invalidJson: JSON.stringify(args) };
}

/** The API counts cached tokens as part of the prompt, and thoughts apart from the answer. */
function toUsage(wire: GenerateChunk["usageMetadata"]): Usage | undefined {
  if (!wire) return undefined;
  const cacheRead = wire.cachedContentTokenCount ?? 0;
  const prompt = (wire.promptTokenCount ?? 0) + (wire.toolUsePromptTokenCount ?? 0);
  const output = (wire.candidatesTokenCount ?? 0) + (wire.thoughtsTokenCount ?? 0);
  const totalTokens = wire.totalTokenCount ?? prompt + output;
  if (totalTokens <= 0) return undefined;
  return { input: Math.max(0, prompt - cacheRead), output, cacheRead, cacheWrite: 0, totalTokens };
}
