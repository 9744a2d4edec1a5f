/** One install at a time, and no lock that outlives its owner. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { leftovers, nextGeneration } from "../../../../plugins/plugins/install/generations.ts";
import { withInstallLock } from "../../../../plugins/plugins/install/lock.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-lock-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe("the lock of installs", { timeout: 120_000 }, () => {
  it("lets a second one wait for the first", async (t) => {
    const directory = place(t);
    const order: string[] = [];
    const one = withInstallLock(directory, async () => {
      order.push("first begins");
      await new Promise((resolve) => setTimeout(resolve, 50));
      order.push("first ends");
    });
    await Promise.all([one, withInstallLock(directory, async () => void order.push("second"))]);
    assert.deepEqual(order, ["first begins", "first ends", "second"]);
    assert.ok(!existsSync(join(directory, ".lock")));
  });

  it("is taken from another machine's process that gave no sign for a minute, and not before", async (t) => {
    const directory = place(t);
    const lock = join(directory, ".lock");
    writeFileSync(lock, JSON.stringify({ pid: 1, host: "elsewhere", id: "x" }));
    await assert.rejects(
      withInstallLock(directory, async () => undefined),
      { name: "InstallFailure", step: "lock", message: /another install, update or removal is under way/ },
    );
    const before = new Date(Date.now() - 61_000);
    utimesSync(lock, before, before);
    assert.equal(await withInstallLock(directory, async () => "mine"), "mine");
  });

  it("passes on what the work throws", async (t) => {
    await assert.rejects(
      withInstallLock(place(t), () => Promise.reject(new Error("of the work"))),
      /of the work/,
    );
  });
});

describe("what installs leave behind", () => {
  it("is found by what the record does not name, and a new generation never takes its number", (t) => {
    const directory = place(t);
    for (const path of ["pen/gen-1", "pen/gen-2", "pen/gen-7", "ink/gen-1", ".staging-abc", "somebody"])
      mkdirSync(join(directory, path), { recursive: true });
    writeFileSync(join(directory, "installed.json.12.abc.tmp"), "");
    writeFileSync(join(directory, "somebody/file"), "");
    const version = {
      source: "npm" as const,
      spec: "pen",
      name: "pen",
      version: "1",
      integrity: "",
      tree: "",
      agreed: [],
      installedAt: 0,
    };
    const plugin = {
      ...version,
      directory: "pen/gen-2",
      generation: 2,
      previous: { ...version, directory: "pen/gen-1", generation: 1 },
    };
    assert.deepEqual(leftovers(directory, new Map([["pen", plugin]])).sort(), [
      ".staging-abc",
      "ink",
      "installed.json.12.abc.tmp",
      "pen/gen-7",
    ]);
    assert.equal(nextGeneration(directory, "pen", plugin), 8);
    assert.equal(nextGeneration(directory, "new", undefined), 1);
  });
});
