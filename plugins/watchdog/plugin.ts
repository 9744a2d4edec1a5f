/**
 * Watchdog: notices when the event loop is blocked, and names the plugin that blocks it.
 *
 * A thread of its own watches a counter that the main thread raises several times a second. It reports while the loop is still
 * blocked, since the main thread cannot; afterwards the host attributes the block to the plugin. A block counts from one second on.
 */
import { join } from "node:path";
import { definePlugin, lazy } from "@svc/sdk";
import { EventLoopOwners, GatewayInfo } from "@svc/sdk/gateway";

/** Milliseconds until it starts: a gateway that begins to serve has better things to do. */
const DELAY_MS = 1_000;

/** Loads the runtime's debugger. */
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
          log.warn({ err: error }, "the watchdog cannot start; blocks of the event loop are not reported");
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
