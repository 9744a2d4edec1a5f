/** Errors of the daemon, as errors of the gateway. Pure. No message has a phone number, an id, or the link of a new device. */
import { GatewayError, isGatewayError, type Static, Type } from "@svc/sdk";

/** Milliseconds to wait if Signal limits the rate and names no time. */
const RATE_LIMIT_MS = 60_000;

export const RpcError = Type.Object({
  code: Type.Number(),
  message: Type.String(),
  data: Type.Optional(Type.Unknown()),
});

type Cause = readonly [code: "NOT_LINKED" | "UNAVAILABLE" | "INVALID_REQUEST", next?: string];

const UNLINKED: Cause = ["NOT_LINKED", "link the account again with `svc channels login signal`"];
const UNTRUSTED: Cause = [
  "INVALID_REQUEST",
  "the safety number of the person has changed; check it with them, and accept it with `signal-cli trust`",
];
const UNKNOWN: Cause = ["INVALID_REQUEST", "check the address; its owner is not registered with Signal"];
const LIMITED: Cause = ["UNAVAILABLE", "wait, or lift the limit with `signal-cli submitRateLimitChallenge`"];
const INVALID: Cause = ["INVALID_REQUEST", "check the address and the message"];
const AWAY: Cause = ["UNAVAILABLE"];

/** By the outcome for one recipient; the first that occurs counts. */
const BY_OUTCOME: readonly (readonly [type: string, cause: Cause])[] = [
  ["RATE_LIMIT_FAILURE", LIMITED],
  ["NETWORK_FAILURE", AWAY],
  ["INVALID_PRE_KEY_FAILURE", AWAY],
  ["IDENTITY_FAILURE", UNTRUSTED],
  ["UNREGISTERED_FAILURE", UNKNOWN],
];
/** The daemon has no code for these. */
const BY_WORDS: readonly (readonly [words: RegExp, cause: Cause])[] = [
  [/Authorization ?Failed/i, UNLINKED],
  [/AttachmentInvalid|too large/i, ["INVALID_REQUEST", "send a smaller file, or another one"]],
];
const BY_CODE: Readonly<Record<number, Cause>> = {
  [-1]: INVALID,
  [-4]: UNTRUSTED,
  [-5]: LIMITED,
  [-32600]: INVALID,
  [-32601]: ["INVALID_REQUEST", "update signal-cli"],
  [-32602]: UNLINKED, // the daemon does not have the account that each request names
};

/** @param method for the message, e.g. `send` */
export function refusalOf({ code, message, data }: Static<typeof RpcError>, method: string): GatewayError {
  const { results } = Object(Object(data).response) as { readonly results?: unknown }; // checked here
  const outcomes = Array.isArray(results) ? results.map((one) => Object(one) as Record<string, unknown>) : []; // as above
  const [, byOutcome] = BY_OUTCOME.find(([type]) => outcomes.some((outcome) => outcome["type"] === type)) ?? [];
  const [, byWords] = BY_WORDS.find(([words]) => words.test(message)) ?? [];
  const cause = byOutcome ?? byWords ?? BY_CODE[code] ?? AWAY;
  const waits = outcomes.map((outcome) => Number(outcome["retryAfterSeconds"]) * 1_000).filter((ms) => ms > 0);
  const limit = cause === LIMITED ? { retryAfterMs: waits.length > 0 ? Math.max(...waits) : RATE_LIMIT_MS } : {};
  const next = cause[1] === undefined ? "" : `; next: ${cause[1]}`;
  const said = `signal-cli refuses ${method}: ${redacted(message)}${next}`;
  return new GatewayError(cause[0], said, { ...limit, details: { code } });
}

/** Code of the daemon for an error that `refusalOf` made; `undefined` for any other error. */
export function rpcCodeOf(error: unknown): unknown {
  return Object(isGatewayError(error) ? error.details : undefined).code as unknown;
}

/** Without phone numbers, ids of people and groups, and links that add a device. */
export function redacted(text: string): string {
  return text
    .replace(/\b(?:sgnl|tsdevice):\S+/gi, "[link]")
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "[id]")
    .replace(/[A-Za-z0-9+/_-]{22,}={1,2}/g, "[id]")
    .replace(/\+?\d{5,}/g, "[number]")
    .trim();
}
