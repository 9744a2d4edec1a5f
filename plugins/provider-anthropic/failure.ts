/** What the API says about failures: their kind, and the words of the server. Pure. */
import { type FailureFacts, kindIn, kindOfError, type ProviderError } from "@svc/kit/providers";
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

export function factsOf(error: Thrown): FailureFacts {
  return { kind: kindOf(error), words: wordsOf(error), isTooLong: isTooLong(error) };
}

export function kindOf(error: Thrown): Kind {
  const { type, errorCode } = error;
  const byCode = kindIn(BY_CODE, errorCode);
  if (byCode) return byCode;
  if (type === "invalid_request_error" && saysNoCredit(error)) return "billing";
  if (error.name === "APIConnectionTimeoutError") return "timeout";
  return kindIn(BY_TYPE, type) ?? kindOfError(error);
}

/** An account without credit gets the same error type as an invalid request; only the text differs. */
function saysNoCredit({ message }: Thrown): boolean {
  return /credit balance/iu.test(String(message));
}

/** The texts by which the API reports a request that is too long; it has no error code for that. */
function isTooLong(error: Thrown): boolean {
  return /prompt is too long|exceeds? (?:the )?context|context window/iu.test(String(error.message));
}

interface ErrorBody {
  readonly error?: { readonly message?: unknown };
}

/** The server's message, if the body has the documented format. */
function wordsOf(error: Thrown): string | undefined {
  const own = (error.error as ErrorBody | undefined)?.error?.message;
  return typeof own === "string" ? own : undefined;
}
