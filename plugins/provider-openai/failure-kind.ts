/** Classifies failures, so that the plugin `models` can choose the next account. Pure. */
import { isSystemTimeout, kindOfStatus, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

/** Error codes of accounts without credit, as opposed to rate limits. */
const BILLING_CODES = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);

/** The kind of an error. An error without a status means no response, or an incomplete response. */
export function kindOf(error: ProviderError): ProviderFailure["kind"] {
  const { status, code } = error;
  if (typeof code === "string" && BILLING_CODES.has(code)) return "billing";
  if (typeof status === "number") return kindOfStatus(status);
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  // Timeouts of the client library have neither code nor name.
  const isTimeout = isSystemTimeout(error) || /timed out/iu.test(String(error.message));
  return isTimeout ? "timeout" : "network";
}
