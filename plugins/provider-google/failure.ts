/** What the API says about failures: their kind, the words of the server, and its wait. Pure. */
import { type FailureFacts, kindIn, kindOfError, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** An error as the API reports it. Spec: google.rpc.Status and its details. */
interface ApiError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly details?: unknown;
}

/** Of `ErrorInfo` and `RetryInfo`: the wait, e.g. `34.07s`, is for servers that send no `Retry-After`. */
interface Detail {
  readonly reason?: unknown;
  readonly retryDelay?: unknown;
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

export function factsOf(error: ProviderError): FailureFacts {
  const { details, status, message } = apiError(error.error);
  const found = Array.isArray(details) ? details.map((one) => Object(one) as Detail) : [];
  const [byReason] = found.flatMap(({ reason }) => kindIn(BY_REASON, reason) ?? []);
  const [delay] = found.flatMap(({ retryDelay }) => /^(\d+(?:\.\d+)?)s$/u.exec(String(retryDelay))?.[1] ?? []);
  const words = [message, error.message].find((text) => typeof text === "string");
  return {
    kind: byReason ?? kindIn(BY_STATUS, status) ?? kindOfError(error),
    words,
    retryAfterMs: delay === undefined ? undefined : Number(delay) * 1_000,
  };
}

/** The error of a body: `{ error }`, a list with one, or the error itself. */
function apiError(body: unknown): ApiError {
  const [first] = [body].flat();
  const { error } = Object(first) as { readonly error?: ApiError };
  return Object(error ?? first) as ApiError; // from the wire; each field is checked where it is used
}
