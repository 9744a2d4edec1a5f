/** Durable tables in one SQLite file. The work runs in a worker thread, `worker.ts`. */
import { definePlugin, Type } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Retention, storage as contract, Storage } from "@svc/sdk/storage";
import { resolve } from "node:path";
import { createKeeper } from "./keeper.ts";
import { createStorage } from "./storage.ts";
import { rewrite } from "./vacuum.ts";

/** Choice: milliseconds from the start to the first cleaning, and between two cleanings. */
const FIRST_CLEANING_MS = 60_000;
const CLEANING_MS = 3_600_000;

export default definePlugin({
  id: "storage-sqlite",
  api: "^1.0.0",
  requires: { host: GatewayInfo },
  provides: [Storage],
  config: Type.Object({
    file: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Database file, relative to the plugin's state directory. Default svc.db",
      }),
    ),
    busyTimeoutMs: Type.Integer({
      default: 2_000,
      minimum: 0,
      maximum: 60_000,
      description: "Milliseconds to wait while another program locks the file; 0 fails at once",
    }),
  }),

  setup(gateway) {
    const { file = "svc.db", busyTimeoutMs } = gateway.config;
    const { clock, log, services, signal } = gateway;
    const { storage, space, open, close } = createStorage({ clock, log });
    const view = gateway.own(Retention);
    const keeper = createKeeper({ storage, space, view, clock, log, stateDir: () => services.host.stateDir, signal });
    gateway.provide(Storage, storage);
    gateway.extend(Retention, "migrations", {
      tables: ["svc_migrations", "svc_appended"],
      holds: "migration steps that were applied, by plugin; how many appended transactions ran",
      rule: "never deleted; one row per step, and one row",
    });
    gateway.serve(contract, {
      usage: () => keeper.usage(),
      async clean({ params: { dryRun = false, vacuum = false } }) {
        const items = await keeper.clean(dryRun);
        return vacuum && !dryRun ? { items, vacuum: await rewrite({ storage, space, clock }) } : { items };
      },
    });
    const clean = async () => void (await keeper.clean(false));
    gateway.after(FIRST_CLEANING_MS, clean);
    gateway.every(CLEANING_MS, clean);
    gateway.start(async () => {
      await open({ file: resolve(gateway.stateDir, file), busyTimeoutMs });
      return close;
    });
  },
});
