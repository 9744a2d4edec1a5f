/** The network: one client for each account, and the events of an answer. The only file here that talks to a server. */
import { boundedErrors, providerName, type ProviderPhase, reportedError, serverEvents } from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { type Clock, lazy } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/models";
import type Anthropic from "@anthropic-ai/sdk";
import type { MessageCreateParamsStreaming, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { toFailure } from "./failure.ts";

/** Used where an account names no address. */
export const DEFAULT_BASE_URL = "https://api.anthropic.com";

/** Accounts whose clients are kept; the one unused for longest goes. */
const MAX_CLIENTS = 64;

export interface MessagesApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** Default: the process's. Read only to undo what the client library takes from it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface MessagesApi {
  /**
   * Posts the question and yields the answer's events.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for everything the server or the network does.
   */
  events(
    params: MessageCreateParamsStreaming,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncIterable<RawMessageStreamEvent>;
}

const library = lazy(() => import("@anthropic-ai/sdk"));

export function createMessagesApi(options: MessagesApiOptions): MessagesApi {
  const { clock, fetch = globalThis.fetch, env = process.env } = options;
  const clients = new Map<string, Anthropic>();

  async function clientOf(account: ProviderAccount): Promise<Anthropic> {
    const settings = JSON.stringify([account.baseUrl, account.apiKey, account.headers]);
    const { default: Client } = await library();
    const known = clients.get(settings);
    const client =
      known ??
      new Client({
        baseURL: rootOf(account.baseUrl ?? DEFAULT_BASE_URL),
        // Explicit, or the library looks for credentials in the environment and on disk.
        apiKey: account.apiKey ?? "no-key",
        webhookKey: null,
        defaultHeaders: { ...unwantedHeaders(env), ...headersOf(account) },
        maxRetries: 0, // the gateway knows more accounts
        openTelemetry: false,
        logLevel: "off", // it prints what the model says
        fetch: boundedErrors(sameOriginFetch(fetch)),
      });
    clients.delete(settings);
    clients.set(settings, client);
    for (const oldest of clients.keys()) {
      if (clients.size <= MAX_CLIENTS) break;
      clients.delete(oldest);
    }
    return client;
  }

  return {
    async *events(params, account, signal) {
      signal.throwIfAborted();
      let phase: ProviderPhase = "asking";
      try {
        const client = await clientOf(account);
        // Not `messages.create`: that one prints notices about old models to the terminal.
        const response = await client.post("/v1/messages", { body: params, stream: true, signal }).asResponse();
        phase = "answering";
        for await (const { name, data } of serverEvents(response, providerName(account))) {
          if (name === "error") throw reported(data);
          if (name !== undefined && name !== "ping" && data !== "") yield JSON.parse(data) as RawMessageStreamEvent; // from the wire: `answer.ts` bears other shapes
        }
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: params.model }, phase, now: clock.now() });
      }
      signal.throwIfAborted();
    },
  };
}

interface ErrorEvent {
  readonly error?: { readonly type?: unknown; readonly details?: { readonly error_code?: unknown } };
}

/** The error of an event of that name. */
function reported(data: string): Error {
  try {
    const body = JSON.parse(data) as ErrorEvent | null; // from the wire; each field is checked where it is used
    return reportedError(body, { type: body?.error?.type, errorCode: body?.error?.details?.error_code });
  } catch {
    return reportedError({ message: data });
  }
}

/** The address without the `/v1` that the library adds itself; people write it either way. */
function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/+$/u, "").replace(/\/v1$/u, "");
}

/**
 * How the key goes along. Choice: the API's own host gets it as the library sends it; compatible servers get it under
 * the older name as well. An account without a key sends its headers and no more.
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

/** The library adds headers from the environment to every client; an account has what its configuration says. */
function unwantedHeaders(env: Readonly<Record<string, string | undefined>>): Record<string, null> {
  const names = (env["ANTHROPIC_CUSTOM_HEADERS"] ?? "").split("\n").map((line) => line.split(":")[0]?.trim() ?? "");
  return Object.fromEntries(names.filter(Boolean).map((name) => [name, null]));
}
