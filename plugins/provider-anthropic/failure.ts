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
export function nameOf(account: Pick<ProviderAccount, "name">): string {
  return `model provider "${account.name}"`;
}

/** `UNAVAILABLE` for whatever the network threw. It keeps no cause: library errors may quote a header, and so the key. */
export function toFailure(thrown: unknown, context: FailureContext): GatewayError {
  const error: Thrown = typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) };
  const headers = error.headers instanceof Headers ? error.headers : undefined;
  const wait = headers && retryAfter(headers, context.now);
  const details: ProviderFailure = {
    kind: kindOf(error),
    ...(typeof error.status === "number" ? { status: error.status } : {}),
  };
  const message = withoutSecrets(sentence(error, details, context), context.account);
  return new GatewayError("UNAVAILABLE", message, { details, ...(wait === undefined ? {} : { retryAfterMs: wait }) });
}

function sentence(error: Thrown, failure: ProviderFailure, context: FailureContext): string {
  const { account, model, phase } = context;
  const who = nameOf(account);
  const where = providerSettingsPath(account);
  const status = failure.status === undefined ? "" : ` (${failure.status})`;
  const said = quote(error);
  if (failure.kind === "network" || (failure.kind === "timeout" && failure.status === undefined)) {
    if (phase === "asking") return connectionSentence(error, context);
    const code = systemCodeOf(error);
    return `${who} broke off in the middle of its answer${code ? ` (${code})` : ""}; try again`;
  }
  switch (failure.kind) {
    case "auth":
      return `${who} refused the key${status}: check ${where}.apiKey${said}`;
    case "billing":
      return `${who} wants to be paid first${status}: check the credit and the limits of the account${said}`;
    case "rate_limit":
      return `${who} is over its rate or quota${status}: wait, or check the account's plan${said}`;
    case "timeout":
      return `${who} took too long${status}: try again, or ask for less at once${said}`;
    case "request":
      return requestSentence(error, failure, who, model.id, where);
    case "server_error":
      if (error.name === "SyntaxError") return `${who} sent something that is not JSON; try again`;
      return `${who} failed${status}: try again later${said}`;
  }
}

function requestSentence(
  error: Thrown,
  { status }: ProviderFailure,
  who: string,
  model: string,
  where: string,
): string {
  const said = quote(error);
  const [provider = where] = where.split(".accounts");
  if (status === 404) {
    return `${who} does not know the model "${model}" (404): check ${provider}.models[].id and ${where}.baseUrl${said}`;
  }
  if (isTooLong(error)) {
    return `the conversation is too long for "${model}" of ${who}: shorten it or start a new session${said}`;
  }
  return `${who} did not accept the request${status === undefined ? "" : ` (${status})`}${said}`;
}

/** The API has no code for it, only these words. */
function isTooLong(error: Thrown): boolean {
  return /prompt is too long|exceeds? (?:the )?context|context window/iu.test(String(error.message));
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

interface ErrorBody {
  readonly error?: { readonly message?: unknown };
}

function quote({ error, message }: Thrown): string {
  const own = (error as ErrorBody | undefined)?.error?.message; // what the server sent, if it kept to its own format
  const text = typeof own === "string" ? own : String(message).replace(/^\d{3} /u, "");
  if (text === "" || text.endsWith("(no body)")) return "";
  return `. It says: ${text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}...` : text}`;
}

/** The address without credentials and query. */
function addressOf(baseUrl: string | undefined): string {
  if (baseUrl === undefined) return "its usual address";
  if (!URL.canParse(baseUrl)) return "an address that is no URL";
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`;
}
