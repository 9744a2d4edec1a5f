/** For plugins that call model servers: errors as failures, with one sentence per kind. Pure. */
import { type GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderAccount, ProviderFailure } from "@svc/sdk/models";
import {
  type ProviderError,
  providerErrorOf,
  providerFailure,
  type ProviderFailureContext,
  providerName,
  providerSettingsPath,
  quoteServer,
  systemCodeOf,
  unreachableSentence,
} from "./failures.ts";

/** What only the plugin of an API knows about a failure. */
export interface FailureFacts {
  readonly kind: ProviderFailure["kind"];
  /** Text of the server itself. Default: the message of the error without the leading status. */
  readonly words?: string | undefined;
  /** The conversation does not fit the model. Default false. */
  readonly isTooLong?: boolean;
  /** What to check if the server refuses the credentials. Default: the `apiKey` of the account. */
  readonly credentials?: string;
  /** Wait that the body states, in milliseconds; used if the headers state none. */
  readonly retryAfterMs?: number | undefined;
  /** Values to remove from the message, in addition to those of the account. */
  readonly secrets?: readonly string[];
}

/** What the plugin of an API knows about an error. */
export type FactsOf = (error: ProviderError, account: ProviderAccount) => FailureFacts;

/** Converts any error to `UNAVAILABLE`, without secrets. */
export function toFailure(thrown: unknown, context: ProviderFailureContext, factsOf: FactsOf): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error = providerErrorOf(thrown);
  const { account, now } = context;
  const facts = factsOf(error, account);
  const { kind, retryAfterMs, secrets } = facts;
  return providerFailure(error, {
    kind,
    sentence: failureSentence(error, facts, context),
    account,
    now,
    retryAfterMs,
    secrets,
  });
}

/** The cause and the next step. It may quote secrets. */
function failureSentence(error: ProviderError, facts: FailureFacts, context: ProviderFailureContext): string {
  const { account, phase } = context;
  const { kind } = facts;
  const who = providerName(account);
  const where = providerSettingsPath(account);
  const hasStatus = typeof error.status === "number";
  const status = hasStatus ? ` (${String(error.status)})` : "";
  const said = quoteServer(error, facts.words);
  if (kind === "network" || (kind === "timeout" && !hasStatus)) {
    if (phase === "asking") return unreachableSentence(error, account);
    const code = systemCodeOf(error);
    return `${who} disconnected in the middle of its answer${code ? ` (${code})` : ""}; try again`;
  }
  switch (kind) {
    case "auth":
      return `${who} refused the key${status}: check ${facts.credentials ?? `${where}.apiKey`}${said}`;
    case "billing":
      return `${who} requires payment${status}: check the credit and the limits of the account${said}`;
    case "rate_limit":
      return `${who} reports an exceeded rate limit or quota${status}: wait, or check the account's plan${said}`;
    case "timeout":
      return `${who} timed out${status}: try again, or ask for a shorter answer${said}`;
    case "request":
      return requestSentence(error, facts, context) + said;
    case "server_error":
      if (error.name === "SyntaxError") return `${who} sent invalid JSON; try again`;
      return `${who} failed${status}: try again later${said}`;
  }
}

function requestSentence(
  { status }: ProviderError,
  { isTooLong = false }: FailureFacts,
  { account, model }: ProviderFailureContext,
): string {
  const who = providerName(account);
  const where = providerSettingsPath(account);
  const [provider = where] = where.split(".accounts");
  if (status === 404 && !model) return `${who} has no list of models (404): check ${where}.baseUrl`;
  if (status === 404) {
    return `${who} does not know the model "${model?.id}" (404): check ${provider}.models[].id and ${where}.baseUrl`;
  }
  if (isTooLong) {
    return `the conversation is too long for "${model?.id}" of ${who}: shorten it or start a new session`;
  }
  return `${who} did not accept the request${typeof status === "number" ? ` (${status})` : ""}`;
}
