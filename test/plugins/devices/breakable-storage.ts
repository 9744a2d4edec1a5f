/** SQLite that a test can break. */
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import { createStorage } from "../../../plugins/storage-sqlite/storage.ts";

/** Which operations fail now. */
export interface Broken {
  reads: boolean;
  writes: boolean;
}

/** Fails with `fail` while `broken` says so. */
export function breakable(broken: Broken, fail: () => never): Plugin {
  return definePlugin({
    id: "breakable",
    api: "^1.0.0",
    provides: [Storage],
    setup(gateway) {
      const { storage, open, close } = createStorage({ clock: gateway.clock, log: gateway.log });
      gateway.provide(Storage, {
        location: storage.location,
        migrate: (owner, steps) => storage.migrate(owner, steps),
        all: async (sql, params) => (broken.reads ? fail() : storage.all(sql, params)),
        get: async (sql, params) => (broken.reads ? fail() : storage.get(sql, params)),
        transaction: async (statements) => (broken.writes ? fail() : storage.transaction(statements)),
      });
      gateway.start(async () => {
        await open({ file: join(gateway.stateDir, "test.db"), busyTimeoutMs: 1_000 });
        return close;
      });
    },
  });
}
