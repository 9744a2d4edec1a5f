import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { lockStateDir } from "../../../host/cli/state-lock.ts";
import { directory } from "../../directory.ts";
import { home } from "./svc.ts";

/** A state directory whose gateway was killed. */
async function abandoned(t: TestContext): Promise<string> {
  const stateDir = directory(t);
  const path = join(stateDir, "gateway.sock");
  const dead = createServer().listen(`${path}.dead`);
  await once(dead, "listening");
  renameSync(`${path}.dead`, path); // so that closing does not remove it
  await new Promise((resolve) => dead.close(resolve));
  assert.ok(existsSync(path));
  return stateDir;
}

describe("the lock of a state directory", { timeout: 120_000 }, () => {
  it("is held by one process, and free again after its release", async (t) => {
    const stateDir = directory(t);
    const first = await lockStateDir(stateDir);
    await assert.rejects(lockStateDir(stateDir), { name: "StateDirHeld", message: /another gateway uses.*\nNext: / });
    first.release();
    first.release();
    (await lockStateDir(stateDir)).release();
  });

  it("is taken over when its holder was killed", async (t) => {
    const stateDir = await abandoned(t);
    const { warning, release } = await lockStateDir(stateDir);
    assert.equal(warning, undefined);
    await assert.rejects(lockStateDir(stateDir), { name: "StateDirHeld" });
    release();
  });

  it("is taken over by exactly one of many concurrent processes", async (t) => {
    for (let round = 0; round < 10; round++) {
      const stateDir = await abandoned(t);
      const all = await Promise.allSettled(Array.from({ length: 5 }, () => lockStateDir(stateDir)));
      const held = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const warnings = held.map(({ warning }) => warning);
      assert.deepEqual(warnings, [undefined], `round ${round}`);
      held.forEach(({ release }) => release());
    }
  });

  it(
    "tells the next one who holds it, also below a long path",
    { skip: process.platform !== "linux" && "descriptors have no paths here" },
    async (t) => {
      const stateDir = join(directory(t), "a".repeat(120));
      mkdirSync(stateDir);
      const first = await lockStateDir(stateDir);
      assert.equal(first.warning, undefined);
      first.describe(() => ({ url: "ws://127.0.0.1:18789", drainMs: 0, busy: [], clients: 0, others: 0 }));
      const told = new RegExp(`process ${process.pid}, since 20.*, at ws://127\\.0\\.0\\.1:18789\nNext: `);
      await assert.rejects(lockStateDir(stateDir), { name: "StateDirHeld", message: told });
      first.release();
      (await lockStateDir(stateDir)).release();
    },
  );
});

describe("svc gateway run on one state directory", { timeout: 120_000 }, () => {
  const few = { plugins: { use: ["config"] } };

  it("refuses a second gateway, and starts one after the first was killed", async (t) => {
    const here = home(t, few);
    const first = await here.run();
    const second = await here.svc(["gateway", "run", "--port", "0"]);
    assert.equal(second.code, 4);
    const told =
      /^another gateway uses the state directory .*: process \d+, since .*, at ws:.*\nNext: svc gateway status/;
    assert.match(second.stderr, told);
    await first.stop("SIGKILL");
    const third = await here.run();
    assert.equal((await third.stop()).code, 0);
  });
});
