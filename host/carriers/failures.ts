/** Converts errors to data and back, so that code that catches them in another thread or process finds the same type and fields. */
import { ERRORS, type ErrorCode, GatewayError, isGatewayError } from "@svc/sdk/errors";

/** An error as data. */
export interface Failure {
  readonly kind: "gateway" | "outcome" | "other";
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** The fields of its kind, e.g. `code` and `details`. */
  readonly fields: Readonly<Record<string, unknown>>;
}

const OUTCOME_FIELDS = ["outcome", "retryMs", "path"];
const REFUSAL_FIELDS = ["code", "retryAfterMs", "details", "payload"];

/** @param thrown any value */
export function failureOf(thrown: unknown): Failure {
  if (!(thrown instanceof Error)) return { kind: "other", name: "Error", message: String(thrown), fields: {} };
  const { name, message, stack } = thrown;
  const kind = isGatewayError(thrown) ? "gateway" : name === "SetupOutcome" ? "outcome" : "other";
  const wanted = kind === "gateway" ? REFUSAL_FIELDS : kind === "outcome" ? OUTCOME_FIELDS : ["code"];
  const own = thrown as unknown as Readonly<Record<string, unknown>>; // read by name below
  const fields = Object.fromEntries(wanted.flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]]])));
  return { kind, name, message, fields, ...(stack === undefined ? {} : { stack }) };
}

export function errorOf({ kind, name, message, stack, fields }: Failure): Error {
  const error = kind === "gateway" ? refusal(message, fields) : Object.assign(new Error(message), { name }, fields);
  if (stack !== undefined) error.stack = stack;
  return error;
}

function refusal(message: string, { code, retryAfterMs, details, payload }: Failure["fields"]): GatewayError {
  const known = typeof code === "string" && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "INTERNAL"; // a key of the table
  return new GatewayError(known, message, {
    ...(typeof retryAfterMs === "number" ? { retryAfterMs } : {}),
    ...(details === undefined ? {} : { details }),
    ...(payload === undefined ? {} : { payload }),
  });
}
