/** Failures of Google's servers: their kind, and messages with the cause and the next step, never a secret. */
import {
  failureSentence,
  isSystemTimeout,
  kindOfStatus,
  type ProviderError,
  providerErrorOf,
  providerFailure,
  type ProviderFailureContext,
} from "@svc/kit/providers";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** An error as the API reports it. Spec: google.rpc.Status and its details. */
interface ApiError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly details?: readonly { readonly reason?: unknown; readonly retryDelay?: unknown }[];
}

/** `ErrorInfo.reason`: more specific than the status, which is `INVALID_ARGUMENT` for a wrong key. */
const BY_REASON: Readonly<Record<string, Kind>> = {
  API_KEY_INVALID: "auth",
  API_KEY_EXPIRED: "auth",
  API_KEY_SERVICE_BLOCKED: "auth",
  API_KEY_HTTP_REFERRER_BLOCKED: "auth",
  API_KEY_IP_ADDRESS_BLOCKED: "auth",
  SERVICE_DISABLED: "auth",
  CREDENTIALS_MISSING: "auth",
  BILLING_DISABLED: "billing",
};

/** Canonical codes, for errors inside an answer. `FAILED_PRECONDITION` means that the account needs billing. */
const BY_STATUS: Readonly<Record<string, Kind>> = {
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  FAILED_PRECONDITION: "billing",
  RESOURCE_EXHAUSTED: "rate_limit",
  INVALID_ARGUMENT: "request",
  NOT_FOUND: "request",
  DEADLINE_EXCEEDED: "timeout",
  INTERNAL: "server_error",
  UNAVAILABLE: "server_error",
};

/** Converts any error to `UNAVAILABLE`. */
export function toFailure(thrown: unknown, context: ProviderFailureContext): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error = providerErrorOf(thrown);
  const { account, now } = context;
  const kind = kindOf(error);
  const sentence = failureSentence(error, { kind, words: wordsOf(error) }, context);
  return providerFailure({ ...error, ...waiting(error) }, { kind, sentence, account, now });
}

/** The kind of an error; an error without a status got no response. */
export function kindOf(error: ProviderError): Kind {
  const { status, error: body } = error;
  const { details, status: code } = apiError(body);
  const reasons = Array.isArray(details) ? details.map(({ reason }) => reason) : [];
  const reason = reasons.find((one): one is string => typeof one === "string" && Object.hasOwn(BY_REASON, one));
  if (reason !== undefined) return BY_REASON[reason] ?? "auth";
  if (typeof code === "string" && Object.hasOwn(BY_STATUS, code)) return BY_STATUS[code] ?? "request";
  if (typeof status === "number") return kindOfStatus(status);
  if (body !== undefined || error.name === "SyntaxError") return "server_error";
  return isSystemTimeout(error) ? "timeout" : "network";
}

/** The error of a body: `{ error }`, a list with one, or the error itself. */
function apiError(body: unknown): ApiError {
  const [first] = [body].flat();
  const { error } = Object(first) as { readonly error?: ApiError };
  return Object(error ?? first) as ApiError; // from the wire; each field is checked where it is used
}

function wordsOf({ error, message }: ProviderError): string | undefined {
  const { message: own } = apiError(error);
  return typeof own === "string" ? own : typeof message === "string" ? message : undefined;
}

/** The wait of `RetryInfo`, e.g. `34.07s`, for servers that send no `Retry-After`. */
function waiting({ headers, error }: ProviderError): { headers?: Headers } {
  if (headers instanceof Headers && headers.has("retry-after")) return {};
  const { details } = apiError(error);
  const delays = Array.isArray(details) ? details.map(({ retryDelay }) => retryDelay) : [];
  const delay = delays.find((one): one is string => typeof one === "string" && /^[\d.]+s$/u.test(one));
  return delay === undefined ? {} : { headers: new Headers({ "retry-after": delay.slice(0, -1) }) };
}
