/** For plugins that speak to model servers: what a failure says, and what must not be said of it. Pure. */
import { GatewayError, isGatewayError } from "@svc/sdk";
import type { ProviderAccount, ProviderFailure, ResolvedModel } from "@svc/sdk/models";

type Kind = ProviderFailure["kind"];

/** What client libraries and `fetch` throw, by shape: the libraries are loaded on first use only. */
export interface ProviderError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly headers?: unknown;
  /** Body of an error answer. */
  readonly error?: unknown;
  /** `error.code` of that body, or a code of the system. */
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** When it went wrong: before the server accepted the question, or while it answered. */
export type ProviderPhase = "asking" | "answering";

/** Whom was asked for what when it went wrong. */
export interface ProviderFailureContext {
  readonly account: ProviderAccount;
  readonly model: Pick<ResolvedModel, "id">;
  readonly phase: ProviderPhase;
  /** epoch ms; for `Retry-After` dates. */
  readonly now: number;
}

/** `thrown` by shape; what is no object becomes the message of one. */
export function providerErrorOf(thrown: unknown): ProviderError {
  return typeof thrown === "object" && thrown !== null ? thrown : { message: String(thrown) };
}

/** An error that a server reports in the middle of its answer, as client libraries throw it. @param fields further ones, for its kind */
export function reportedError(error: unknown, fields: object = {}): Error {
  const { message } = providerErrorOf(error);
  return Object.assign(new Error(typeof message === "string" ? message : JSON.stringify(error)), fields, { error });
}

/** How an account is called in sentences. */
export function providerName({ name }: Pick<ProviderAccount, "name">): string {
  return `model provider "${name}"`;
}

/** @throws GatewayError always: `UNAVAILABLE` of this kind, with a message that is known to hold no secret */
export function refuseAnswer(kind: Kind, message: string): never {
  throw new GatewayError("UNAVAILABLE", message, { details: { kind } satisfies ProviderFailure });
}

/** What `read` makes of a piece of an answer. A piece of another shape than the API has is the server's fault, not that of the plugin. */
export function readable<T>(source: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    return refuseAnswer("server_error", `${source} sent something its API does not have; is its baseUrl right?`);
  }
}

/**
 * `UNAVAILABLE` for whatever the network threw. It keeps no cause: library errors may quote a header, and so the key.
 * @param sentence for people; secrets of the account are taken out. @param now epoch ms, for `Retry-After` dates
 */
export function providerFailure(
  { status, headers }: ProviderError,
  { kind, sentence, account, now }: { kind: Kind; sentence: string; account: ProviderAccount; now: number },
): GatewayError {
  const wait = headers instanceof Headers ? retryAfter(headers, now) : undefined;
  const details: ProviderFailure = { kind, ...(typeof status === "number" ? { status } : {}) };
  return new GatewayError("UNAVAILABLE", withoutSecrets(sentence, account), {
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

/** What an HTTP status says by itself. */
export function kindOfStatus(status: number): Kind {
  return BY_STATUS[status] ?? (status >= 500 ? "server_error" : "request");
}

/** Why nobody answered, and what to check. */
export function unreachableSentence(error: ProviderError, account: ProviderAccount): string {
  const who = providerName(account);
  const at = addressOf(account.baseUrl);
  const check = `check ${providerSettingsPath(account)}.baseUrl`;
  const refusal = [error, error.cause].find(isGatewayError); // of our own `fetch`, e.g. for a redirect
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
  if (baseUrl === undefined) return "its usual address";
  if (!URL.canParse(baseUrl)) return "an address that is no URL";
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`;
}

/** Characters of a server's own words that are passed on. */
const QUOTED_CHARS = 300;

/**
 * `. It says: ...`, to end a sentence with; empty where the server said nothing.
 * @param words of the server itself. Default: the message of the client library, which puts the status before them
 */
export function quoteServer({ message }: ProviderError, words?: string): string {
  const text = words ?? String(message).replace(/^\d{3} /u, "");
  if (text === "" || text.endsWith("(no body)")) return "";
  return `. It says: ${text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}...` : text}`;
}

/** Path of an account's settings; `<provider>:<account>` is one of several. */
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

/** The system's code of an error, e.g. `ECONNREFUSED`: `fetch` hides it as the cause of a cause. */
export function systemCodeOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (typeof code === "string") return code;
    current = cause;
  }
  return undefined;
}

/** Whether the system gave up waiting. */
export function isSystemTimeout(error: unknown): boolean {
  return TIMEOUT_CODES.has(systemCodeOf(error) ?? "");
}

/** Servers quote the key they refuse; header values may be keys, too. @returns `text` with `***` in their place */
export function withoutSecrets(text: string, { apiKey = "", headers = {} }: ProviderAccount): string {
  const values = Object.values(headers);
  const bare = values.map((value) => value.replace(/^\w+ +/u, "")); // `Bearer abc` may be quoted as `abc`
  const secrets = [apiKey, ...values, ...bare].filter((secret) => secret.trim().length >= 4);
  const longestFirst = secrets.sort((left, right) => right.length - left.length);
  return longestFirst.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);
}

/**
 * Milliseconds the server asks to wait, from `Retry-After-Ms` or `Retry-After` (seconds or a date).
 * @returns `undefined` when it does not say, or not in a way that can be read.
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const wait = /^[\d.]+$/u.test(value) ? Number.parseFloat(value) * 1_000 : Date.parse(value) - now;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
