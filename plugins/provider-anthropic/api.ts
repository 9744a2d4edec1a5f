/** Network access: one client per account, and the events of an answer. The only file of this plugin that calls servers. */
import {
  boundedErrors,
  clientPerAccount,
  createCalls,
  listedModel,
  type ModelPage,
  modelsIn,
  providerName,
  readModelList,
  reportedError,
  type ServerEvent,
  serverEvents,
} from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { type Clock, lazy } from "@svc/sdk";
import type { ModelChoice, ProviderAccount } from "@svc/sdk/models";
import type Anthropic from "@anthropic-ai/sdk";
import type { MessageCreateParamsStreaming, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { factsOf } from "./failure.ts";

/** Default address of accounts. */
export const DEFAULT_BASE_URL = "https://api.anthropic.com";

export interface MessagesApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Default: that of the process. Read only to undo settings that the client library takes from it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface MessagesApi {
  /**
   * Posts the request and yields the events of the answer, one list for those that arrived together.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for any error of the server or the network
   */
  events(
    params: MessageCreateParamsStreaming,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncIterable<readonly RawMessageStreamEvent[]>;
  /** The models of the server. @throws like `events` */
  models(account: ProviderAccount, signal: AbortSignal): Promise<readonly ModelChoice[]>;
}

const library = lazy(() => import("@anthropic-ai/sdk"));

export function createMessagesApi(options: MessagesApiOptions): MessagesApi {
  const { clock, fetch = globalThis.fetch, env = process.env } = options;
  const calls = createCalls({ clock, factsOf });
  const clientOf = clientPerAccount<Anthropic>(async (account) => {
    const { default: Client } = await library();
    return new Client({
      baseURL: rootOf(account.baseUrl ?? DEFAULT_BASE_URL),
      // Explicit, since the library would otherwise look for credentials in the environment and on disk.
      apiKey: account.apiKey ?? "no-key",
      webhookKey: null,
      defaultHeaders: { ...unwantedHeaders(env), ...headersOf(account) },
      maxRetries: 0, // the plugin `models` retries, also with other accounts
      openTelemetry: false,
      logLevel: "off", // the log would contain answers of the model
      fetch: boundedErrors(sameOriginFetch(fetch)),
    });
  });

  return {
    events: (params, account, signal) =>
      calls.stream({
        account,
        signal,
        model: params.model,
        async send() {
          const client = await clientOf(account);
          // Not `messages.create`: `create` prints notices about old models to the terminal.
          return client.post("/v1/messages", { body: params, stream: true, signal }).asResponse();
        },
        read: (response) => serverEvents(response, providerName(account), eventsOf),
      }),

    models: (account, signal) =>
      calls.run({ account, signal }, async () => {
        const client = await clientOf(account);
        const ask = (after: string | undefined) =>
          client
            .get("/v1/models", { query: { limit: 1_000, ...(after === undefined ? {} : { after_id: after }) }, signal })
            .asResponse();
        return readModelList(account, ask, (body) => pageOf(account, body));
      }),
  };
}

/** A page of `GET /v1/models`. */
function pageOf(account: ProviderAccount, body: unknown): ModelPage {
  const { data, has_more, last_id } = body as Readonly<Record<string, unknown>>; // from the wire; each field is checked
  const models = modelsIn(data, ({ id, display_name, max_input_tokens }) =>
    listedModel(account, { id, name: display_name, contextWindow: [max_input_tokens] }),
  );
  return { models, next: has_more === true && typeof last_id === "string" ? last_id : undefined };
}

/** @throws errors for `toFailure`: a SyntaxError, or the error that the server reports */
function eventsOf({ name, data }: ServerEvent): readonly RawMessageStreamEvent[] {
  if (name === "error") throw reported(data);
  if (name === undefined || name === "ping" || data === "") return [];
  return [JSON.parse(data) as RawMessageStreamEvent]; // from the wire: `answer.ts` tolerates other shapes
}

interface ErrorEvent {
  readonly error?: { readonly type?: unknown; readonly details?: { readonly error_code?: unknown } };
}

/** The error of an `error` event. */
function reported(data: string): Error {
  try {
    const body = JSON.parse(data) as ErrorEvent | null; // from the wire; each field is checked where it is used
    return reportedError(body, { type: body?.error?.type, errorCode: body?.error?.details?.error_code });
  } catch {
    return reportedError({ message: data });
  }
}

/** The address without `/v1`, which the library adds itself. */
function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/+$/u, "").replace(/\/v1$/u, "");
}

/**
 * Headers for the key. Choice: the API's own host gets the key as the library sends it; compatible servers also get it as
 * `x-api-key`. An account without a key sends only its own headers.
 */
function headersOf({ baseUrl, apiKey, headers = {} }: ProviderAccount): Record<string, string | null> {
  if (apiKey === undefined) return { authorization: null, ...lowerCased(headers) };
  const older = baseUrl === undefined || isOfficial(baseUrl) ? {} : { "x-api-key": apiKey };
  return { ...older, ...lowerCased(headers) };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function isOfficial(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.anthropic.com";
}

/** Removes the headers that the library adds from the environment, since accounts only use their configuration. */
function unwantedHeaders(env: Readonly<Record<string, string | undefined>>): Record<string, null> {
  const names = (env["ANTHROPIC_CUSTOM_HEADERS"] ?? "").split("\n").map((line) => line.split(":")[0]?.trim() ?? "");
  return Object.fromEntries(names.filter(Boolean).map((name) => [name, null]));
}
