/** Sends a model request to Google's API, and yields model events. */
import { randomUUID } from "node:crypto";
import { AnswerSize, providerName, readable } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { GeminiApi } from "./api.ts";
import { toBody } from "./translate.ts";

/** @param newId creates ids for tool calls without one */
export function createProvider(api: GeminiApi, newId: () => string = randomUUID): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const size = new AnswerSize(source, request);
      const answer = createAnswer({
        source,
        newId: () => `call_${newId()}`,
        maxCalls: request.options?.parallelToolCalls === false ? 1 : Infinity,
      });
      for await (const chunk of api.chunks(request.model.id, toBody(request), account, signal)) {
        for (const event of readable(source, () => answer.take(chunk))) {
          size.event(event);
          yield event;
        }
      }
      yield* answer.end();
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}
