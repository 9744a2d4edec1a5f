/** Which kind of failure it was, for whoever decides about the next account. Pure. */
import { isSystemTimeout, type ProviderFailure } from "@svc/sdk/services";

type Kind = ProviderFailure["kind"];

/** What the client library and `fetch` throw, by shape: the library is loaded on first use only. */
export interface Thrown {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly headers?: unknown;
  readonly error?: unknown;
  /** `error.code` of the server's answer, or a code of the system. */
  readonly code?: unknown;
  readonly cause?: unknown;
}

const BY_STATUS: Readonly<Record<number, Kind>> = {
  401: "auth",
  402: "billing",
  403: "auth",
  408: "timeout",
  409: "server_error",
  429: "rate_limit",
  504: "timeout",
};

/** Codes of servers that tell an empty account from one that is too fast. */
const BILLING_CODES = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);

/** The kind of whatever was thrown; what has no status never got an answer, or broke off in it. */
export function kindOf(error: Thrown): Kind {
  const { status, code } = error;
  if (typeof code === "string" && BILLING_CODES.has(code)) return "billing";
  if (typeof status === "number") return BY_STATUS[status] ?? (status >= 500 ? "server_error" : "request");
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  const isTimeout = isSystemTimeout(error) || /timed out/iu.test(String(error.message));
  return isTimeout ? "timeout" : "network";
}
