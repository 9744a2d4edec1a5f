/** Keeps a gateway running across restarts within its process, until a restart needs a new process. */
import type { Clock } from "@svc/sdk";
import type { RestartKind } from "@svc/sdk/gateway";
import type { Restarter } from "@svc/host";
import { settled } from "@svc/host/local";

/** Milliseconds between two restart attempts. Choice. */
const RETRY = 5_000;

/** Restart duration in milliseconds announced to clients. */
const RESTART_EXPECTED: Readonly<Record<RestartKind, number>> = { gateway: 1_500, process: 5_000 };

/** Drain time in milliseconds of a restart requested by a plugin or the configuration: the gateway already waited before the request. */
const RESTART_DRAIN = 5_000;

export interface Restartable {
  stop(reason?: string, options?: { readonly restartExpectedMs?: number; readonly drainMs?: number }): Promise<void>;
}

export interface RestartLoop<G extends Restartable> {
  /** Starts a gateway. `former`: the previous gateway, already stopped. @throws the reason for refusing to start */
  start(restart: Restarter, former: G | undefined): Promise<G>;
  /** Called when the gateway is up. `reason`: why it was restarted; `undefined` for the first start. */
  up(gateway: G, reason: string | undefined): Promise<void>;
  /** Called when a restart failed; the loop retries. */
  failed(error: unknown, retryMs: number): void;
  /** Resolves when the loop must end, with the options for stopping the last gateway. */
  readonly ended: Promise<{ readonly drainMs?: number }>;
  /** Registers `ask`, to be called on each external restart request. */
  onRequest(ask: (reason: string) => void): void;
  readonly clock: Clock;
  /** epoch ms of the restart that started this process. Absent after a fresh start. */
  readonly lastPerformedAt?: number;
}

/** A restart that needs a new process. The previous gateway is already stopped. */
export interface Renewal<G> {
  readonly reason: string;
  readonly former: G;
  /** epoch ms */
  readonly at: number;
}

/**
 * Runs until `ended`, then stops the gateway. @throws the reason if the first start is refused
 * @returns the data for a new process; `undefined` if the loop ended
 * Choice: if a later start is refused, the loop retries, since the operator can correct the configuration meanwhile.
 */
export async function runWithRestarts<G extends Restartable>(loop: RestartLoop<G>): Promise<Renewal<G> | undefined> {
  const { ended, clock, up } = loop;
  let over = false;
  void ended.then(() => (over = true));
  /** Accepts the first restart request for the running gateway; does nothing while no gateway runs. */
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
      kinds.add(how); // counts even while the gateway stops for a weaker kind of restart
      begin(why);
    };
    let hasWaited = true;
    ask = (why) => {
      hasWaited = false; // this request did not wait for work in flight
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
