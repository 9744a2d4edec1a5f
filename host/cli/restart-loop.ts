/** Keeps a gateway running over its restarts within its process, until one needs a new process. */
import type { Clock } from "@svc/sdk";
import type { RestartKind } from "@svc/sdk/gateway";
import type { Restarter } from "@svc/host";
import { settled } from "@svc/host/local";

/** Milliseconds between two attempts to start again. Choice. */
const RETRY = 5_000;

/** Milliseconds clients are told that a restart takes. */
const RESTART_EXPECTED: Readonly<Record<RestartKind, number>> = { gateway: 1_500, process: 5_000 };

/** Milliseconds a restart that a plugin or the configuration asks for waits for work in flight: the gateway waited before it asked. */
const RESTART_DRAIN = 5_000;

export interface Restartable {
  stop(reason?: string, options?: { readonly restartExpectedMs?: number; readonly drainMs?: number }): Promise<void>;
}

export interface RestartLoop<G extends Restartable> {
  /** Starts a gateway. `former`: the one before it, which is stopped. @throws why it refuses to start */
  start(restart: Restarter, former: G | undefined): Promise<G>;
  /** The gateway is up. `reason`: of the restart; `undefined` for the first one. */
  up(gateway: G, reason: string | undefined): Promise<void>;
  /** The next start failed; it is tried again. */
  failed(error: unknown, retryMs: number): void;
  /** Resolves when it is over, with how the last gateway is stopped. */
  readonly ended: Promise<{ readonly drainMs?: number }>;
  /** Calls `ask` whenever somebody outside wants a restart. */
  onRequest(ask: (reason: string) => void): void;
  readonly clock: Clock;
  /** epoch ms of the restart that brought this process up. Absent after a fresh start. */
  readonly lastPerformedAt?: number;
}

/** A restart that only a new process can finish. The gateway before it is stopped. */
export interface Renewal<G> {
  readonly reason: string;
  readonly former: G;
  /** epoch ms */
  readonly at: number;
}

/**
 * Runs until `ended`, and stops the gateway then. @throws why the first start is refused
 * @returns what a new process has to go on with; `undefined`: it is over
 * Choice: a refusal of a later one ends nothing, since the configuration that causes it can be corrected meanwhile.
 */
export async function runWithRestarts<G extends Restartable>(loop: RestartLoop<G>): Promise<Renewal<G> | undefined> {
  const { ended, clock, up } = loop;
  let over = false;
  void ended.then(() => (over = true));
  /** Takes the first wish for a restart of the gateway that runs; between two of them there is nothing to restart. */
  let ask = (_reason: string): void => {};
  loop.onRequest((reason) => ask(reason));
  let former: G | undefined;
  let { lastPerformedAt } = loop;
  let reason: string | undefined;

  for (;;) {
    const kinds = new Set<RestartKind>();
    let begin = (_why: string): void => {};
    const asked = new Promise<string>((resolve) => (begin = resolve));
    const perform = (why: string, how: RestartKind = "gateway") => {
      kinds.add(how); // also while it stops for a weaker one
      begin(why);
    };
    let hasWaited = true;
    ask = (why) => {
      hasWaited = false; // nobody waited before this one
      perform(why);
    };
    const restart = { perform, renews: true, ...(lastPerformedAt === undefined ? {} : { lastPerformedAt }) };
    let gateway: G;
    try {
      gateway = await loop.start(restart, former);
    } catch (error) {
      if (reason === undefined) throw error;
      if (over) return undefined;
      loop.failed(error, RETRY);
      await settled(RETRY, clock, ended);
      if (over) return undefined;
      continue;
    }
    await up(gateway, reason);
    reason = await Promise.race([asked, ended.then(() => undefined)]);
    ask = () => {};
    if (reason === undefined) {
      await gateway.stop(undefined, await ended);
      return undefined;
    }
    lastPerformedAt = clock.now();
    const expected = RESTART_EXPECTED[kinds.has("process") ? "process" : "gateway"];
    await gateway.stop("gateway restarting", {
      restartExpectedMs: expected,
      ...(hasWaited ? { drainMs: RESTART_DRAIN } : {}),
    });
    if (kinds.has("process") && !over) return { reason, former: gateway, at: lastPerformedAt };
    former = gateway;
  }
}
