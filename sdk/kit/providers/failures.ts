/** For plugins that call model servers: classifies failures and removes secrets from their messages. Pure. */
import { retryAfter } from "../time/retry-after.ts";
import { GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderAccount, ProviderFailure, ResolvedModel } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** Shape of errors thrown by client libraries and `fetch`; the libraries themselves are imported on first use only. */
export interface ProviderError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly headers?: unknown;
  /** Body of an error response. */
  readonly error?: unknown;
  /** `error.code` of that body, or a system error code. */
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** When the failure happened: before the server accepted the request, or while it answered. */
export type ProviderPhase = "asking" | "answering";

/** The request that failed. */
export interface ProviderFailureContext {
  readonly account: ProviderAccount;
  /** Absent: the list of models was requested. */
  readonly model?: Pick<ResolvedModel, "id">;
  readonly phase: ProviderPhase;
  /** epoch ms; for `Retry-After` dates. */
  readonly now: number;
}

/** `thrown` as an error shape; a non-object becomes the message. */
export function providerErrorOf(thrown: unknown): ProviderError {
  return typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) };
}

/**
 * An error that a server reports in the middle of its answer, in the form client libraries throw.
 * @param fields additional fields, for its kind
 */
export function reportedError(error: unknown, fields: object = {}): Error {
  const { message } = providerErrorOf(error);
  return Object.assign(new Error(typeof message === "string" ? message : JSON.stringify(error)), fields, { error });
}

/** Name of an account in messages. */
export function providerName({ name }: Pick<ProviderAccount, "name">): string {
  return `model provider "${name}"`;
}

/** @throws GatewayError always: `UNAVAILABLE` of this kind, with a message known to contain no secret */
export function refuseAnswer(kind: Kind, message: string): never {
  throw new GatewayError("UNAVAILABLE", message, { details: { kind } satisfies ProviderFailure });
}

/**
 * Runs `read` on a part of an answer. A part that does not match the API is a failure of the server, not of the plugin.
 */
export function readable<T>(source: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    return refuseAnswer("server_error", `${source} sent data that does not match its API; is its baseUrl correct?`);
  }
}

export interface FailureSettings {
  readonly kind: Kind;
  /** For people; secrets of the account are removed. */
  readonly sentence: string;
  readonly account: ProviderAccount;
  /** epoch ms, for `Retry-After` dates */
  readonly now: number;
  /** Used without a `Retry-After` header. */
  readonly retryAfterMs?: number | undefined;
  /** Further values to remove. Default: none. */
  readonly secrets?: readonly string[] | undefined;
}

/** `UNAVAILABLE` for any network error. It has no cause: library errors may quote a header and thus the key. */
export function providerFailure(
  { status, headers }: ProviderError,
  { kind, sentence, account, now, retryAfterMs, secrets }: FailureSettings,
): GatewayError {
  const wait = (headers instanceof Headers ? retryAfter(headers, now) : undefined) ?? retryAfterMs;
  const details: ProviderFailure = { kind, ...(typeof status === "number" ? { status } : {}) };
  return new GatewayError("UNAVAILABLE", withoutSecrets(sentence, account, secrets), {
    details,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

const BY_STATUS: Readonly<Record<number, Kind>> = {
  401: "auth",
  402: "billing",
  403: "auth",
  408: "timeout",
  409: "server_error",
  429: "rate_limit",
  504: "timeout",
};

/** Failure kind for an HTTP status alone. */
export function kindOfStatus(status: number): Kind {
  return BY_STATUS[status] ?? (status >= 500 ? "server_error" : "request");
}

/** The kind that a table has for a code of the server; `undefined`: none. */
export function kindIn(table: Readonly<Record<string, Kind>>, code: unknown): Kind | undefined {
  return typeof code === "string" && Object.hasOwn(table, code) ? table[code] : undefined;
}

/** Failure kind for an error without a known code; an error without a status and a body got no response. */
export function kindOfError(error: ProviderError): Kind {
  if (typeof error.status === "number") return kindOfStatus(error.status);
  if (error.error !== undefined || error.name === "SyntaxError") return "server_error";
  return isSystemTimeout(error) ? "timeout" : "network";
}

/** Why the server could not be reached, and what to check. */
export function unreachableSentence(error: ProviderError, account: ProviderAccount): string {
  const who = providerName(account);
  const at = addressOf(account.baseUrl);
  const check = `check ${providerSettingsPath(account)}.baseUrl`;
  const refusal = [error, error.cause].find(isGatewayError); // from the gateway's own `fetch`, e.g. for a redirect
  if (refusal) return `${who}: ${refusal.message.replace("\nNext: ", "; ")} (${providerSettingsPath(account)}.baseUrl)`;
  const code = systemCodeOf(error);
  if (code === "ECONNREFUSED") return `${who} refused the connection (ECONNREFUSED): is the server at ${at} running?`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${who} has an unknown host name (${code}): ${check} (${at})`;
  }
  return `${who} cannot be reached at ${at} (${code ?? String(error.message)}): ${check} and the network`;
}

/** The address without credentials and query. */
function addressOf(baseUrl: string | undefined): string {
  if (baseUrl === undefined) return "its default address";
  if (!URL.canParse(baseUrl)) return "an address that is no URL";
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`;
}

/** Maximum characters quoted from a server. */
const QUOTED_CHARS = 300;

/**
 * `. It says: ...`, to append to a sentence; empty if the server sent no text.
 * @param words text of the server itself. Default: the message of the client library without the leading status
 */
export function quoteServer({ message }: ProviderError, words?: string): string {
  const text = words ?? String(message).replace(/^\d{3} /u, "");
  if (text === "" || text.endsWith("(no body)")) return "";
  return `. It says: ${text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}...` : text}`;
}

/** Configuration path of an account; `<provider>:<account>` is one of several. */
export function providerSettingsPath({ name }: Pick<ProviderAccount, "name">): string {
  const [provider, account] = name.split(":");
  return `models.providers.${provider}${account === undefined ? "" : `.accounts["${account}"]`}`;
}

const TIMEOUT_CODES = new Set([
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** The system error code, e.g. `ECONNREFUSED`: `fetch` hides it in nested causes. */
export function systemCodeOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (typeof code === "string") return code;
    current = cause;
  }
  return undefined;
}

/** Whether the system timed out. */
export function isSystemTimeout(error: unknown): boolean {
  return TIMEOUT_CODES.has(systemCodeOf(error) ?? "");
}

/** Replaces secrets by `***`: servers quote the key they reject, and header values may be keys, too. */
function withoutSecrets(
  text: string,
  { apiKey = "", headers = {} }: ProviderAccount,
  others: readonly string[] = [],
): string {
  const values = Object.values(headers);
  const bare = values.map((value) => value.replace(/^\w+ +/u, "")); // `Bearer abc` may be quoted as `abc`
  const secrets = [apiKey, ...values, ...bare, ...others].filter((secret) => secret.trim().length >= 4);
  const longestFirst = secrets.sort((left, right) => right.length - left.length);
  return longestFirst.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);
}
