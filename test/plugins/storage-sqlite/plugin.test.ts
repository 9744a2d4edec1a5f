import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PluginGateway } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import plugin from "../../../plugins/storage-sqlite/plugin.ts";
import { tempDirectory } from "./temp-directory.ts";

/** The used part of a gateway; `stateDir` is available once it starts. */
function fakeGateway(stateDir: string, config: object) {
  let provided: Storage | undefined;
  let begin: Parameters<PluginGateway["start"]>[0] | undefined;
  let starting = false;
  const gateway = {
    config: { busyTimeoutMs: 0, ...config },
    clock: { now: () => 0, elapsed: () => 0 },
    log: { error: () => {} },
    own: () => ({ list: () => [] }),
    extend: () => {},
    serve: () => {},
    after: () => {},
    every: () => {},
    get stateDir() {
      assert.ok(starting, "stateDir was touched in setup");
      return stateDir;
    },
    provide(token: unknown, value: Storage) {
      if (token === Storage) provided = value;
    },
    start(given: typeof begin) {
      begin = given;
    },
  };
  const start = async () => {
    starting = true;
    return begin?.();
  };
  const storage = () => provided ?? assert.fail("Storage was not provided");
  return { gateway: gateway as unknown as PluginGateway, storage, start };
}

describe("the plugin", () => {
  const files: [why: string, config: object, name: string][] = [
    ["svc.db by default", {}, "svc.db"],
    ["the file it is configured to", { file: "other.db" }, "other.db"],
  ];
  for (const [why, config, name] of files) {
    it(`provides Storage in setup, opens ${why} in start and closes it in stop`, async (t) => {
      const stateDir = tempDirectory(t);
      const { gateway, storage, start } = fakeGateway(stateDir, config);
      await plugin.setup(gateway);
      await assert.rejects(storage().get("SELECT 1"), { code: "UNAVAILABLE" });
      assert.equal(existsSync(join(stateDir, name)), false);

      const stop = await start();
      assert.equal(storage().location, join(stateDir, name));
      assert.deepEqual(await storage().get("SELECT 1 AS one"), { one: 1 });

      assert.ok(stop !== undefined);
      await stop();
      await assert.rejects(storage().get("SELECT 1"), { code: "UNAVAILABLE" });
    });
  }
});
