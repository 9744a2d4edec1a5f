/**
 * Watchdog: detects when the event loop is blocked, and names the plugin that blocks it.
 *
 * A separate thread watches a counter that the main thread increments several times a second. The thread reports while the loop is
 * blocked, since the main thread cannot; afterwards the host attributes the block to the plugin. A block is at least one second.
 */
import { join } from "node:path";
import { definePlugin, lazy } from "@svc/sdk";
import { EventLoopOwners, GatewayInfo } from "@svc/sdk/gateway";

/** Delay of its start, so that it does not slow down the start of the gateway. ms */
const DELAY_MS = 1_000;

/** Imported on first use, as it loads the runtime's debugger. */
const watchingCode = lazy(() => import("./watching.ts"));

export default definePlugin({
  id: "watchdog",
  api: "^1.0.0",
  requires: { info: GatewayInfo, owners: EventLoopOwners },

  setup(gateway) {
    const { log, services } = gateway;
    const { info, owners } = services;
    gateway.start(() => {
      if (process.env["SVC_WATCHDOG"]?.trim() === "off") return undefined;
      const reportFile = join(info.stateDir, "event-loop-report.json");
      let stopped = false;
      let watching: Promise<() => Promise<void>> | undefined;
      const begin = async () => {
        const { startWatching } = await watchingCode();
        return stopped ? async () => {} : startWatching({ log, owners, reportFile });
      };
      const delay = setTimeout(() => {
        watching = begin();
        watching.catch((error: unknown) => {
          log.warn({ err: error }, "the watchdog could not start; code that blocks the event loop is not reported");
        });
      }, DELAY_MS).unref();
      return async () => {
        stopped = true;
        clearTimeout(delay);
        const stop = await watching?.catch(() => undefined);
        await stop?.();
      };
    });
  },
});
