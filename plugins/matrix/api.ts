/** Requests to the client-server API. The only file that uses the network. */
import { causeOf, jsonOf, readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";
import type { Settings } from "./config.ts";

const [REQUEST_MS, UPLOAD_MS] = [15_000, 55_000];
const MAX_ANSWER_BYTES = 64_000_000;

export type Json = Readonly<Record<string, unknown>>;

export interface Requester extends Pick<Settings, "homeserverUrl" | "accessToken"> {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly signal: AbortSignal;
}

/** `body`: bytes, or an object that is sent as JSON. `method`: default GET, or PUT with a body. `ms`: for everything. */
interface Options {
  readonly method?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly mimeType?: string;
  readonly ms?: number;
}

/** A path whose values are encoded: ids contain `/`, `#` and `:`. */
export const at = (parts: TemplateStringsArray, ...values: readonly string[]) =>
  String.raw({ raw: parts }, ...values.map(encodeURIComponent));

/**
 * @param path below `/_matrix/`, from `at`
 * @returns the JSON object of the answer
 * @throws GatewayError `NOT_LINKED`: the token is refused; `NOT_FOUND`; `INVALID_REQUEST`; `UNAVAILABLE`, with
 *   `retryAfterMs` if the server names a time. The details of a refusal have its `errcode`.
 */
export async function ask(requester: Requester, path: string, options: Options = {}): Promise<Json> {
  const { homeserverUrl, accessToken, clock, signal } = requester;
  const { query, body, mimeType = "application/json", method = body ? "PUT" : "GET" } = options;
  const isFile = body instanceof Uint8Array;
  const url = `${homeserverUrl}/_matrix/${path}${query ? `?${new URLSearchParams(query).toString()}` : ""}`;
  const authorization = accessToken === "" ? {} : { authorization: `Bearer ${accessToken}` };
  const headers = body ? { ...authorization, "content-type": mimeType } : authorization;
  const init = { method, headers, ...(body ? { body: isFile ? body : JSON.stringify(body) } : {}) };
  const late = () => "the Matrix homeserver did not answer in time";
  const ms = options.ms ?? (isFile ? UPLOAD_MS : REQUEST_MS);
  return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
    // The token must not reach another address.
    const { response, answer } = await exchange(url, { ...init, redirect: "manual", signal: ending });
    const redact = (words: string) => (accessToken === "" ? words : words.replaceAll(accessToken, "[token]"));
    if (!response.ok) return refuse(response, answer ?? {}, redact, clock.now());
    return answer ?? unavailable(`${homeserverUrl} does not answer as a Matrix homeserver does; check homeserverUrl`);
  });
}

async function exchange(url: string, init: RequestInit): Promise<{ response: Response; answer: Json | undefined }> {
  try {
    const response = await fetch(url, init);
    const body = await readBody(response, MAX_ANSWER_BYTES, () => unavailable("its answer is too large"));
    return { response, answer: objectIn(body) };
  } catch (error) {
    return unavailable(`the Matrix homeserver cannot be reached: ${causeOf(error)}`);
  }
}

function objectIn(body: Buffer): Json | undefined {
  const value = jsonOf(body);
  return typeof value === "object" && value !== null ? (value as Json) : undefined; // any object has string keys
}

/** The error of a refused request, in the server's words. @throws GatewayError always */
function refuse({ status, headers }: Response, answer: Json, redact: (words: string) => string, now: number): never {
  const { errcode, error, retry_after_ms: waitMs } = answer;
  const words = typeof error === "string" && error !== "" ? redact(error) : `status ${status}`;
  const details = { errcode: redact(String(errcode)) };
  if (["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"].includes(details.errcode)) {
    const text = `Matrix refuses the access token: ${words}; next: log in again with \`svc channels login matrix\``;
    throw new GatewayError("NOT_LINKED", text, { details });
  }
  if (status === 429 || status >= 500 || status === 408) {
    const retryAfterMs = typeof waitMs === "number" && waitMs >= 0 ? waitMs : retryAfter(headers, now);
    const what = status === 429 ? "Matrix limits the rate of requests" : "the Matrix homeserver failed";
    unavailable(`${what}: ${words}`, { details, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }
  if (status === 404) throw new GatewayError("NOT_FOUND", `Matrix does not find it: ${words}`, { details });
  if (status < 400) invalidRequest("the Matrix homeserver redirects; next: set homeserverUrl to its new address");
  const next = status === 403 ? "; next: invite the bot to the room, and give it the permission there" : "";
  return invalidRequest(`Matrix refuses it: ${words}${next}`, details);
}

/** `errcode` of a refused request. */
export const errcodeOf = (error: unknown): unknown => Object(isGatewayError(error) ? error.details : undefined).errcode;

/** Like `ask`, but `undefined` for what does not exist or is hidden from the bot. */
export const find = (requester: Requester, path: string): Promise<Json | undefined> =>
  ask(requester, path).catch((error: unknown) => {
    if (isGatewayError(error) && (error.code === "NOT_FOUND" || errcodeOf(error) === "M_FORBIDDEN")) return undefined;
    throw error;
  });

/** A text that an answer must have. */
export async function askFor(key: string, ...[requester, path, options]: Parameters<typeof ask>): Promise<string> {
  const { [key]: value } = await ask(requester, path, options);
  if (typeof value === "string" && value !== "") return value;
  return invalidRequest(`${requester.homeserverUrl} does not answer as a Matrix homeserver does; check homeserverUrl`);
}

/** User id of the account that the token belongs to. */
export const whoami = (requester: Requester) => askFor("user_id", requester, "client/v3/account/whoami");

/** The homeserver of a server name, from the file that its domain publishes; without the file: the domain itself. */
export async function discover(name: string, { clock, signal }: Pick<Requester, "clock" | "signal">): Promise<string> {
  const late = () => `${name} did not answer in time; next: enter the address of the homeserver, with https://`;
  const { answer } = await withDeadline({ ms: REQUEST_MS, clock, signals: [signal], late }, (ending) =>
    exchange(`https://${name}/.well-known/matrix/client`, { signal: ending }),
  );
  return String(Object(answer?.["m.homeserver"]).base_url ?? `https://${name}`);
}
