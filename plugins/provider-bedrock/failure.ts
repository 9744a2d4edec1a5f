/** What the API says about failures: their kind, and the words of the server. Pure. */
import { type FailureFacts, kindIn, kindOfError, type ProviderError } from "@svc/kit/providers";
import type { ProviderAccount, ProviderFailure } from "@svc/sdk/models";
import { credentialsOf, type Environment, secretsOf } from "./credentials.ts";

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

export function factsOf(error: ProviderError, account: ProviderAccount, env: Environment): FailureFacts {
  const { message } = error;
  return {
    kind: kindOf(error),
    words: typeof message === "string" ? message : "",
    credentials: credentialsOf(account),
    secrets: secretsOf(env),
  };
}

function kindOf(error: ProviderError): Kind {
  const { status, code, headers } = error;
  const named = code ?? (headers instanceof Headers ? headers.get("x-amzn-errortype") : undefined);
  const name = typeof named === "string" ? (named.split(/[:#]/u, 1)[0] ?? "").toLowerCase() : "";
  if (status === 424) return kindIn(BY_NAME, name) ?? "server_error"; // the model failed
  return kindIn(BY_NAME, name) ?? kindOfError(error);
}
