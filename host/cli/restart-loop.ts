/** Keeps a gateway running over its restarts, in one process. */
import type { Clock } from "@svc/sdk";
import { settled } from "../clock.ts";
import type { Restarter } from "../restarts.ts";

/** Milliseconds between two attempts to start again. Choice. */
const RETRY = 5_000;

/** Milliseconds clients are told that a restart takes. */
const RESTART_EXPECTED = 1_500;

export interface Restartable {
  stop(reason?: string, options?: { readonly restartExpectedMs?: number }): Promise<void>;
}

export interface RestartLoop<G extends Restartable> {
  /** Starts a gateway. `former`: the one before it, which is stopped. @throws why it refuses to start */
  start(restart: Restarter, former: G | undefined): Promise<G>;
  /** The gateway is up. `reason`: of the restart; `undefined` for the first one. */
  up(gateway: G, reason: string | undefined): Promise<void>;
  /** The next start failed; it is tried again. */
  failed(error: unknown, retryMs: number): void;
  /** Resolves when it is over. */
  readonly ended: Promise<unknown>;
  /** Calls `ask` whenever somebody outside wants a restart. */
  onRequest(ask: (reason: string) => void): void;
  readonly clock: Clock;
}

/**
 * Runs until `ended`, and stops the gateway then. @throws why the first start is refused
 * Choice: a refusal of a later one ends nothing, since the configuration that causes it can be corrected meanwhile.
 */
export async function runWithRestarts<G extends Restartable>(loop: RestartLoop<G>): Promise<void> {
  const { ended, clock, up } = loop;
  let over = false;
  void ended.then(() => (over = true));
  /** Takes the first wish for a restart of the gateway that runs; between two of them there is nothing to restart. */
  let ask = (_reason: string): void => {};
  loop.onRequest((reason) => ask(reason));
  let former: G | undefined;
  let lastPerformedAt: number | undefined;
  let reason: string | undefined;

  for (;;) {
    let perform = (_why: string): void => {};
    const asked = new Promise<string>((resolve) => (perform = resolve));
    ask = perform;
    const restart = { perform, ...(lastPerformedAt === undefined ? {} : { lastPerformedAt }) };
    let gateway: G;
    try {
      gateway = await loop.start(restart, former);
    } catch (error) {
      if (reason === undefined) throw error;
      if (over) return;
      loop.failed(error, RETRY);
      await settled(RETRY, clock, ended);
      if (over) return;
      continue;
    }
    await up(gateway, reason);
    reason = await Promise.race([asked, ended.then(() => undefined)]);
    ask = () => {};
    if (reason === undefined) return gateway.stop();
    lastPerformedAt = clock.now();
    await gateway.stop("gateway restarting", { restartExpectedMs: RESTART_EXPECTED });
    former = gateway;
  }
}
