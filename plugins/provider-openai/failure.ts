/** What both APIs say about failures. Pure. */
import { type FailureFacts, kindIn, kindOfError, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** Error codes of accounts without credit, whose status is that of a rate limit. */
const BILLING: Readonly<Record<string, Kind>> = {
  insufficient_quota: "billing",
  billing_hard_limit_reached: "billing",
  billing_not_active: "billing",
};

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

export function factsOf(error: ProviderError): FailureFacts {
  return { kind: kindOf(error), isTooLong: error.code === "context_length_exceeded" };
}

function kindOf(error: ProviderError): Kind {
  const { status, code } = error;
  const byCode = kindIn(BILLING, code) ?? (typeof status === "number" ? undefined : kindIn(BY_CODE, code));
  const kind = byCode ?? kindOfError(error);
  // Timeouts of the client library have neither code nor name.
  return kind === "network" && /timed out/iu.test(String(error.message)) ? "timeout" : kind;
}
