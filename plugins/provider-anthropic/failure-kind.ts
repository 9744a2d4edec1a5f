/** Classifies failures, so that the plugin `models` can choose the next account. Pure. */
import { isSystemTimeout, kindOfStatus, type ProviderError } from "@svc/kit/providers";
import type { ProviderFailure } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** Errors of the client library and `fetch`. */
export interface Thrown extends ProviderError {
  /** `error.type` of the body. */
  readonly type?: unknown;
  /** More specific than the type; only in some bodies. */
  readonly errorCode?: unknown;
}

/** Checked first, since the code distinguishes spending limits from rate limits. */
const BY_CODE: Readonly<Record<string, Kind>> = {
  contract_spend_limit_reached: "billing",
  enforced_spend_limit_reached: "billing",
  organization_on_hold: "auth",
  claude_code_key_creator_not_member: "auth",
};

const BY_TYPE: Readonly<Record<string, Kind>> = {
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "billing",
  rate_limit_error: "rate_limit",
  overloaded_error: "server_error",
  api_error: "server_error",
  timeout_error: "timeout",
  invalid_request_error: "request",
  request_too_large: "request",
  not_found_error: "request",
};

/** The kind of an error; an error without a status got no response. */
export function kindOf(error: Thrown): Kind {
  const { status, type, errorCode } = error;
  const byCode = typeof errorCode === "string" ? BY_CODE[errorCode] : undefined;
  if (byCode) return byCode;
  if (type === "invalid_request_error" && saysNoCredit(error)) return "billing";
  const byType = typeof type === "string" ? BY_TYPE[type] : undefined;
  if (byType) return byType;
  if (typeof status === "number") return kindOfStatus(status);
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  const isTimeout = isSystemTimeout(error) || error.name === "APIConnectionTimeoutError";
  return isTimeout ? "timeout" : "network";
}

/** An account without credit gets the same error type as an invalid request; only the text differs. */
function saysNoCredit({ message }: Thrown): boolean {
  return /credit balance/iu.test(String(message));
}
