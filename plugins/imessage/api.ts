/** Requests to the REST API of a BlueBubbles server. */
import { causeOf, jsonOf, readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import type { Settings } from "./config.ts";

/** Milliseconds for a request, and for one that waits until Messages has sent something. */
const REQUEST_MS = 10_000;
export const SEND_MS = 55_000;
const MAX_ANSWER_BYTES = 50_000_000;
/** Milliseconds after which a message that is still being sent is sent again. */
const QUEUED_MS = 5_000;
/** The code of Messages for a recipient who has no iMessage. */
const NOT_REGISTERED = 22;

type Login = Pick<Settings, "serverUrl" | "password">;

export interface RequestContext {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly signal: AbortSignal;
}

export interface ApiRequest {
  /** Below `/api/v1/`. */
  readonly path: string;
  /** Default: POST with a body, GET without. */
  readonly method?: "POST" | "DELETE";
  readonly body?: object;
  readonly ms?: number;
  readonly maxBytes?: number;
}

/**
 * @returns `data` of the answer
 * @throws GatewayError as `download`; `UNAVAILABLE` for an answer that is not one of BlueBubbles
 */
export async function ask(login: Login, context: RequestContext, request: ApiRequest): Promise<unknown> {
  const { bytes } = await download(login, context, request);
  const answer = parsed(bytes);
  if (answer) return answer.data;
  return unavailable(`${login.serverUrl} does not answer as a BlueBubbles server does; next: check serverUrl`);
}

/**
 * @throws GatewayError `NOT_LINKED`: the password is refused; `NOT_FOUND`; `INVALID_REQUEST`, also above `maxBytes`;
 *   `UNAVAILABLE`, with `retryAfterMs` if the server names a time
 */
export async function download(
  { serverUrl, password }: Login,
  { clock, signal }: RequestContext,
  { path, body, method, ms = REQUEST_MS, maxBytes = MAX_ANSWER_BYTES }: ApiRequest,
) {
  const late = () => "the BlueBubbles server did not answer in time; next: check that the Mac is awake";
  const tooLarge = () => invalidRequest(`BlueBubbles sends more than ${maxBytes} bytes; next: ask for a smaller file`);
  /** Without the password. */
  const shown = (words: string) =>
    [password, encodeURIComponent(password)].reduce((text, secret) => text.replaceAll(secret, "[password]"), words);
  const { response, bytes } = await withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
    const isForm = body instanceof FormData;
    const url = `${serverUrl}/api/v1/${path}${path.includes("?") ? "&" : "?"}password=${encodeURIComponent(password)}`;
    try {
      const answer = await fetch(url, {
        method: method ?? (body ? "POST" : "GET"),
        signal: ending,
        redirect: "manual", // the password must not reach another address
        ...(body && { body: isForm ? body : JSON.stringify(body) }),
        ...(body && !isForm && { headers: { "content-type": "application/json" } }),
      });
      return { response: answer, bytes: await readBody(answer, maxBytes, tooLarge) };
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const words = shown(causeOf(error));
      return unavailable(`the BlueBubbles server cannot be reached: ${words}; next: check that it runs on the Mac`);
    }
  });
  if (!response.ok) refuse(response, parsed(bytes), shown, clock.now());
  const mimeType = response.headers.get("content-type")?.split(";", 1)[0]?.trim();
  return { bytes, ...(mimeType ? { mimeType } : {}) };
}

function parsed(bytes: Buffer): { data?: unknown; message?: unknown; error?: unknown } | undefined {
  const answer = jsonOf(bytes);
  return typeof answer === "object" && answer !== null ? answer : undefined;
}

/** The error of a refused request, in the server's words. @throws GatewayError always */
function refuse(
  { status, headers }: Response,
  answer: ReturnType<typeof parsed>,
  shown: (words: string) => string,
  now: number,
): never {
  const { message: cause } = Object(answer?.error) as { message?: unknown }; // checked here
  const said = [cause, answer?.message].find((one): one is string => typeof one === "string" && one !== "");
  const words = shown(said ?? `status ${status}`).slice(0, 500);
  if (status === 401 || status === 403)
    throw new GatewayError(
      "NOT_LINKED",
      "the BlueBubbles server refuses the password; next: copy it from its settings, and run `svc channels add imessage`",
    );
  if (status === 404 || /(?:chat|message).*does not exist/i.test(words))
    throw new GatewayError("NOT_FOUND", `BlueBubbles does not find it: ${words}`);
  if (status < 400) invalidRequest("the server redirects to another address; next: set serverUrl to that address");
  if (/already queued/i.test(words)) unavailable("this message is still being sent", { retryAfterMs: QUEUED_MS });
  if (/private api/i.test(words))
    invalidRequest(
      `the server has no private API: ${words}; next: enable it in the settings of BlueBubbles, or set privateApi to false`,
    );
  if ((Object(answer?.data) as { error?: unknown }).error === NOT_REGISTERED)
    // compared
    invalidRequest("the recipient has no iMessage; next: check the address");
  const retryAfterMs = retryAfter(headers, now);
  if (status >= 500 || status === 429 || status === 408)
    unavailable(`the BlueBubbles server failed: ${words}`, retryAfterMs === undefined ? {} : { retryAfterMs });
  return invalidRequest(`BlueBubbles refuses it: ${words}`);
}
