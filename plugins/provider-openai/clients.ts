/** Network access: one client per account, used by both APIs. The only file of this plugin that calls servers. */
import {
  boundedErrors,
  listedModel,
  modelsIn,
  providerName,
  type ProviderPhase,
  providerSettingsPath,
  readModelList,
  refuseAnswer,
  serverEvents,
} from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { type Clock, lazy } from "@svc/sdk";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import type OpenAI from "openai";
import { toFailure } from "./failure.ts";

/** Placeholder for accounts without a key: the client requires one, and servers without keys ignore it. */
export const NO_KEY = "no-key";

export interface ClientsOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Address of accounts without one. Default: such accounts are refused. */
  readonly defaultBaseUrl?: string;
}

/** One request whose answer is streamed. */
export interface StreamedRequest<E> {
  readonly account: ProviderAccount;
  /** Model, for error messages. */
  readonly model: string;
  readonly signal: AbortSignal;
  send(client: OpenAI): Promise<Response>;
  /** Reads the data of one event. @throws errors for `toFailure` */
  parse(data: string): E;
}

export interface Clients {
  /**
   * Sends the request and yields the events of the answer.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  stream<E>(request: StreamedRequest<E>): AsyncGenerator<E, void, void>;
  /** The models of the server: `GET /models`. @throws like `stream` */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

const library = lazy(() => import("openai"));

export function createClients({ clock, fetch = globalThis.fetch, defaultBaseUrl }: ClientsOptions): Clients {
  const clients = new Map<string, { readonly settings: string; readonly client: OpenAI }>();

  async function clientOf(account: ProviderAccount): Promise<OpenAI> {
    const baseURL = account.baseUrl || defaultBaseUrl;
    if (!baseURL)
      refuseAnswer("network", `${providerName(account)} has no address: set ${providerSettingsPath(account)}.baseUrl`);
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
    async *stream({ account, model, signal, send, parse }) {
      signal.throwIfAborted();
      let phase: ProviderPhase = "asking";
      try {
        const response = await send(await clientOf(account));
        phase = "answering";
        for await (const { data } of serverEvents(response, providerName(account))) yield parse(data);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: model }, phase, now: clock.now() });
      }
      signal.throwIfAborted();
    },

    async models(account, signal) {
      signal.throwIfAborted();
      try {
        const client = await clientOf(account);
        const ask = () => client.get("/models", { signal }).asResponse();
        return await readModelList(account, ask, (body) => ({ models: modelsOf(account, body) }));
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, phase: "asking", now: clock.now() });
      }
    },
  };
}

/** The API itself does not report context windows; compatible servers use these names. */
function modelsOf(account: ProviderAccount, body: unknown): ModelChoice[] {
  const { data } = body as { readonly data?: unknown }; // from the wire
  return modelsIn(data, ({ id, name, context_length, context_window, max_model_len, max_context_length }) =>
    listedModel(account, {
      id,
      name,
      contextWindow: [context_length, context_window, max_model_len, max_context_length],
    }),
  );
}
