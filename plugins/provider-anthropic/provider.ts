/** Sends a model request to a server of the Messages API, and yields model events. */
import { answerEvents, AnswerSize, providerName } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { MessagesApi } from "./api.ts";
import { toParams } from "./translate.ts";

// Choice: no built-in models. The types of the client library list models without their context windows, and with a
// wrong context window the gateway would cut histories in the wrong place.
export function createProvider(api: MessagesApi): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const answer = createAnswer(source, new AnswerSize(source, request));
      yield* answerEvents(source, api.events(toParams(request), account, signal), answer);
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}
