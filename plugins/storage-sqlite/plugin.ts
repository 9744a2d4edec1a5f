/** Durable tables in one SQLite file. The work runs in a worker thread, `worker.ts`. */
import { definePlugin, Type } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { serveStorage } from "@svc/kit/storage";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { resolve } from "node:path";
import { createStorage } from "./storage.ts";
import { measureTables } from "./usage-thread.ts";
import { rewrite } from "./vacuum.ts";

export default definePlugin({
  id: "storage-sqlite",
  api: "^1.0.0",
  requires: { host: GatewayInfo },
  provides: [Storage, Ownership],
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
    const { clock, log, services } = gateway;
    const { storage, space, isAlone, open, close } = createStorage({ clock, log });
    gateway.provide(Storage, storage);
    gateway.extend(Retention, "migrations", {
      tables: ["svc_migrations", "svc_appended"],
      holds: "migration steps that were applied, by plugin; how many appended transactions ran",
      rule: "never deleted; one row per step, and one row",
    });
    const tables = (signal: AbortSignal) => measureTables(storage.location, signal);
    const engine = { storage, space, tables, isAlone, rewrite: () => rewrite({ storage, space, clock }) };
    const { join, leave } = serveStorage(gateway, engine, () => services.host.stateDir);
    gateway.start(async () => {
      await open({ file: resolve(gateway.stateDir, file), busyTimeoutMs });
      await join();
      return async () => {
        await leave();
        await close();
      };
    });
  },
});
