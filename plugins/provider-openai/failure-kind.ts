/** Which kind of failure it was, for whoever decides about the next account. Pure. */
import type { ProviderFailure } from "@svc/sdk/services";

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

const TIMEOUT_CODES = new Set([
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** The kind of whatever was thrown; what has no status never got an answer, or broke off in it. */
export function kindOf(error: Thrown): Kind {
  const { status, code } = error;
  if (typeof code === "string" && BILLING_CODES.has(code)) return "billing";
  if (typeof status === "number") return BY_STATUS[status] ?? (status >= 500 ? "server_error" : "request");
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  const isTimeout = TIMEOUT_CODES.has(codeOf(error) ?? "") || /timed out/iu.test(String(error.message));
  return isTimeout ? "timeout" : "network";
}

/** The system's code of the error, e.g. `ECONNREFUSED`: `fetch` hides it as the cause of a cause. */
export function codeOf(error: Thrown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { code, cause }: Thrown = current;
    if (typeof code === "string") return code;
    current = cause;
  }
  return undefined;
}
