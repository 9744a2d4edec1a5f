/** Network access: one client per account, used by both APIs. The only file of this plugin that calls servers. */
import {
  boundedErrors,
  clientPerAccount,
  createCalls,
  listedModel,
  modelsIn,
  providerName,
  providerSettingsPath,
  readModelList,
  refuseAnswer,
  serverEvents,
} from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { type Clock, lazy } from "@svc/sdk";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import type OpenAI from "openai";
import { factsOf } from "./failure.ts";

/** Placeholder for accounts without a key: the client requires one, and servers without keys ignore it. */
export const NO_KEY = "no-key";

export interface ClientsOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
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
   * Sends the request and yields the events of the answer, one list for those that arrived together.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  stream<E>(request: StreamedRequest<E>): AsyncGenerator<readonly E[], void, void>;
  /** The models of the server: `GET /models`. @throws like `stream` */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

const library = lazy(() => import("openai"));

export function createClients({ clock, fetch = globalThis.fetch }: ClientsOptions): Clients {
  const calls = createCalls({ clock, factsOf });
  const clientOf = clientPerAccount<OpenAI>(async (account) => {
    const { baseUrl: baseURL } = account;
    if (!baseURL)
      refuseAnswer("network", `${providerName(account)} has no address: set ${providerSettingsPath(account)}.baseUrl`);
    const { default: Client } = await library();
    return new Client({
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
  });

  return {
    stream: ({ account, signal, model, send, parse }) =>
      calls.stream({
        account,
        signal,
        model,
        send: async () => send(await clientOf(account)),
        read: (response) => serverEvents(response, providerName(account), ({ data }) => [parse(data)]),
      }),

    models: (account, signal) =>
      calls.run({ account, signal }, async () => {
        const client = await clientOf(account);
        const ask = () => client.get("/models", { signal }).asResponse();
        return readModelList(account, ask, (body) => ({ models: modelsOf(account, body) }));
      }),
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
