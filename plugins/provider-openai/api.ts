/** The chunks of the chat-completions API. */
import { reportedError } from "@svc/kit/providers";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { DONE } from "./answer.ts";
import { type ClientsOptions, createClients } from "./clients.ts";

export interface ChatApi {
  /**
   * Posts the request and yields the chunks of the answer, and the marker of its end if the server sends one.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  chunks(
    params: ChatCompletionCreateParamsStreaming,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncIterable<ChatCompletionChunk | typeof DONE>;
  /** The models of the server. @throws like `chunks` */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

export function createChatApi(options: Omit<ClientsOptions, "defaultBaseUrl">): ChatApi {
  const clients = createClients(options);
  return {
    chunks: (params, account, signal) =>
      clients.stream({
        account,
        model: params.model,
        signal,
        send: (client) => client.chat.completions.create(params, { signal }).asResponse(),
        parse: chunkOf,
      }),
    models: (account, signal) => clients.models(account, signal),
  };
}

/** @throws errors for `toFailure`: a SyntaxError, or an object with the `error` that the server reports */
function chunkOf(data: string): ChatCompletionChunk | typeof DONE {
  if (data.startsWith(DONE)) return DONE;
  const chunk = JSON.parse(data) as ChatCompletionChunk & { readonly error?: { readonly code?: unknown } }; // from the wire: `answer.ts` tolerates other shapes
  if (!chunk?.error) return chunk;
  throw reportedError(chunk.error, { code: chunk.error.code });
}
