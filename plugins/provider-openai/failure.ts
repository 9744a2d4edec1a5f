/** Error messages for failures of a model server: the cause and the next step, never a secret. */
import {
  type ProviderError,
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
import { kindOf } from "./failure-kind.ts";

/** Converts any error to `UNAVAILABLE`. */
export function toFailure(thrown: unknown, context: ProviderFailureContext): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error = providerErrorOf(thrown);
  const { account, now } = context;
  return providerFailure(error, { kind: kindOf(error), sentence: sentence(error, context), account, now });
}

function sentence(error: ProviderError, context: ProviderFailureContext): string {
  if (typeof error.status === "number") return statusSentence(error.status, error, context);
  const who = providerName(context.account);
  if (error.error !== undefined) return `${who} reported an error while answering${quoteServer(error)}`;
  if (context.phase === "asking") return unreachableSentence(error, context.account);
  if (error.name === "SyntaxError") return `${who} sent invalid JSON in the middle of its answer`;
  const code = systemCodeOf(error);
  return `${who} disconnected in the middle of its answer${code ? ` (${code})` : ""}; try again`;
}

function statusSentence(status: number, error: ProviderError, { account, model }: ProviderFailureContext): string {
  const who = providerName(account);
  const key = providerSettingsPath(account);
  const [provider = key] = key.split(".accounts");
  const said = quoteServer(error);
  if (status === 401 || status === 403) return `${who} refused the key (${status}): check ${key}.apiKey${said}`;
  if (status === 404) {
    return `${who} does not know the model "${model.id}" (404): check ${provider}.models[].id and ${key}.baseUrl${said}`;
  }
  if (kindOf(error) === "billing") {
    return `${who} requires payment (${status}): check the credit and the limits of the account${said}`;
  }
  if (status === 429)
    return `${who} reports an exceeded rate limit or quota (429): wait, or check the account's plan${said}`;
  if (status >= 500) return `${who} failed (${status}): try again later${said}`;
  return `${who} did not accept the request (${status})${said}`;
}
