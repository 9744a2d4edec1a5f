/** What a plugin needs that acts on a state which other gateways may use. */
import { type Clock, pause, type PluginGateway, Turns } from "@svc/sdk";
import type { Owner, Ownership } from "@svc/sdk/storage";

/** Choice: milliseconds until a failed look is repeated. */
const RETRY_MS = 1_000;

/**
 * The owner of this generation, to be called in `start`. When its lease ends, the plugin is restarted; when the plugin stops, the resources of the
 * owner are free.
 * @param look called when rows may have become free or were given to this gateway; repeated until it succeeds
 * @throws SetupOutcome `not-ready` while the gateway has no lease: the start is repeated
 */
export async function ownerOf(
  { clock, log, signal, restart }: Pick<PluginGateway, "clock" | "log" | "restart" | "signal">,
  ownership: Ownership,
  look: () => Promise<unknown>,
): Promise<Owner> {
  const owner = await ownership.owner();
  const ended = () => restart("the lease of this gateway has ended");
  owner.signal.addEventListener("abort", ended, { once: true, signal });
  const turns = new Turns();
  const changed = async () => {
    while (!signal.aborted) {
      try {
        return void (await look());
      } catch (err) {
        log.warn({ err }, "what another gateway has left could not be taken over; retrying");
        await pause(RETRY_MS, clock, signal);
      }
    }
  };
  const unfollow = ownership.changed(() => void turns.take("look", changed));
  const stopped = () => {
    unfollow();
    void owner.end();
  };
  signal.addEventListener("abort", stopped, { once: true });
  return owner;
}

/**
 * Calls `leave` when this gateway is about to stop and others go on, for what it need not finish itself. Not called on a gateway alone on its state.
 * @param leave gives work up; then the others are told
 */
export function whenLeaving(
  { hooks, log }: Pick<PluginGateway, "hooks" | "log">,
  ownership: () => Ownership | undefined,
  leave: () => Promise<unknown>,
): void {
  hooks.hostStopping.tap(async () => {
    if ((ownership()?.others ?? 0) === 0) return;
    await leave().catch((err: unknown) =>
      log.warn({ err }, "work could not be left to other gateways yet; they take it when this one has stopped"),
    );
    ownership()?.freed();
  });
}

/** The clock with the time of the database: what one gateway schedules is due at the same moment for all of them. */
export function sharedClock(clock: Clock, ownership: Pick<Ownership, "aheadMs">): Clock {
  return {
    now: () => clock.now() + ownership.aheadMs,
    elapsed: () => clock.elapsed(),
    setTimeout: (work, ms) => clock.setTimeout(work, ms),
    setInterval: (work, ms) => clock.setInterval(work, ms),
  };
}
