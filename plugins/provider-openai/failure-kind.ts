/** Which kind of failure it was, for whoever decides about the next account. Pure. */
import { isSystemTimeout, kindOfStatus, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

/** Codes of servers that tell an empty account from one that is too fast. */
const BILLING_CODES = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);

/** The kind of whatever was thrown; what has no status never got an answer, or broke off in it. */
export function kindOf(error: ProviderError): ProviderFailure["kind"] {
  const { status, code } = error;
  if (typeof code === "string" && BILLING_CODES.has(code)) return "billing";
  if (typeof status === "number") return kindOfStatus(status);
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  // The client library gives its own timeout no code and no name.
  const isTimeout = isSystemTimeout(error) || /timed out/iu.test(String(error.message));
  return isTimeout ? "timeout" : "network";
}
