/**
 * Counts failed attempts to authenticate, and locks out addresses that fail too often. In memory only.
 * An attempt is reserved before the secret is compared and counts as failed until it is decided, so that guesses sent
 * in parallel gain nothing over guesses sent one by one. Spec: protocol/authorization.md §5; http/auth.md §6.
 * Choice: it is always active; without configuration the defaults apply.
 */
import type { Clock } from "@svc/sdk";
import { canonicalAddress, guesserOf, type Peer } from "./client-address.ts";
import { isForwarded, isLoopback } from "./locality.ts";

export interface LimiterSettings {
  /** Failures within the window that cause a lock. Default 10. */
  readonly maxAttempts: number;
  /** Milliseconds of the sliding window. Default 60000. */
  readonly windowMs: number;
  /** Milliseconds of a lock. Default 300000. */
  readonly lockoutMs: number;
  /** Clients on this machine are neither counted nor locked. Default true. */
  readonly exemptLoopback: boolean;
  /** Addresses stored per limiter. Default 10000. */
  readonly maxKeys: number;
}

export const LIMITER_DEFAULTS: LimiterSettings = {
  maxAttempts: 10,
  windowMs: 60_000,
  lockoutMs: 300_000,
  exemptLoopback: true,
  maxKeys: 10_000,
};

/** Fixed, and separate from the configurable limiter. Spec: authorization.md §5 "Hooks limiter". */
export const HOOK_LIMITER: Partial<LimiterSettings> = { maxAttempts: 20, lockoutMs: 60_000, exemptLoopback: false };

/** Kinds of secrets; guesses of each kind are counted separately. */
export type LimiterScope = "shared-secret" | "device-token" | "hook-auth" | "default";

/** An allowed attempt. Only the first call of one of the three functions has an effect. */
export interface Reservation {
  readonly locked: false;
  /** The secret was valid: failures and a lock of the address are cleared. */
  succeeded(): void;
  /** The secret was invalid or missing. */
  failed(): void;
  /** No secret of this scope was tried. */
  release(): void;
}

/** An attempt that is not allowed. */
export interface Locked {
  readonly locked: true;
  /** Milliseconds until an attempt is possible; at least 1. */
  readonly retryAfterMs: number;
}

/** Milliseconds until a retry is worthwhile while undecided attempts may still succeed. */
const UNDECIDED_MS = 1_000;
/** Milliseconds between two sweeps for idle addresses. */
const PRUNE_MS = 60_000;

const nothing = () => undefined;
const EXEMPT: Reservation = Object.freeze({ locked: false, succeeded: nothing, failed: nothing, release: nothing });

interface Entry {
  readonly key: string;
  /** Reservation times of the failed attempts, oldest first. */
  failures: number[];
  /** Undecided attempts. */
  pending: number;
  /** 0 while the address is not locked. */
  lockedUntil: number;
}

export class FailureLimiter {
  readonly #clock: Pick<Clock, "elapsed">;
  #settings: LimiterSettings;
  /** Least recently reserved first. */
  readonly #open = new Map<string, Entry>();
  /** First locked first. */
  readonly #locked = new Map<string, Entry>();
  /** One per scope, shared by new addresses while locked or undecided ones use all the room. */
  readonly #overflow = new Map<LimiterScope, Entry>();
  #prunedAt: number;

  constructor(settings: Partial<LimiterSettings>, clock: Pick<Clock, "elapsed">) {
    this.#clock = clock;
    this.#settings = { ...LIMITER_DEFAULTS, ...settings };
    this.#prunedAt = clock.elapsed();
  }

  /** Number of stored addresses. */
  get size(): number {
    return this.#open.size + this.#locked.size;
  }

  /** Applies new limits; counted failures stay, and a lock keeps its end. Absent limits get their default. */
  configure(settings: Partial<LimiterSettings>): void {
    this.#settings = { ...LIMITER_DEFAULTS, ...settings };
  }

  /** @param address in any spelling; an invalid one is counted as `unknown` */
  reserve(scope: LimiterScope, address: string | undefined): Reservation | Locked {
    if (this.#settings.exemptLoopback && address !== undefined && isLoopback(address)) return EXEMPT;
    const now = this.#clock.elapsed();
    if (now - this.#prunedAt >= PRUNE_MS) this.prune();
    const entry = this.#entry(scope, address, now);
    if (entry.lockedUntil > now) return { locked: true, retryAfterMs: Math.max(1, entry.lockedUntil - now) };
    if (entry.lockedUntil > 0) this.#unlock(entry);
    this.#forget(entry, now);
    const wait = this.#waitMs(entry, now);
    if (wait > 0) return { locked: true, retryAfterMs: wait };
    return this.#reserve(entry, now);
  }

  /** Like a success, without a reservation. */
  clear(scope: LimiterScope, address: string | undefined): void {
    const entry = this.#find(keyOf(scope, address)) ?? this.#overflow.get(scope);
    if (entry) this.#reset(entry);
  }

  /** Drops expired locks and idle addresses. Runs by itself once a minute while in use. */
  prune(): void {
    const now = this.#clock.elapsed();
    this.#prunedAt = now;
    for (const entry of [...this.#locked.values(), ...this.#overflow.values()])
      if (entry.lockedUntil > 0 && entry.lockedUntil <= now) this.#unlock(entry);
    for (const entry of this.#open.values()) {
      this.#forget(entry, now);
      this.#dropIdle(entry);
    }
  }

  #reserve(entry: Entry, at: number): Reservation {
    entry.pending += 1;
    let decided = false;
    const once = (decide: () => void) => () => {
      if (decided) return;
      decided = true;
      entry.pending -= 1;
      decide();
      this.#dropIdle(entry);
    };
    return {
      locked: false,
      succeeded: once(() => this.#reset(entry)),
      failed: once(() => this.#fail(entry, at)),
      release: once(nothing),
    };
  }

  /** Counts no failures during a lock, so that a lock is never extended. */
  #fail(entry: Entry, at: number): void {
    const now = this.#clock.elapsed();
    if (entry.lockedUntil > now) return;
    if (entry.lockedUntil > 0) this.#unlock(entry);
    const later = entry.failures.findLastIndex((time) => time <= at) + 1;
    entry.failures.splice(later, 0, at);
    this.#forget(entry, now);
    if (entry.failures.length < this.#settings.maxAttempts) return;
    entry.lockedUntil = now + this.#settings.lockoutMs;
    if (this.#open.delete(entry.key)) this.#locked.set(entry.key, entry);
  }

  /** Milliseconds until one more attempt is allowed; 0 when it is allowed now. */
  #waitMs({ failures, pending }: Entry, now: number): number {
    const { maxAttempts, windowMs } = this.#settings;
    if (failures.length + pending < maxAttempts) return 0;
    const leaves = failures[failures.length - maxAttempts]; // set only after the limit was lowered
    return leaves === undefined ? UNDECIDED_MS : Math.max(1, leaves + windowMs - now);
  }

  #forget(entry: Entry, now: number): void {
    const { windowMs } = this.#settings;
    const first = entry.failures.findIndex((time) => time + windowMs > now);
    if (first !== 0) entry.failures = first < 0 ? [] : entry.failures.slice(first);
  }

  #unlock(entry: Entry): void {
    entry.lockedUntil = 0;
    entry.failures = [];
    if (this.#locked.delete(entry.key)) this.#open.set(entry.key, entry);
  }

  #reset(entry: Entry): void {
    this.#unlock(entry);
    this.#dropIdle(entry);
  }

  #dropIdle({ key, failures, pending, lockedUntil }: Entry): void {
    if (failures.length === 0 && pending === 0 && lockedUntil === 0) this.#open.delete(key);
  }

  #find(key: string): Entry | undefined {
    return this.#open.get(key) ?? this.#locked.get(key);
  }

  #entry(scope: LimiterScope, address: string | undefined, now: number): Entry {
    const key = keyOf(scope, address);
    const known = this.#find(key);
    if (known) {
      if (this.#open.delete(key)) this.#open.set(key, known);
      return known;
    }
    if (this.size >= this.#settings.maxKeys && !this.#evict(now)) {
      const shared = this.#overflow.get(scope) ?? newEntry(`${scope}:overflow`);
      this.#overflow.set(scope, shared);
      return shared;
    }
    const entry = newEntry(key);
    this.#open.set(key, entry);
    return entry;
  }

  /** @returns whether there is room for one more */
  #evict(now: number): boolean {
    const [oldestLock] = this.#locked.values();
    if (oldestLock && oldestLock.lockedUntil <= now) this.#unlock(oldestLock);
    for (const { key, pending } of this.#open.values()) {
      if (pending > 0) continue; // its outcome would be lost
      this.#open.delete(key);
      if (this.size < this.#settings.maxKeys) return true;
    }
    return false;
  }
}

function newEntry(key: string): Entry {
  return { key, failures: [], pending: 0, lockedUntil: 0 };
}

function keyOf(scope: LimiterScope, address: string | undefined): string {
  return `${scope}:${(address === undefined ? undefined : canonicalAddress(address)) ?? "unknown"}`;
}

/** Address under which non-exempt clients on this machine are counted together: a page may belong to anyone. Spec: http/auth.md §6. */
export const POOLED_LOOPBACK = "198.18.0.1";

/**
 * The address under which an attempt is counted: the client's, else the socket's; for IPv6 its /64 network, all of which one guesser may use.
 * @param browser a WebSocket with an `Origin`; the caller counts it in a separate limiter with `exemptLoopback: false`
 * Choice: a loopback socket of a proxy that does not name its client, or that is not declared as trusted, is pooled as
 * well; its clients are not on this machine.
 */
export function limiterKey({ clientAddress, remoteAddress, headers, viaProxy }: Peer, browser: boolean): string {
  const address = clientAddress ?? remoteAddress;
  if (!isLoopback(address)) return guesserOf(address) || "unknown";
  const unnamed = viaProxy ? clientAddress === undefined : isForwarded(headers);
  return browser || unnamed ? POOLED_LOOPBACK : address;
}
