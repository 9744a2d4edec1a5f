/** The network: one client for each account, and the chunks of an answer. The only file here that talks to a server. */
import { type Clock, unavailable } from "@svc/sdk";
import type { ProviderAccount } from "@svc/sdk/services";
import type OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { nameOf, type Phase, retryAfter, toFailure } from "./failure.ts";

/** Attempts after the first, for 408, 409, 429, 5xx and failed connections; only until an answer begins. */
const MAX_RETRIES = 2;

/** Longest wait before a retry that a server may ask for. Choice: a longer one is told to the caller at once. */
const MAX_RETRY_WAIT_MS = 30_000;

/** Sent where an account has no key: the client insists on one, and servers without keys ignore it. */
export const NO_KEY = "no-key";

export interface ChatApiOptions {
  readonly clock: Pick<Clock, "now">;
  /** Default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface ChatApi {
  /**
   * Posts the question and yields the answer's chunks.
   * @throws the signal's reason on abort; GatewayError `UNAVAILABLE` for everything the server or the network does.
   */
  chunks(
    params: ChatCompletionCreateParamsStreaming,
    account: ProviderAccount,
    signal: AbortSignal,
  ): AsyncIterable<ChatCompletionChunk>;
}

export function createChatApi({ clock, fetch = globalThis.fetch }: ChatApiOptions): ChatApi {
  const clients = new Map<string, { readonly settings: string; readonly client: OpenAI }>();

  async function clientOf(account: ProviderAccount, baseURL: string): Promise<OpenAI> {
    const settings = JSON.stringify([baseURL, account.apiKey, account.headers]);
    const known = clients.get(account.name);
    if (known?.settings === settings) return known.client;
    const { default: Client } = await import("openai");
    const client = new Client({
      baseURL,
      apiKey: account.apiKey ?? NO_KEY,
      // Explicit, or the library takes them from the environment and sends them to whatever server this is.
      organization: null,
      project: null,
      adminAPIKey: null,
      webhookSecret: null,
      defaultHeaders: account.headers ?? {},
      maxRetries: MAX_RETRIES,
      logLevel: "off", // it prints what the model says
      fetch: impatient(fetch, () => clock.now()),
    });
    clients.set(account.name, { settings, client });
    return client;
  }

  return {
    async *chunks(params, account, signal) {
      signal.throwIfAborted();
      const { baseUrl } = account;
      if (!baseUrl) unavailable(`${nameOf(account)} has no address: set models.providers.${account.name}.baseUrl`);
      const client = await clientOf(account, baseUrl);
      let phase: Phase = "asking";
      try {
        // The client sleeps between attempts without looking at the signal; its timer sees the abort when it fires.
        const stream = await orAbort(client.chat.completions.create(params, { signal }), signal);
        phase = "answering";
        yield* stream;
      } catch (thrown) {
        signal.throwIfAborted();
        throw toFailure(thrown, { account, model: { id: params.model }, phase, now: clock.now() });
      }
      signal.throwIfAborted(); // on abort the client's iterator just ends
    },
  };
}

/** Tells the client not to retry when the server asks for a longer wait than anybody would sit through. */
function impatient(fetch: typeof globalThis.fetch, now: () => number): typeof globalThis.fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.ok || (retryAfter(response.headers, now()) ?? 0) <= MAX_RETRY_WAIT_MS) return response;
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    headers.set("x-should-retry", "false");
    return new Response(response.body, { status, statusText, headers });
  };
}

/** `work`, or the signal's reason as soon as it aborts. */
function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
