/**
 * Cooldowns of accounts that failed recently; such accounts are tried last. Cooldowns are in memory only: a restart
 * clears them. The entry of an account is deleted with the account, or at the first success.
 */
import type { Clock } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";

/** First cooldown of a kind in milliseconds; each consecutive failure doubles it, up to the maximum. */
interface Cooldown {
  readonly firstMs: number;
  readonly maxMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

// Choice: a key or a bill needs a person, a rate limit passes within about a minute, and a failed server usually recovers soon.
const KEY: Cooldown = { firstMs: 5 * MINUTE_MS, maxMs: 5 * HOUR_MS };
const SERVER: Cooldown = { firstMs: 30_000, maxMs: 10 * MINUTE_MS };

/**
 * Cooldowns by kind of failure. The kind `request` has none, since another account would reject the request as well.
 */
export const COOLDOWNS: Readonly<Record<Exclude<ProviderFailure["kind"], "request">, Cooldown>> = {
  rate_limit: { firstMs: MINUTE_MS, maxMs: HOUR_MS },
  auth: KEY,
  billing: KEY,
  timeout: SERVER,
  network: SERVER,
  server_error: SERVER,
};

/** The last failure of an account. */
export interface FailedAccount {
  readonly kind: keyof typeof COOLDOWNS;
  readonly status?: number;
  /** epoch ms */
  readonly at: number;
  /** epoch ms */
  readonly until: number;
  /** Consecutive failures. */
  readonly count: number;
}

export class Cooldowns {
  readonly #failed = new Map<string, FailedAccount>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** epoch ms */
  now(): number {
    return this.#clock.now();
  }

  /** The last failure. It remains until the next success, even after the end of the cooldown. */
  failureOf(account: string): FailedAccount | undefined {
    return this.#failed.get(account);
  }

  /** End of the cooldown, epoch ms; `undefined`: none. */
  until(account: string): number | undefined {
    const until = this.#failed.get(account)?.until;
    return until !== undefined && until > this.#clock.now() ? until : undefined;
  }

  succeeded(account: string): void {
    this.#failed.delete(account);
  }

  /**
   * Concurrent requests that all fail count as one failure: only a request sent after the last failure adds to the count.
   * @param question `askedAt`: epoch ms, default now. `retryAfterMs`: from the server; used for rate limits only, up to the
   *   maximum cooldown
   */
  failed(
    account: string,
    failure: ProviderFailure,
    question: { readonly askedAt?: number; readonly retryAfterMs?: number | undefined } = {},
  ): void {
    const { kind, status } = failure;
    if (kind === "request") return;
    const now = this.#clock.now();
    const { askedAt = now, retryAfterMs } = question;
    const before = this.#failed.get(account);
    const count = before?.kind === kind ? before.count + (askedAt < before.at ? 0 : 1) : 1;
    const { firstMs, maxMs } = COOLDOWNS[kind];
    const asked = kind === "rate_limit" ? retryAfterMs : undefined;
    const waitMs = Math.min(asked ?? firstMs * 2 ** (count - 1), maxMs);
    this.#failed.set(account, {
      kind,
      at: now,
      until: now + waitMs,
      count,
      ...(status === undefined ? {} : { status }),
    });
  }

  /** Available accounts in the order of the configuration, then cooling accounts by the end of their cooldown. */
  inOrder<A extends { readonly name: string }>(accounts: readonly A[]): A[] {
    const readyAt = (account: A) => this.until(account.name) ?? 0;
    return [...accounts].sort((left, right) => readyAt(left) - readyAt(right));
  }

  /** Clears the cooldowns of all other accounts. */
  keepOnly(accounts: ReadonlySet<string>): void {
    for (const name of this.#failed.keys()) if (!accounts.has(name)) this.#failed.delete(name);
  }
}
