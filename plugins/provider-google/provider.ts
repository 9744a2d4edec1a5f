/** Sends a model request to Google's API, and yields model events. */
import { randomUUID } from "node:crypto";
import { answerEvents, AnswerSize, providerName } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { GeminiApi } from "./api.ts";
import { toBody } from "./translate.ts";

/** @param newId creates ids for tool calls without one */
export function createProvider(api: GeminiApi, newId: () => string = randomUUID): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const answer = createAnswer({
        source,
        size: new AnswerSize(source, request),
        newId: () => `call_${newId()}`,
        maxCalls: request.options?.parallelToolCalls === false ? 1 : Infinity,
      });
      yield* answerEvents(source, api.chunks(request.model.id, toBody(request), account, signal), answer);
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}
