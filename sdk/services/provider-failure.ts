/** For plugins that speak to model servers: what a failure says, and what must not be said of it. Pure. */
import type { ProviderAccount } from "./models.ts";

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
