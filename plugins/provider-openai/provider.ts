/** Sends a model request to a chat-completions server, and yields model events. */
import { randomUUID } from "node:crypto";
import { answerEvents, AnswerSize, providerName, reportedError } from "@svc/kit/providers";
import type { ModelProvider } from "@svc/sdk/models";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { type Chunk, createAnswer, DONE } from "./answer.ts";
import type { Clients } from "./clients.ts";
import { toParams } from "./translate.ts";

/** @param newId creates ids for tool calls without one */
export function createProvider(clients: Clients, newId: () => string = randomUUID): ModelProvider {
  return {
    async *stream(request, account, signal) {
      const source = providerName(account);
      const answer = createAnswer(source, () => `call_${newId()}`, new AnswerSize(source, request));
      const params = toParams(request, account);
      const chunks = clients.stream({
        account,
        signal,
        model: params.model,
        send: (client) => client.chat.completions.create(params, { signal }).asResponse(),
        parse: chunkOf,
      });
      yield* answerEvents(source, chunks, answer);
    },

    listModels: (account, signal) => clients.models(account, signal),
  };
}

/** @throws errors for `Clients`: a SyntaxError, or an object with the `error` that the server reports */
function chunkOf(data: string): Chunk {
  if (data.startsWith(DONE)) return DONE;
  const chunk = JSON.parse(data) as ChatCompletionChunk & { readonly error?: { readonly code?: unknown } }; // from the wire: `answer.ts` tolerates other shapes
  if (!chunk?.error) return chunk;
  throw reportedError(chunk.error, { code: chunk.error.code });
}
