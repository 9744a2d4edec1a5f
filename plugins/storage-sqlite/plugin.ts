/** Durable tables in one SQLite file. The work runs in a thread of its own, `worker.ts`. */
import { definePlugin, Type } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import { resolve } from "node:path";
import { createStorage } from "./storage.ts";

export default definePlugin({
  id: "storage-sqlite",
  api: "^1.0.0",
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
      description: "Milliseconds to wait for another program that holds the file; 0 fails at once",
    }),
  }),

  setup(gateway) {
    const { file = "svc.db", busyTimeoutMs } = gateway.config;
    const { storage, open, close } = createStorage({ clock: gateway.clock, log: gateway.log });
    gateway.provide(Storage, storage);
    gateway.start(async () => {
      await open({ file: resolve(gateway.stateDir, file), busyTimeoutMs });
      return close;
    });
  },
});
