// long: waits for watched files
/** Real files and events: changes that a deployment makes to the transforms directory. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock } from "../../../../host/clock.ts";
import { watchTransforms } from "../../../../plugins/webhooks/transforms/watch.ts";
import { tempDirectory } from "../../../host/config/scene.ts";

const log = { debug() {}, info() {}, warn() {}, error: (about: unknown) => assert.fail(String(about)) };

describe("watching the transforms", () => {
  it("reports each change, also in directories that replaced others", { timeout: 120_000 }, async (t) => {
    const base = tempDirectory(t);
    const root = join(base, "hooks");
    const directory = join(root, "transforms");
    mkdirSync(directory, { recursive: true });
    let wake = () => {};
    const stop = await watchTransforms({
      root,
      directory: "transforms",
      clock: systemClock,
      log,
      changed: () => wake(),
    });
    t.after(stop);
    /** Waits for quiet first, so that the next event belongs to this change. */
    const told = async (change: () => void) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      const next = new Promise<void>((resolve) => (wake = resolve));
      change();
      await next;
    };
    const replace = (place: string) => {
      cpSync(place, join(base, "new"), { recursive: true });
      rmSync(place, { recursive: true });
      renameSync(join(base, "new"), place);
    };

    await told(() => writeFileSync(join(directory, "a.ts"), "1"));
    await told(() => replace(directory));
    await told(() => writeFileSync(join(directory, "b.ts"), "1"));
    await told(() => mkdirSync(join(directory, "c.ts")));
    await told(() => {
      rmSync(join(directory, "c.ts"), { recursive: true });
      writeFileSync(join(directory, "c.ts"), "1");
    });
    await told(() => writeFileSync(join(directory, "c.ts"), "22"));
    await told(() => replace(root));
    await told(() => writeFileSync(join(directory, "d.ts"), "1"));
  });
});
