/** Failures of Bedrock: their kind, and messages with the cause and the next step, never a secret. */
import {
  failureSentence,
  isSystemTimeout,
  kindOfStatus,
  type ProviderError,
  providerErrorOf,
  providerFailure,
  type ProviderFailureContext,
} from "@svc/kit/providers";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";
import { credentialsOf } from "./credentials.ts";

type Kind = ProviderFailure["kind"];

/** Errors by name, in lower case: inside an answer the names begin with a small letter. */
const BY_NAME: Readonly<Record<string, Kind>> = {
  accessdeniedexception: "auth",
  expiredtokenexception: "auth",
  incompletesignatureexception: "auth",
  invalidsignatureexception: "auth",
  missingauthenticationtokenexception: "auth",
  unrecognizedclientexception: "auth",
  servicequotaexceededexception: "rate_limit",
  throttlingexception: "rate_limit",
  toomanyrequestsexception: "rate_limit",
  validationexception: "request",
  resourcenotfoundexception: "request",
  modeltimeoutexception: "timeout",
  internalserverexception: "server_error",
  modelerrorexception: "server_error",
  modelnotreadyexception: "server_error",
  modelstreamerrorexception: "server_error",
  serviceunavailableexception: "server_error",
};

/** Converts any error to `UNAVAILABLE`. @param secrets further values to remove from the message */
export function toFailure(thrown: unknown, context: ProviderFailureContext, secrets: readonly string[]): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error = providerErrorOf(thrown);
  const { account, now } = context;
  const kind = kindOf(error);
  const facts = { kind, words: wordsOf(error), credentials: credentialsOf(account) };
  const sentence = secrets
    .filter((secret) => secret.length >= 4)
    .reduce((clean, secret) => clean.replaceAll(secret, "***"), failureSentence(error, facts, context));
  return providerFailure(error, { kind, sentence, account, now });
}

/** The kind of an error; an error without a status got no response. */
export function kindOf(error: ProviderError): Kind {
  const { status, code, headers } = error;
  const named = code ?? (headers instanceof Headers ? headers.get("x-amzn-errortype") : undefined);
  const name = typeof named === "string" ? (named.split(/[:#]/u, 1)[0] ?? "").toLowerCase() : "";
  if (Object.hasOwn(BY_NAME, name)) return BY_NAME[name] ?? "request";
  if (status === 424) return "server_error"; // the model failed
  if (typeof status === "number") return kindOfStatus(status);
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  return isSystemTimeout(error) ? "timeout" : "network";
}

function wordsOf({ message }: ProviderError): string {
  return typeof message === "string" ? message : "";
}
