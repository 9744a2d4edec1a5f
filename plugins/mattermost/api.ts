/** Requests to the REST API of a server. */
import { causeOf, jsonOf } from "@svc/kit/body";
import { type Clock, GatewayError, invalidRequest, isGatewayError, lazy, unavailable } from "@svc/sdk";
import { withDeadline } from "@svc/kit/time";
import type { Client4 } from "@mattermost/client";
import type { Settings } from "./config.ts";
import type { Bot } from "./translate.ts";

/** Milliseconds for a request, and for one that carries a file. */
const REQUEST_MS = 15_000;
const UPLOAD_MS = 55_000;

/** The library is imported for the first request. It is CommonJS, and Node finds no name of its classes. */
const library = lazy(async () => (await import("@mattermost/client")).default);

export type Login = Pick<Settings, "baseUrl" | "botToken">;
export type Request = Parameters<Client4["getOptions"]>[0];

/** What a request needs beside the login. */
export interface RequestContext {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
  /** Called with the headers of each response. */
  readonly onHeaders?: (headers: Headers) => void;
}

/** Sends a request that the library has no function for. @param path below the address of the API */
type RawRequest = (path: string, request: Request) => Promise<unknown>;

/**
 * Runs one request of the library. The library itself has no timeout, drops the headers of refusals and puts the address
 * into its errors, so its transport is replaced.
 * @throws GatewayError `NOT_LINKED`: the token is refused; `NOT_FOUND`; `INVALID_REQUEST`; `UNAVAILABLE`, with
 *   `retryAfterMs` if the server names a time. The details of a refusal have its `status` and `id`.
 */
export async function ask<T>(
  { baseUrl, botToken }: Login,
  { clock, signal, onHeaders }: RequestContext,
  request: (client: Client4, raw: RawRequest) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { Client4 } = await library();
  const client = new Client4();
  client.setUrl(baseUrl);
  client.setToken(botToken);
  const late = () => "the Mattermost server did not answer in time";
  const doFetch = (url: string, options: Request) => {
    const ms = options.body instanceof FormData ? UPLOAD_MS : REQUEST_MS;
    return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
      const { response, text } = await exchange(url, { ...client.getOptions(options), signal: ending });
      onHeaders?.(response.headers);
      const data = jsonOf(text);
      if (!response.ok) refuse(response, data, (words) => words.replaceAll(botToken, "[token]"));
      return data ?? unavailable(`${baseUrl} does not answer as a Mattermost server does; check baseUrl`);
    });
  };
  Object.assign(client, { doFetch });
  return request(client, (path, options) => doFetch(`${client.getBaseRoute()}${path}`, options));
}

async function exchange(url: string, options: RequestInit): Promise<{ response: Response; text: string }> {
  try {
    // The token must not reach another address.
    const response = await fetch(url, { ...options, redirect: "manual" });
    return { response, text: await response.text() };
  } catch (error) {
    return unavailable(`the Mattermost server cannot be reached: ${causeOf(error)}`);
  }
}

/** The error of a refused request, in the server's words. @throws GatewayError always */
function refuse({ status, headers }: Response, data: unknown, redact: (words: string) => string): never {
  const { message, id } = Object(data) as { readonly message?: unknown; readonly id?: unknown }; // checked here
  const words = typeof message === "string" && message !== "" ? redact(message) : `status ${status}`;
  const details = { status, ...(typeof id === "string" ? { id } : {}) };
  if (status === 429) {
    const retryAfterMs = retryAfterOf(headers);
    unavailable(`Mattermost limits the rate of requests: ${words}`, {
      details,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (status >= 500 || status === 408) unavailable(`the Mattermost server failed: ${words}`, { details });
  if (status === 401)
    throw new GatewayError(
      "NOT_LINKED",
      `Mattermost refuses the bot token: ${words}; next: create a new token in the Integrations menu, and run \`svc channels add mattermost\``,
      { details },
    );
  if (status === 404) throw new GatewayError("NOT_FOUND", `Mattermost does not find it: ${words}`, { details });
  if (status >= 300 && status < 400)
    invalidRequest(
      `the Mattermost server redirects to ${headers.get("location") ?? "another address"}; set baseUrl to its address`,
      details,
    );
  const next = status === 403 ? "; next: add the bot to the team and the channel, and allow it to do this there" : "";
  return invalidRequest(`Mattermost refuses it: ${words}${next}`, details);
}

/** `Retry-After`, else `X-RateLimit-Reset`: seconds to wait, or the epoch second. */
function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number.parseFloat(headers.get("retry-after") ?? headers.get("x-ratelimit-reset") ?? "");
  if (!Number.isFinite(seconds) || seconds < 0) return undefined;
  const isDate = seconds > 1_000_000_000;
  return isDate ? Math.max(0, seconds * 1_000 - Date.now()) : seconds * 1_000;
}

/** Like `ask`, but `undefined` for what does not exist or is hidden from the bot, in the words of the server itself. */
export async function find<T>(
  login: Login,
  context: RequestContext,
  request: (client: Client4, raw: RawRequest) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await ask(login, context, request);
  } catch (error) {
    const { status, id } = refusalOf(error);
    if (id !== undefined && (status === 403 || status === 404)) return undefined;
    throw error;
  }
}

/** Status and error id of a refused request. Without `id`, e.g. a proxy refused it. */
export function refusalOf(error: unknown): { readonly status?: number; readonly id?: string } {
  return Object(isGatewayError(error) ? error.details : undefined) as object; // the details are those of `refuse`
}

/** The account that the token belongs to, and the time of the server (epoch ms; of this machine if it does not tell). */
export async function identify(login: Login, context: RequestContext): Promise<{ bot: Bot; serverNow: number }> {
  let date = "";
  const onHeaders = (headers: Headers) => (date = headers.get("date") ?? "");
  const me = await ask(login, { ...context, onHeaders }, (client) => client.getMe());
  const { id, username: name, is_bot: isBot } = Object(me) as Partial<typeof me>; // the answer may be anything
  if (typeof id !== "string" || typeof name !== "string")
    return invalidRequest(`${login.baseUrl} does not answer as a Mattermost server does; check baseUrl`);
  const at = Date.parse(date);
  return { bot: { id, name, isBot: isBot === true }, serverNow: Number.isNaN(at) ? Date.now() : at };
}
