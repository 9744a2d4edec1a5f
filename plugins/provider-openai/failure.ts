/** What went wrong at a model server, in a sentence for people that says what to do and never holds a secret. */
import { GatewayError } from "@svc/sdk";
import {
  type ProviderAccount,
  type ProviderFailure,
  providerSettingsPath,
  type ResolvedModel,
  retryAfter,
  systemCodeOf,
  withoutSecrets,
} from "@svc/sdk/services";
import { kindOf, type Thrown } from "./failure-kind.ts";

/** When it went wrong: before the server accepted the question, or while it answered. */
export type Phase = "asking" | "answering";

export interface FailureContext {
  readonly account: ProviderAccount;
  readonly model: Pick<ResolvedModel, "id">;
  readonly phase: Phase;
  /** epoch ms; for `Retry-After` dates. */
  readonly now: number;
}

/** How an account is called in sentences. */
export function nameOf(account: ProviderAccount): string {
  return `model provider "${account.name}"`;
}

/** @throws GatewayError always: `UNAVAILABLE` of this kind. */
export function refuse(kind: ProviderFailure["kind"], message: string): never {
  throw new GatewayError("UNAVAILABLE", message, { details: { kind } satisfies ProviderFailure });
}

/** `UNAVAILABLE` for whatever the network threw. It keeps no cause: library errors may quote a header, and so the key. */
export function toFailure(thrown: unknown, context: FailureContext): GatewayError {
  const error: Thrown = typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) };
  const headers = error.headers instanceof Headers ? error.headers : undefined;
  const wait = headers && retryAfter(headers, context.now);
  const message = withoutSecrets(sentence(error, context), context.account);
  const details: ProviderFailure = {
    kind: kindOf(error),
    ...(typeof error.status === "number" ? { status: error.status } : {}),
  };
  return new GatewayError("UNAVAILABLE", message, { details, ...(wait === undefined ? {} : { retryAfterMs: wait }) });
}

function sentence(error: Thrown, context: FailureContext): string {
  if (typeof error.status === "number") return statusSentence(error.status, error, context);
  const who = nameOf(context.account);
  if (error.error !== undefined) return `${who} reported an error while answering${quote(error)}`;
  if (context.phase === "asking") return connectionSentence(error, context);
  if (error.name === "SyntaxError") return `${who} sent something that is not JSON in the middle of its answer`;
  const code = systemCodeOf(error);
  return `${who} broke off in the middle of its answer${code ? ` (${code})` : ""}; try again`;
}

function statusSentence(status: number, error: Thrown, { account, model }: FailureContext): string {
  const who = nameOf(account);
  const key = providerSettingsPath(account);
  const [provider = key] = key.split(".accounts");
  const said = quote(error);
  if (status === 401 || status === 403) return `${who} refused the key (${status}): check ${key}.apiKey${said}`;
  if (status === 404) {
    return `${who} does not know the model "${model.id}" (404): check ${provider}.models[].id and ${key}.baseUrl${said}`;
  }
  if (kindOf(error) === "billing") {
    return `${who} wants to be paid first (${status}): check the credit and the limits of the account${said}`;
  }
  if (status === 429) return `${who} is over its rate or quota (429): wait, or check the account's plan${said}`;
  if (status >= 500) return `${who} failed (${status}): try again later${said}`;
  return `${who} did not accept the request (${status})${said}`;
}

function connectionSentence(error: Thrown, { account }: FailureContext): string {
  const who = nameOf(account);
  const at = addressOf(account.baseUrl);
  const check = `check ${providerSettingsPath(account)}.baseUrl`;
  const code = systemCodeOf(error);
  if (code === "ECONNREFUSED") return `${who} refused the connection (ECONNREFUSED): is the server at ${at} running?`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${who} has an unknown host name (${code}): ${check} (${at})`;
  }
  return `${who} cannot be reached at ${at} (${code ?? String(error.message)}): ${check} and the network`;
}

/** Characters of a server's own words that are passed on. */
const QUOTED_CHARS = 300;

function quote(error: Thrown): string {
  const text = String(error.message).replace(/^\d{3} /, "");
  if (text === "" || text.endsWith("(no body)")) return "";
  return `. It says: ${text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}...` : text}`;
}

/** The address without credentials and query. */
function addressOf(baseUrl: string | undefined): string {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return "an address that is no URL";
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`;
}
