/** Whether a webhook request comes from somebody who may post. Spec: §5.2, http/webhooks.md §2-3. */
import type { IncomingHttpHeaders } from "node:http";
import { canonicalHeaders } from "../auth/aliases.ts";
import type { FailureLimiter } from "../auth/failure-limiter.ts";
import { sameSecret } from "../auth/secret.ts";
import { bearerOf } from "../auth/shared-secret.ts";

/** Longer tokens are wrong without being looked at. */
const MAX_TOKEN = 8_192;

/** The hook token of a request: `Authorization: Bearer`, then `x-svc-token` or the same with an alias. Blank is none. */
export function tokenOf(headers: IncomingHttpHeaders, aliases: readonly string[]): string | undefined {
  const bearer = bearerOf(headers.authorization);
  if (bearer !== undefined) return bearer;
  const named = canonicalHeaders(headers, aliases)["x-svc-token"];
  return (Array.isArray(named) ? named[0] : named)?.trim() || undefined;
}

/** Whether it is the right one. A blank expected token lets nobody in. */
export function isToken(given: string | undefined, expected: string): boolean {
  if (given === undefined || expected === "" || given.length > Math.max(MAX_TOKEN, expected.length)) return false;
  return sameSecret(given, expected);
}

/**
 * Counts credentials by address. Choice: a locked address is refused before its credential is looked at, a right one too: else every
 * guess would be told apart. The facts let a right one pass.
 */
export class HookAttempts {
  readonly #limiter: FailureLimiter;

  constructor(limiter: FailureLimiter) {
    this.#limiter = limiter;
  }

  /** Milliseconds until a credential of this address is looked at; `undefined`: now. */
  lockedMs(address: string | undefined): number | undefined {
    if (this.#limiter.size === 0) return undefined;
    const attempt = this.#limiter.reserve("hook-auth", address);
    if (attempt.locked) return attempt.retryAfterMs;
    attempt.release();
    return undefined;
  }

  /** The address starts afresh. */
  succeeded(address: string | undefined): void {
    if (this.#limiter.size > 0) this.#limiter.clear("hook-auth", address);
  }

  /** @returns milliseconds to wait where the address is locked; `undefined`: a plain refusal */
  failed(address: string | undefined): number | undefined {
    const attempt = this.#limiter.reserve("hook-auth", address);
    if (attempt.locked) return attempt.retryAfterMs;
    attempt.failed();
    return undefined;
  }
}
