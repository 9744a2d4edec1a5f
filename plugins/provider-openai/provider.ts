/** A question to a chat-completions server, from our request to our pieces. */
import { randomUUID } from "node:crypto";
import { providerName } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import { createAnswer } from "./answer.ts";
import type { ChatApi } from "./api.ts";
import { toParams } from "./translate.ts";

/** @param newId makes ids for tool calls that come without one. */
export function createProvider(api: ChatApi, newId: () => string = randomUUID): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const answer = createAnswer(providerName(account), () => `call_${newId()}`);
      for await (const chunk of api.chunks(toParams(request, account), account, signal)) yield* answer.take(chunk);
      yield* answer.end();
    },
  };
}
