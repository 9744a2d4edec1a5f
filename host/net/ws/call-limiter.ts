/** Limits the calls of methods with a budget. In memory only. Spec: protocol/authorization.md §4; http/auth.md §9. */
import { type Clock, GatewayError, type RateLimit } from "@svc/sdk";

/** Maximum number of stored windows. Beyond it, the window that began first is dropped. */
const MAX_KEYS = 10_000;

interface Window {
  readonly endsAt: number;
  calls: number;
}

export class CallLimiter {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #maxKeys: number;
  /** The windows by bucket and key, in the order they began. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, "elapsed">, maxKeys: number = MAX_KEYS) {
    this.#clock = clock;
    this.#maxKeys = maxKeys;
  }

  /** Number of stored windows. */
  get size(): number {
    return this.#windows.size;
  }

  /** Takes one call from the budget; a window starts with its first call. @returns how long to wait when the budget is used up */
  take({ bucket, calls, windowMs }: RateLimit, key: string): { readonly retryAfterMs: number } | undefined {
    const now = this.#clock.elapsed();
    const name = JSON.stringify([bucket, key]);
    const window = this.#windows.get(name);
    if (window && now < window.endsAt) {
      if (window.calls >= calls) return { retryAfterMs: window.endsAt - now };
      window.calls += 1;
      return undefined;
    }
    this.#windows.delete(name);
    if (calls < 1) return { retryAfterMs: windowMs };
    if (this.#windows.size >= this.#maxKeys) this.#makeRoom(now);
    this.#windows.set(name, { endsAt: now + windowMs, calls: 1 });
    return undefined;
  }

  #makeRoom(now: number): void {
    for (const [name, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(name);
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined && this.#windows.size >= this.#maxKeys) this.#windows.delete(oldest);
  }
}

/** The facts about a caller by which its calls are counted. */
export interface CallOrigin {
  readonly deviceId: string | undefined;
  readonly clientAddress: string | undefined;
  readonly local: boolean;
  readonly connectionId: string;
}

/**
 * The key under which a caller is counted: device and address. An address of this machine identifies no caller. A
 * caller without a device and an address is counted by connection.
 */
export function limitKey({ deviceId, clientAddress, local, connectionId }: CallOrigin): string {
  const address = local ? undefined : clientAddress || undefined;
  const key = `${deviceId ?? "unknown-device"}|${address ?? "unknown-ip"}`;
  return deviceId === undefined && address === undefined ? `${key}|conn=${connectionId}` : key;
}

/** Error of a call over its budget. */
export function limitRefusal(method: string, { calls, windowMs }: RateLimit, retryAfterMs: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new GatewayError("UNAVAILABLE", `rate limit exceeded for ${method}; retry after ${seconds}s`, {
    retryAfterMs,
    details: { method, limit: `${calls} per ${windowMs / 1_000}s` },
  });
}
