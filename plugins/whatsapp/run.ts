/** One run of an account. There is no connection to hold: it probes the Graph API from time to time. */
import { type Clock, isGatewayError, messageOf, pause } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { identify } from "./api.ts";
import type { Settings } from "./config.ts";

/** A running account, for the webhook. */
export interface LiveAccount {
  readonly run: ChannelRun<Settings>;
  /** Work that nobody waits for; the run ends after it. */
  background(work: Promise<unknown>): void;
}

/**
 * @param live running accounts by id
 * @throws GatewayError `NOT_LINKED`: the token is refused; for the first probe also the other errors of `identify`
 */
export async function runAccount(run: ChannelRun<Settings>, clock: Clock, live: Map<string, LiveAccount>) {
  const { accountId, settings, signal, report } = run;
  const working = new Set<Promise<unknown>>();
  const background = (work: Promise<unknown>) => {
    const settled = work.catch(() => undefined).finally(() => working.delete(settled));
    working.add(settled);
  };
  const own: LiveAccount = { run, background };
  const ms = Math.min(15_000, Math.max(1_000, settings.pingMs));
  let isConnected = false;
  const probe = async () => {
    const { name, number } = await identify(settings, { clock, signal, ms });
    run.alive();
    live.set(accountId, own);
    if (!isConnected) report({ state: "connected", detail: `${name} (${number})` });
    isConnected = true;
  };
  report({ state: "connecting" });
  try {
    await probe();
    for (;;) {
      await pause(settings.pingMs, clock, signal);
      await probe().catch((error: unknown) => {
        if (signal.aborted || (isGatewayError(error) && error.code === "NOT_LINKED")) throw error;
        if (isConnected) report({ state: "disconnected", detail: messageOf(error) });
        isConnected = false;
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (live.get(accountId) === own) live.delete(accountId);
    await Promise.all(working);
  }
}
