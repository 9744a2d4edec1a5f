/** Sends a model request to a chat-completions server, and yields model events. */
import { randomUUID } from "node:crypto";
import { AnswerSize, AT_WORK, providerName, readable } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { ChatApi } from "./api.ts";
import { toParams } from "./translate.ts";

/** @param newId creates ids for tool calls without one */
export function createProvider(api: ChatApi, newId: () => string = randomUUID): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const answer = createAnswer(source, () => `call_${newId()}`, new AnswerSize(source, request));
      for await (const chunk of api.chunks(toParams(request, account), account, signal)) {
        yield* readable(source, () => answer.take(chunk));
        if (isCallPart(chunk)) yield AT_WORK;
      }
      yield* answer.end();
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}

/** Part of a tool call, which yields no event of its own. */
function isCallPart(chunk: Parameters<ReturnType<typeof createAnswer>["take"]>[0]): boolean {
  return typeof chunk === "object" && (chunk.choices?.[0]?.delta?.tool_calls?.length ?? 0) > 0;
}
