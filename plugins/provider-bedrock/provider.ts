/** Sends a model request to Bedrock, and yields model events. */
import { AnswerSize, AT_WORK, providerName, readable } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { ConverseApi } from "./api.ts";
import { listModels } from "./models.ts";
import { maxCalls, toBody } from "./translate.ts";

export function createProvider(api: ConverseApi): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const size = new AnswerSize(source, request);
      const answer = createAnswer({ source, size, maxCalls: maxCalls(request) });
      for await (const event of api.events(request.model.id, toBody(request), account, signal)) {
        yield* readable(source, () => answer.take(event));
        if (event.delta?.toolUse) yield AT_WORK;
      }
      yield* answer.end();
    },

    listModels: (account, signal) => listModels(api, account, signal),
  };
}
