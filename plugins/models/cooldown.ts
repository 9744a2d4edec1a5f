/**
 * Which accounts failed lately, and until when they are asked last. In memory: a restart forgives everything, and an
 * entry goes with the account or its first success.
 */
import type { Clock } from "@svc/sdk";
import type { ProviderFailure } from "@svc/sdk/models";

/** Milliseconds: the first cooldown of a kind; each further failure in a row doubles it, up to the last. */
interface Cooldown {
  readonly firstMs: number;
  readonly maxMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

// Choice: a key or a bill takes a person, a rate a minute or so, and a server that is down comes back soon.
const KEY: Cooldown = { firstMs: 5 * MINUTE_MS, maxMs: 5 * HOUR_MS };
const SERVER: Cooldown = { firstMs: 30_000, maxMs: 10 * MINUTE_MS };

/** By kind; `request` has none: another account would refuse the question as well. */
export const COOLDOWNS: Readonly<Record<Exclude<ProviderFailure["kind"], "request">, Cooldown>> = {
  rate_limit: { firstMs: MINUTE_MS, maxMs: HOUR_MS },
  auth: KEY,
  billing: KEY,
  timeout: SERVER,
  network: SERVER,
  server_error: SERVER,
};

/** What an account did last. */
export interface FailedAccount {
  readonly kind: keyof typeof COOLDOWNS;
  readonly status?: number;
  /** epoch ms */
  readonly at: number;
  /** epoch ms */
  readonly until: number;
  /** Failures in a row. */
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

  /** Cooling or not: its last failure, until it succeeds. */
  failureOf(account: string): FailedAccount | undefined {
    return this.#failed.get(account);
  }

  /** epoch ms; `undefined` when it can be asked now. */
  until(account: string): number | undefined {
    const until = this.#failed.get(account)?.until;
    return until !== undefined && until > this.#clock.now() ? until : undefined;
  }

  succeeded(account: string): void {
    this.#failed.delete(account);
  }

  /**
   * Questions asked at the same time that all fail are one failure: only what was asked after the last one adds up.
   * @param question `askedAt`: epoch ms, default now. `retryAfterMs`: what the server asked for; counts for its rate limit only, at
   *   most the longest cooldown of it
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

  /** Those that can be asked first, in their order; then those that cool down, the one ready first before the others. */
  inOrder<A extends { readonly name: string }>(accounts: readonly A[]): A[] {
    const readyAt = (account: A) => this.until(account.name) ?? 0;
    return [...accounts].sort((left, right) => readyAt(left) - readyAt(right));
  }

  /** Forgets all accounts but these. */
  keepOnly(accounts: ReadonlySet<string>): void {
    for (const name of this.#failed.keys()) if (!accounts.has(name)) this.#failed.delete(name);
  }
}
