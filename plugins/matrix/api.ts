/** Requests to the client-server API. The only file that uses the network. */
import { readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, invalidRequest, isGatewayError, messageOf, unavailable } from "@svc/sdk";
import type { Settings } from "./config.ts";

/** Milliseconds for a request, and for one that carries a file. */
const REQUEST_MS = 15_000;
const UPLOAD_MS = 55_000;
const MAX_ANSWER_BYTES = 64_000_000;

export type Login = Pick<Settings, "homeserverUrl" | "accessToken">;

export interface RequestContext {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
}

export interface ApiRequest {
  /** Default GET, or PUT with a body. */
  readonly method?: string;
  /** Below `/_matrix/`, from `at`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  readonly file?: { readonly bytes: Uint8Array; readonly mimeType: string };
  /** Milliseconds for the whole request. Default 15,000; with a file 55,000. */
  readonly ms?: number;
}

/** A path whose values are encoded: ids contain `/`, `#` and `:`. */
export function at(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/**
 * Runs one request.
 * @returns the JSON object of the answer
 * @throws GatewayError `NOT_LINKED`: the token is refused; `NOT_FOUND`; `INVALID_REQUEST`; `UNAVAILABLE`, with
 *   `retryAfterMs` if the server names a time. The details of a refusal have its `errcode`.
 */
export async function ask(
  { homeserverUrl, accessToken }: Login,
  { clock, signal }: RequestContext,
  { path, query, body, file, method = body ? "PUT" : "GET", ms = file ? UPLOAD_MS : REQUEST_MS }: ApiRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const url = `${homeserverUrl}/_matrix/${path}${query ? `?${new URLSearchParams(query)}` : ""}`;
  const type = file?.mimeType ?? (body ? "application/json" : undefined);
  const options: RequestInit = {
    method,
    headers: {
      ...(accessToken === "" ? {} : { authorization: `Bearer ${accessToken}` }),
      ...(type === undefined ? {} : { "content-type": type }),
    },
    body: file?.bytes ?? (body ? JSON.stringify(body) : null),
    redirect: "manual", // the token must not reach another address
  };
  const late = () => "the Matrix homeserver did not answer in time";
  return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
    const { response, text } = await exchange(url, { ...options, signal: ending });
    const answer = parsed(text);
    const redact = (words: string) => (accessToken === "" ? words : words.replaceAll(accessToken, "[token]"));
    if (!response.ok) return refuse(response, answer ?? {}, redact);
    return answer ?? unavailable(`${homeserverUrl} does not answer as a Matrix homeserver does; check homeserverUrl`);
  });
}

async function exchange(url: string, options: RequestInit): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(url, options);
    const body = await readBody(response, MAX_ANSWER_BYTES, () => unavailable("its answer is too large"));
    return { response, text: body.toString("utf8") };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const { code } = Object(cause) as { readonly code?: unknown }; // shown as text
    return unavailable(`the Matrix homeserver cannot be reached: ${messageOf(cause) || String(code)}`);
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined; // any object has string keys
  } catch {
    return undefined;
  }
}

const TOKEN_CODES: ReadonlySet<unknown> = new Set(["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"]);

/** The error of a refused request, in the server's words. @throws GatewayError always */
function refuse(
  { status, headers }: Response,
  { errcode, error, retry_after_ms: waitMs }: Readonly<Record<string, unknown>>,
  redact: (words: string) => string,
): never {
  const words = typeof error === "string" && error !== "" ? redact(error) : `status ${status}`;
  const details = { status, ...(typeof errcode === "string" ? { errcode: redact(errcode) } : {}) };
  if (TOKEN_CODES.has(errcode))
    throw new GatewayError(
      "NOT_LINKED",
      `Matrix refuses the access token: ${words}; next: log in again with \`svc channels login matrix\``,
      { details },
    );
  if (status === 429 || errcode === "M_LIMIT_EXCEEDED" || status >= 500 || status === 408) {
    const retryAfterMs = typeof waitMs === "number" && waitMs >= 0 ? waitMs : retryAfter(headers, Date.now());
    const what =
      status >= 500 || status === 408 ? "the Matrix homeserver failed" : "Matrix limits the rate of requests";
    unavailable(`${what}: ${words}`, { details, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }
  if (status === 404) throw new GatewayError("NOT_FOUND", `Matrix does not find it: ${words}`, { details });
  if (status >= 300 && status < 400)
    invalidRequest(
      "the Matrix homeserver redirects to another address; next: set homeserverUrl to that address",
      details,
    );
  const next = status === 403 ? "; next: invite the bot to the room, and give it the permission there" : "";
  return invalidRequest(`Matrix refuses it: ${words}${next}`, details);
}

/** `errcode` of a refused request. */
export function errcodeOf(error: unknown): unknown {
  return Object(isGatewayError(error) ? error.details : undefined).errcode;
}

/** Like `ask`, but `undefined` for what does not exist or is hidden from the bot. */
export async function find(login: Login, context: RequestContext, request: ApiRequest) {
  try {
    return await ask(login, context, request);
  } catch (error) {
    if (isGatewayError(error) && (error.code === "NOT_FOUND" || errcodeOf(error) === "M_FORBIDDEN")) return undefined;
    throw error;
  }
}

/** User id of the account that the token belongs to. */
export async function whoami(login: Login, context: RequestContext): Promise<string> {
  const { user_id: userId } = await ask(login, context, { path: "client/v3/account/whoami" });
  if (typeof userId === "string" && userId.startsWith("@")) return userId;
  return invalidRequest(`${login.homeserverUrl} does not answer as a Matrix homeserver does; check homeserverUrl`);
}

/** Sends an event. @param transaction the server recognizes a repetition by it @returns the id of the event */
export async function sendEvent(
  login: Login,
  context: RequestContext,
  event: { readonly roomId: string; readonly type: string; readonly transaction: string; readonly content: object },
): Promise<string> {
  const { roomId, type, transaction, content } = event;
  const path = at`client/v3/rooms/${roomId}/send/${type}/${transaction}`;
  const { event_id: id } = await ask(login, context, { path, body: content });
  return typeof id === "string" ? id : unavailable("the Matrix homeserver did not name the sent event");
}

/** The homeserver of a server name, from the file that its domain publishes; without the file: the domain itself. */
export async function discover(name: string, { clock, signal }: RequestContext): Promise<string> {
  const late = () => `${name} did not answer in time; next: enter the address of the homeserver, with https://`;
  return withDeadline({ ms: REQUEST_MS, clock, signals: [signal], late }, async (ending) => {
    const { response, text } = await exchange(`https://${name}/.well-known/matrix/client`, { signal: ending });
    const { base_url: address } = Object(Object(parsed(text))["m.homeserver"]);
    return response.ok && typeof address === "string" ? address : `https://${name}`;
  });
}
