/** Keeps the last health summary, and makes a new one often enough but never twice at a time. */
import { isGatewayError, unavailable } from "@svc/sdk";
import type { Health } from "./summary.ts";

/** Milliseconds a summary may be answered from memory. Spec: protocol/methods-health.md §1. */
export const MAX_AGE_MS = 60_000;
/** Choice: milliseconds between two refreshes nobody waits for, so that 2,000 handshakes at once cost one or two. */
export const MIN_INTERVAL_MS = 1_000;

export interface HealthRefreshOptions {
  readonly clock: { elapsed(): number; setTimeout(callback: () => void, ms: number): () => void };
  readonly summarise: () => Promise<Health>;
  /** A fresh summary is there. */
  readonly publish: (health: Health) => void;
  /** A refresh that nobody waits for failed. */
  readonly failed: (error: unknown) => void;
}

export interface HealthRefresh {
  /**
   * The summary: from memory while it is young enough (a new one is then made behind it), else a new one.
   * @param fresh always make a new one. @throws GatewayError `UNAVAILABLE` when that fails
   */
  get(fresh: boolean): Promise<Health>;
  /** Makes a new one soon; many requests within a second become one. */
  request(): void;
  /** The last one, however old. */
  readonly last: Health | undefined;
  /** Forgets what was requested. Safe to call twice. */
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
        return unavailable("health could not be determined; the log says why", { cause: error });
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
