/** Checks the hook token of a webhook request, and counts failed attempts. Spec: §5.2, http/webhooks.md §2-3. */
import type { IncomingHttpHeaders } from "node:http";
import { canonicalHeaders } from "../auth/aliases.ts";
import type { FailureLimiter } from "../auth/failure-limiter.ts";
import { sameSecret } from "../auth/secret.ts";
import { bearerOf } from "../auth/shared-secret.ts";

/** Longer tokens are rejected without comparison. */
const MAX_TOKEN = 8_192;

/** The hook token of a request: `Authorization: Bearer`, then `x-svc-token` or the same with an alias. `undefined`: missing or blank. */
export function tokenOf(headers: IncomingHttpHeaders, aliases: readonly string[]): string | undefined {
  const bearer = bearerOf(headers.authorization);
  if (bearer !== undefined) return bearer;
  const named = canonicalHeaders(headers, aliases)["x-svc-token"];
  return (Array.isArray(named) ? named[0] : named)?.trim() || undefined;
}

/** Whether the token is valid. A blank expected token admits no sender. */
export function isToken(given: string | undefined, expected: string): boolean {
  if (given === undefined || expected === "" || given.length > Math.max(MAX_TOKEN, expected.length)) return false;
  return sameSecret(given, expected);
}

/**
 * Counts failed credentials per address. Choice: a locked address is refused before its credential is checked, even a valid one;
 * otherwise each guess during a lock would still be confirmed or denied. The spec admits a valid one.
 */
export class HookAttempts {
  readonly #limiter: FailureLimiter;

  constructor(limiter: FailureLimiter) {
    this.#limiter = limiter;
  }

  /** Milliseconds until a credential of this address is checked; `undefined`: now. */
  lockedMs(address: string | undefined): number | undefined {
    if (this.#limiter.size === 0) return undefined;
    const attempt = this.#limiter.reserve("hook-auth", address);
    if (attempt.locked) return attempt.retryAfterMs;
    attempt.release();
    return undefined;
  }

  /** Clears the failures of the address. */
  succeeded(address: string | undefined): void {
    if (this.#limiter.size > 0) this.#limiter.clear("hook-auth", address);
  }

  /** @returns milliseconds to wait if the address was already locked; `undefined`: an ordinary refusal */
  failed(address: string | undefined): number | undefined {
    const attempt = this.#limiter.reserve("hook-auth", address);
    if (attempt.locked) return attempt.retryAfterMs;
    attempt.failed();
    return undefined;
  }
}
