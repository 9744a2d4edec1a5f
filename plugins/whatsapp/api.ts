/** Requests to the Graph API. */
import { createHmac } from "node:crypto";
import { causeOf, jsonOf, readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, invalidRequest, isGatewayError, matches, Type, unavailable } from "@svc/sdk";
import type { Login } from "./config.ts";
import { explained, Failure, failureOf } from "./failures.ts";

/** Milliseconds for a request, and for one that carries a file. */
const REQUEST_MS = 15_000;
const UPLOAD_MS = 55_000;
/** Answers of the API are small objects. */
const MAX_ANSWER_BYTES = 1_000_000;

/** What a request needs beside the login. */
export interface RequestContext {
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly signal: AbortSignal;
  /** Milliseconds until the request fails. */
  readonly ms?: number;
}

const Refused = Type.Object({ error: Failure });

/**
 * @param path below the address of the API
 * @returns the answer, which may be anything
 * @throws GatewayError `NOT_LINKED`: the token is refused; `INVALID_REQUEST`; `UNAVAILABLE`, with `retryAfterMs` if the API
 *   names a time. The details of a refusal have its `code`. No error contains the token or the secret.
 */
export async function ask(
  { graphUrl, accessToken, appSecret }: Login,
  { clock, signal, ms }: RequestContext,
  path: string,
  { query, json, form }: { query?: Record<string, string>; json?: object; form?: FormData } = {},
): Promise<unknown> {
  const deadline = ms ?? (form ? UPLOAD_MS : REQUEST_MS);
  const late = () => `WhatsApp did not answer within ${deadline} ms; next: try again later`;
  return withDeadline({ ms: deadline, clock, signals: [signal], late }, async (ending) => {
    const { response, answer } = await exchange(`${graphUrl}/${path}?${String(new URLSearchParams(query))}`, {
      method: json || form ? "POST" : "GET",
      headers: { authorization: `Bearer ${accessToken}`, ...(json ? { "content-type": "application/json" } : {}) },
      body: json ? JSON.stringify(json) : (form ?? null),
      redirect: "manual", // the token must not reach another address
      signal: ending,
    });
    const failure = matches(Refused, answer) ? answer.error : undefined;
    if (response.ok && !failure)
      return answer ?? unavailable("the answer is not that of the Graph API; next: check graphUrl");
    if (response.status >= 300 && response.status < 400)
      return invalidRequest("the answer is a redirect, not that of the Graph API; next: check graphUrl");
    const { reason } = failure ? explained(failure) : { reason: `status ${response.status}` };
    const said = reason.replaceAll(accessToken, "[token]").replaceAll(appSecret, "[secret]");
    throw failureOf(response.status, failure, said, retryAfter(response.headers, clock.now()));
  });
}

async function exchange(url: string, options: RequestInit) {
  try {
    const response = await fetch(url, options);
    const tooLarge = () => unavailable("the answer is too large; next: check graphUrl");
    return { response, answer: jsonOf(await readBody(response, MAX_ANSWER_BYTES, tooLarge)) };
  } catch (error) {
    if (isGatewayError(error)) throw error;
    return unavailable(`WhatsApp cannot be reached: ${causeOf(error)}; next: check the network`);
  }
}

/** Proves to the API that token and secret are of the same app. */
export function proofOf({ accessToken, appSecret }: Login): string {
  return createHmac("sha256", appSecret).update(accessToken).digest("hex");
}

const text = Type.Optional(Type.String());
const NumberAnswer = Type.Object({ display_phone_number: Type.String(), verified_name: text, quality_rating: text });

/** The number of the account. `quality`: GREEN, YELLOW or RED, as people rate its messages. @throws GatewayError as `ask` */
export async function identify(login: Login, context: RequestContext, query: object = {}) {
  const fields = "display_phone_number,verified_name,quality_rating";
  const answer = await ask(login, context, login.phoneNumberId, { query: { fields, ...query } });
  if (!matches(NumberAnswer, answer))
    return invalidRequest(`${login.phoneNumberId} is not the id of a number; next: copy it from API Setup`);
  const { display_phone_number: number, verified_name: name = number, quality_rating: quality = "UNKNOWN" } = answer;
  return { number, name, quality };
}
