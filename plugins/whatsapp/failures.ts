/** Error codes of the Graph API, as errors of the gateway. Pure. */
import { GatewayError, type Static, Type } from "@svc/sdk";

const text = Type.Optional(Type.String());

/** An error in an answer or a delivery. */
export const Failure = Type.Object({
  code: Type.Number(),
  title: text,
  message: text,
  is_transient: Type.Optional(Type.Boolean()),
  error_data: Type.Optional(Type.Object({ details: text })),
});
export type Failure = Static<typeof Failure>;

const PERMISSION = "give the system user this number and the permission whatsapp_business_messaging";

/** Milliseconds after which a retry may succeed; 0: the usual back-off. */
const RETRY_MS: ReadonlyMap<number, number> = new Map([
  [1, 0], // unknown error
  [2, 0], // the API is down
  [4, 60_000], // limit of the app
  [80007, 60_000], // limit of the business account
  [130429, 5_000], // limit of the number
  [131000, 0], // unknown error
  [131016, 0], // the service is overloaded
  [131048, 60_000], // limit of a number that people report as spam
  [131056, 6_000], // limit of the number for one person
  [131057, 60_000], // maintenance of the business account
]);

/** What helps against the other refusals. */
const NEXT: ReadonlyMap<number, string> = new Map([
  [10, PERMISSION],
  [100, "check phoneNumberId, and that the token may use this number"],
  [200, PERMISSION],
  [130472, "wait until the person writes: an experiment of WhatsApp keeps such messages from this person"],
  [131026, "check the number: it does not use WhatsApp, or uses an old version, or has not accepted its terms"],
  [131030, "add the recipient to the test numbers in API Setup: the app is in development"],
  [131031, "see WhatsApp Manager: the business account is locked"],
  [131047, "wait until the person writes: after 24 hours WhatsApp accepts only templates, and this channel sends none"],
  [131049, "wait until the person writes: WhatsApp limits what this person gets from businesses"],
  [131051, "send a text, or a file of a type that WhatsApp supports"],
  [133010, "register the number for the Cloud API in API Setup"],
]);

/** What WhatsApp says, and what helps. */
export function explained({ code, title = "no reason given", message = title, error_data: data }: Failure) {
  return { reason: `${data?.details ?? message} (code ${code})`, next: NEXT.get(code) };
}

/** @param said what the API says, without secrets @param retryAfterMs as the API says */
export function failureOf(status: number, failure: Failure | undefined, said: string, retryAfterMs?: number) {
  const { code = 0, is_transient: isTransient = false } = failure ?? {};
  const next = NEXT.get(code);
  const details = { code };
  if (code === 102 || code === 190 || (status === 401 && code === 0)) {
    const then = "create another access token for the system user, and run `svc channels add whatsapp`";
    return new GatewayError("NOT_LINKED", `WhatsApp refuses the access token: ${said}; next: ${then}`, { details });
  }
  const pauseMs = RETRY_MS.get(code);
  if (pauseMs !== undefined || status === 429 || status === 408 || status >= 500 || isTransient) {
    const retryMs = retryAfterMs ?? (pauseMs || undefined);
    const options = { details, ...(retryMs === undefined ? {} : { retryAfterMs: retryMs }) };
    return new GatewayError("UNAVAILABLE", `WhatsApp is not available: ${said}; next: try again later`, options);
  }
  const then = next === undefined ? "" : `; next: ${next}`;
  return new GatewayError("INVALID_REQUEST", `WhatsApp refuses it: ${said}${then}`, { details });
}
