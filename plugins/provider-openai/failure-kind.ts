/** Classifies failures, so that the plugin `models` can choose the next account. Pure. */
import { isSystemTimeout, kindOfStatus, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** Error codes of accounts without credit, as opposed to rate limits. */
const BILLING_CODES = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);

/** Error codes inside an answer, which has no status of its own. */
const BY_CODE: Readonly<Record<string, Kind>> = {
  rate_limit_exceeded: "rate_limit",
  invalid_api_key: "auth",
  context_length_exceeded: "request",
  invalid_prompt: "request",
  bio_policy: "request",
  cyber_policy: "request",
  invalid_image: "request",
  invalid_image_format: "request",
  invalid_base64_image: "request",
  image_too_large: "request",
  image_too_small: "request",
  image_parse_error: "request",
  image_content_policy_violation: "request",
  image_file_too_large: "request",
  unsupported_image_media_type: "request",
  empty_image_file: "request",
};

/** The kind of an error. An error without a status means no response, or an incomplete response. */
export function kindOf(error: ProviderError): Kind {
  const { status, code } = error;
  if (typeof code === "string" && BILLING_CODES.has(code)) return "billing";
  if (typeof status === "number") return kindOfStatus(status);
  const byCode = typeof code === "string" && Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (byCode !== undefined) return byCode;
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  // Timeouts of the client library have neither code nor name.
  const isTimeout = isSystemTimeout(error) || /timed out/iu.test(String(error.message));
  return isTimeout ? "timeout" : "network";
}
