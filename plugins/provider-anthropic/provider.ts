/** Sends a model request to a server of the Messages API, and yields model events. */
import { AnswerSize, AT_WORK, providerName, readable } from "@svc/kit/providers";
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
      for await (const event of api.events(toParams(request), account, signal)) {
        yield* readable(source, () => answer.take(event));
        if (isCallPart(event)) yield AT_WORK;
      }
      yield* answer.end();
    },

    listModels: (account, signal) => api.models(account, signal),
  };
}

/** Part of a tool call, which yields no event of its own. */
function isCallPart(event: Parameters<ReturnType<typeof createAnswer>["take"]>[0]): boolean {
  return event.type === "content_block_delta" && event.delta?.type === "input_json_delta";
}
