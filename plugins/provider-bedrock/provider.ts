/** Sends a model request to Bedrock, and yields model events. */
import { answerEvents, AnswerSize, providerName } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { ConverseApi } from "./api.ts";
import { maxCalls, toBody } from "./translate.ts";

export function createProvider(api: ConverseApi): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const size = new AnswerSize(source, request);
      const answer = createAnswer({ source, size, maxCalls: maxCalls(request) });
      yield* answerEvents(source, api.events(request.model.id, toBody(request), account, signal), answer);
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}
