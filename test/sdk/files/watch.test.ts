import assert from "node:assert/strict";
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { watchPlaces } from "@svc/sdk/files";
import { systemClock } from "../../../host/clock.ts";
import { tempDirectory } from "../../host/config/scene.ts";

describe("watching places", () => {
  it("begins again when a directory turns into a file while it is read", { timeout: 120_000 }, async (t) => {
    const root = tempDirectory(t);
    const place = join(root, "place");
    mkdirSync(place);
    let looks = 0;
    const ignored = (path: string) => {
      // The third look comes after the watcher found a directory, and before it reads it: now it is never ready.
      if (path === place && ++looks === 3) {
        rmdirSync(place);
        writeFileSync(place, "1");
      }
      return path !== root && path !== place;
    };
    let beganAgain = 0;
    /** Its seconds are short. */
    const setTimeout = (callback: () => void, ms: number) =>
      systemClock.setTimeout(() => {
        if (ms > 0) beganAgain++;
        callback();
      }, ms / 20);
    let changed = () => {};

    const stop = await watchPlaces({
      places: async () => ({ key: "", roots: [root], ignored }),
      quietMs: () => 0,
      changed: () => changed(),
      failed: (error) => assert.fail(String(error)),
      clock: { ...systemClock, setTimeout },
    });
    t.after(stop);
    assert.ok(beganAgain > 0, "the directory was read before it turned into a file");
    await new Promise<void>((resolve) => {
      changed = resolve;
      writeFileSync(place, "22");
    });
  });

  it("keeps nothing open when it stops while files are removed", { timeout: 120_000 }, async (t) => {
    const base = tempDirectory(t);
    for (let round = 0; round < 20; round++) {
      const root = join(base, String(round));
      mkdirSync(root);
      for (const name of ["a", "b", "c"]) writeFileSync(join(root, name), "1");
      const stop = await watchPlaces({
        places: async () => ({ key: "", roots: [root], ignored: () => false }),
        quietMs: () => 0,
        changed() {},
        failed: (error) => assert.fail(String(error)),
        clock: systemClock,
      });
      rmSync(root, { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, round % 5));
      await stop();
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual(
      process.getActiveResourcesInfo().filter((kind) => kind === "FSEventWrap"),
      [],
    );
  });
});
