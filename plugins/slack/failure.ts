/** Errors of Slack's client, converted to those of the gateway. Pure. */
import { GatewayError, isGatewayError } from "@svc/sdk";
import type { ErrorCode, WebAPICallError } from "@slack/web-api";

/** Slack accepts the token no longer, or never did. */
const DEAD_TOKEN = [
  "invalid_auth",
  "not_authed",
  "token_revoked",
  "token_expired",
  "account_inactive",
  "user_removed_from_team",
  "team_disabled",
  "not_allowed_token_type",
];
const GONE = ["message_not_found", "cant_update_message", "edit_window_closed", "file_not_found", "file_deleted"];
const TEMPORARY = ["internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"];
/** What to do about a refusal, by its code. */
const NEXT: Readonly<Record<string, string>> = {
  not_in_channel: "invite the bot to the channel: /invite @<bot>",
  channel_not_found: "check the id, and invite the bot if the channel is private",
  is_archived: "the channel is archived; choose another one",
  user_not_found: "check the id of the person",
  cannot_dm_bot: "bots cannot write to each other",
  msg_too_long: "send a shorter text",
  restricted_action: "an admin of the workspace limits who may post there",
  link_disabled: "turn on Socket Mode in the settings of the Slack app",
};

/**
 * @param doing what failed, e.g. `post a message`
 * @returns `UNAVAILABLE` if a retry may succeed, `NOT_LINKED` for a token that Slack refuses, `NOT_FOUND` for something that
 *   is gone, otherwise `INVALID_REQUEST`
 */
export function failureOf(error: unknown, doing: string): GatewayError {
  if (isGatewayError(error)) return error;
  const failed = `Slack could not ${doing}`;
  if (!isCallError(error)) return new GatewayError("UNAVAILABLE", `${failed}: its answer was not understood`);
  switch (error.code) {
    case "slack_webapi_rate_limited_error" as ErrorCode.RateLimitedError:
      return limited(failed, (error as { readonly retryAfter: number }).retryAfter); // the code names the class
    case "slack_webapi_platform_error" as ErrorCode.PlatformError:
      return refusal(failed, (error as { readonly data: Answer }).data); // the code names the class
    case "slack_webapi_http_error" as ErrorCode.HTTPError: {
      const { statusCode } = error as { readonly statusCode: number }; // the code names the class
      const code = statusCode >= 400 && statusCode < 500 && statusCode !== 408 ? "INVALID_REQUEST" : "UNAVAILABLE";
      return new GatewayError(code, `${failed}: HTTP ${statusCode}`);
    }
    default:
      return new GatewayError("UNAVAILABLE", `${failed}: ${causeOf(error)}`);
  }
}

/** The code of a refusal by Slack, e.g. `already_reacted`. */
export function refusalCode(error: unknown): string | undefined {
  const code = (error as { readonly data?: { readonly error?: unknown } } | null)?.data?.error; // an unknown error is read safely
  return typeof code === "string" ? code : undefined;
}

interface Answer {
  readonly error: string;
  readonly needed?: unknown;
  readonly response_metadata?: { readonly retryAfter?: number; readonly messages?: readonly string[] };
}

function refusal(failed: string, answer: Answer): GatewayError {
  const { error, needed, response_metadata: more } = answer;
  // An answer that is no JSON, e.g. the page of a proxy, is passed on as the code.
  if (!/^[a-z0-9_.-]{1,80}$/i.test(error)) return new GatewayError("UNAVAILABLE", `${failed}: it sent no JSON`);
  if (DEAD_TOKEN.includes(error))
    return new GatewayError("NOT_LINKED", `${failed}: ${error}; enter a valid token: svc channels login slack`);
  if (error === "ratelimited" || error === "rate_limited") return limited(failed, more?.retryAfter);
  if (TEMPORARY.includes(error)) return new GatewayError("UNAVAILABLE", `${failed}: ${error}`);
  if (GONE.includes(error)) return new GatewayError("NOT_FOUND", `${failed}: ${error}`);
  if (error === "missing_scope")
    return new GatewayError(
      "INVALID_REQUEST",
      `${failed}: missing_scope; add the scope ${typeof needed === "string" ? needed : "that it needs"} to the Slack app and install it again`,
    );
  const next = Object.hasOwn(NEXT, error) ? `; ${NEXT[error]}` : "";
  const details = more?.messages?.length ? ` (${more.messages.join(" ").slice(0, 300)})` : "";
  return new GatewayError("INVALID_REQUEST", `${failed}: ${error}${details}${next}`);
}

function limited(failed: string, seconds: number | undefined): GatewayError {
  const retry = seconds === undefined ? {} : { retryAfterMs: seconds * 1_000 };
  return new GatewayError("UNAVAILABLE", `${failed}: too many requests`, retry);
}

function isCallError(error: unknown): error is WebAPICallError {
  return error instanceof Error && "code" in error && String(error.code).startsWith("slack_webapi_");
}

/** Why a request failed, without its address. */
function causeOf(error: WebAPICallError): string {
  const original: unknown = "original" in error ? error.original : undefined;
  const cause = original instanceof Error ? original.cause : undefined;
  const code = (cause as { readonly code?: unknown } | undefined)?.code; // system errors have one
  if (typeof code === "string") return `no connection (${code})`;
  return original instanceof Error && original.name === "TimeoutError" ? "it did not answer in time" : "no connection";
}
