/** Network access: one client per account, and the chunks of an answer. The only file of this plugin that calls servers. */
import {
  boundedErrors,
  providerName,
  type ProviderPhase,
  providerSettingsPath,
  refuseAnswer,
  reportedError,
  serverEvents,
} from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { type Clock, lazy } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";
import type OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { DONE } from "./answer.ts";
import { toFailure } from "./failure.ts";

/** Placeholder for accounts without a key: the client requires one, and servers without keys ignore it. */
export const NO_KEY = "no-key";

export interface ChatApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
}

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
}

const library = lazy(() => import("openai"));

export function createChatApi({ clock, fetch = globalThis.fetch }: ChatApiOptions): ChatApi {
  const clients = new Map<string, { readonly settings: string; readonly client: OpenAI }>();

  async function clientOf(account: ProviderAccount, baseURL: string): Promise<OpenAI> {
    const settings = JSON.stringify([baseURL, account.apiKey, account.headers]);
    const known = clients.get(account.name);
    if (known?.settings === settings) return known.client;
    const { default: Client } = await library();
    const client = new Client({
      baseURL,
      apiKey: account.apiKey ?? NO_KEY,
      // Explicit, since the library would otherwise read them from the environment and send them to this server.
      organization: null,
      project: null,
      adminAPIKey: null,
      webhookSecret: null,
      defaultHeaders: account.headers ?? {},
      maxRetries: 0, // the plugin `models` retries, also with other accounts
      logLevel: "off", // the log would contain answers of the model
      fetch: boundedErrors(sameOriginFetch(fetch)),
    });
    clients.set(account.name, { settings, client });
    return client;
  }

  return {
    async *chunks(params, account, signal) {
      signal.throwIfAborted();
      const { baseUrl } = account;
      if (!baseUrl)
        refuseAnswer(
          "network",
          `${providerName(account)} has no address: set ${providerSettingsPath(account)}.baseUrl`,
        );
      const client = await clientOf(account, baseUrl);
      let phase: ProviderPhase = "asking";
      try {
        const response = await client.chat.completions.create(params, { signal }).asResponse();
        phase = "answering";
        for await (const { data } of serverEvents(response, providerName(account))) yield chunkOf(data);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: params.model }, phase, now: clock.now() });
      }
      signal.throwIfAborted();
    },
  };
}

/** @throws errors for `toFailure`: a SyntaxError, or an object with the `error` that the server reports */
function chunkOf(data: string): ChatCompletionChunk | typeof DONE {
  if (data.startsWith(DONE)) return DONE;
  const chunk = JSON.parse(data) as ChatCompletionChunk & { readonly error?: { readonly code?: unknown } }; // from the wire: `answer.ts` tolerates other shapes
  if (!chunk?.error) return chunk;
  throw reportedError(chunk.error, { code: chunk.error.code });
}
