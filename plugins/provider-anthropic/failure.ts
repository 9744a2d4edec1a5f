/** Error messages for failures of a model server: the cause and the next step, never a secret. */
import {
  providerErrorOf,
  providerFailure,
  providerName,
  type ProviderFailureContext,
  providerSettingsPath,
  quoteServer,
  systemCodeOf,
  unreachableSentence,
} from "@svc/kit/providers";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";
import { kindOf, type Thrown } from "./failure-kind.ts";

/** Converts any error to `UNAVAILABLE`. */
export function toFailure(thrown: unknown, context: ProviderFailureContext): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error: Thrown = providerErrorOf(thrown);
  const { account, now } = context;
  const kind = kindOf(error);
  return providerFailure(error, { kind, sentence: sentence(error, kind, context), account, now });
}

function sentence(
  error: Thrown,
  kind: ProviderFailure["kind"],
  { account, model, phase }: ProviderFailureContext,
): string {
  const who = providerName(account);
  const where = providerSettingsPath(account);
  const hasStatus = typeof error.status === "number";
  const status = hasStatus ? ` (${String(error.status)})` : "";
  const said = quote(error);
  if (kind === "network" || (kind === "timeout" && !hasStatus)) {
    if (phase === "asking") return unreachableSentence(error, account);
    const code = systemCodeOf(error);
    return `${who} disconnected in the middle of its answer${code ? ` (${code})` : ""}; try again`;
  }
  switch (kind) {
    case "auth":
      return `${who} refused the key${status}: check ${where}.apiKey${said}`;
    case "billing":
      return `${who} requires payment${status}: check the credit and the limits of the account${said}`;
    case "rate_limit":
      return `${who} reports an exceeded rate limit or quota${status}: wait, or check the account's plan${said}`;
    case "timeout":
      return `${who} timed out${status}: try again, or ask for a shorter answer${said}`;
    case "request":
      return requestSentence(error, who, model.id, where) + said;
    case "server_error":
      if (error.name === "SyntaxError") return `${who} sent invalid JSON; try again`;
      return `${who} failed${status}: try again later${said}`;
  }
}

function requestSentence(error: Thrown, who: string, model: string, where: string): string {
  const [provider = where] = where.split(".accounts");
  if (error.status === 404) {
    return `${who} does not know the model "${model}" (404): check ${provider}.models[].id and ${where}.baseUrl`;
  }
  if (isTooLong(error)) {
    return `the conversation is too long for "${model}" of ${who}: shorten it or start a new session`;
  }
  return `${who} did not accept the request${typeof error.status === "number" ? ` (${error.status})` : ""}`;
}

/** The texts by which the API reports a request that is too long; it has no error code for that. */
function isTooLong(error: Thrown): boolean {
  return /prompt is too long|exceeds? (?:the )?context|context window/iu.test(String(error.message));
}

interface ErrorBody {
  readonly error?: { readonly message?: unknown };
}

function quote(error: Thrown): string {
  const own = (error.error as ErrorBody | undefined)?.error?.message; // the server's message, if the body has the documented format
  return typeof own === "string" ? quoteServer(error, own) : quoteServer(error);
}
