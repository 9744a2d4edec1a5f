/** Caches the last health summary, and refreshes it regularly, one refresh at a time. */
import { isGatewayError, unavailable } from "@svc/sdk";
import type { Health } from "./summary.ts";

/** Milliseconds for which a cached summary may be returned. Spec: protocol/methods-health.md §1. */
export const MAX_AGE_MS = 60_000;
/**
 * Choice: minimum milliseconds between two background refreshes: 2,000 handshakes at once cause one or two refreshes.
 */
export const MIN_INTERVAL_MS = 1_000;

export interface HealthRefreshOptions {
  readonly clock: { elapsed(): number; setTimeout(callback: () => void, ms: number): () => void };
  readonly summarise: () => Promise<Health>;
  /** Called with each new summary. */
  readonly publish: (health: Health) => void;
  /** Called when a background refresh failed. */
  readonly failed: (error: unknown) => void;
}

export interface HealthRefresh {
  /**
   * Returns the cached summary while it is fresh enough, and refreshes it in the background; otherwise a new summary.
   * @param fresh always wait for a new summary. @throws GatewayError `UNAVAILABLE` when the refresh fails
   */
  get(fresh: boolean): Promise<Health>;
  /** Refreshes soon, in the background; many requests within a second become one. */
  request(): void;
  /** The last summary, however old. */
  readonly last: Health | undefined;
  /** Cancels a pending refresh. Safe to call twice. */
  stop(): void;
}

export function createHealthRefresh({ clock, summarise, publish, failed }: HealthRefreshOptions): HealthRefresh {
  let last: { readonly health: Health; readonly at: number } | undefined;
  let running: Promise<Health> | undefined;
  let startedAt = -Infinity;
  let cancelPlanned: (() => void) | undefined;

  async function make(): Promise<Health> {
    const health = await summarise();
    last = { health, at: clock.elapsed() };
    publish(health);
    return health;
  }

  function refresh(): Promise<Health> {
    if (running) return running;
    startedAt = clock.elapsed();
    running = make().finally(() => {
      running = undefined;
    });
    return running;
  }

  function inBackground(): void {
    cancelPlanned = undefined;
    refresh().catch(failed);
  }

  function request(): void {
    if (cancelPlanned) return;
    const wait = startedAt + MIN_INTERVAL_MS - clock.elapsed();
    if (wait <= 0) inBackground();
    else cancelPlanned = clock.setTimeout(inBackground, wait);
  }

  return {
    async get(fresh) {
      if (!fresh && last && clock.elapsed() - last.at < MAX_AGE_MS) {
        request();
        return last.health;
      }
      try {
        return await refresh();
      } catch (error) {
        if (isGatewayError(error)) throw error;
        return unavailable("health could not be determined; see the log", { cause: error });
      }
    },
    request,
    get last() {
      return last?.health;
    },
    stop() {
      cancelPlanned?.();
      cancelPlanned = undefined;
    },
  };
}
