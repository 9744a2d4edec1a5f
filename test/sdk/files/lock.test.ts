/** Two processes never write the configuration at once, and one that was killed holds nobody up. Spec: design/reliability.md. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type LockLimits, withWriteLock } from "@svc/sdk/files";
import { tempDirectory } from "../../host/config/scene.ts";

const LIMITS: LockLimits = { stale: 300, patience: 800 };
const MODULE = import.meta.resolve("@svc/sdk/files");

/** Adds one, slowly, in steps that others could come between. */
async function increment(path: string): Promise<void> {
  const count = Number(await readFile(path, "utf8"));
  await pause(1);
  await writeFile(path, String(count + 1));
}

const holder = (pid: number, host = hostname()) => JSON.stringify({ pid, host, id: "AAAAAAAAAAAA" });
const endedPid = () => spawnSync(process.execPath, ["-e", ""]).pid;

describe("a write lock", () => {
  it("lets one in at a time, in this process and in others, also when many find one abandoned", async (t) => {
    const path = join(tempDirectory(t), "counter");
    writeFileSync(path, "0");
    writeFileSync(`${path}.lock`, holder(endedPid()));
    const script = `
      import { readFile, writeFile } from "node:fs/promises";
      import { setTimeout as pause } from "node:timers/promises";
      import { withWriteLock } from ${JSON.stringify(MODULE)};
      const increment = ${increment.toString()};
      const path = ${JSON.stringify(path)};
      for (let turn = 0; turn < 20; turn++) await withWriteLock(path, () => increment(path));`;
    const processes = Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
      const [code] = (await once(child, "exit")) as [number];
      assert.equal(code, 0);
    });
    const here = Array.from({ length: 20 }, () => withWriteLock(path, () => increment(path)));
    await Promise.all([...processes, ...here]);
    assert.equal(readFileSync(path, "utf8"), "80");
    assert.ok(!existsSync(`${path}.lock`));
  });

  const ABANDONED: readonly (readonly [string, () => string])[] = [
    ["of a process that ended", () => holder(endedPid())],
    ["of an earlier process with the id of this one", () => holder(process.pid)],
    ["of another machine, when nothing moves", () => holder(process.pid, "elsewhere")],
    ["of a process that stands still", () => holder(process.ppid)],
    ["that was cut off before it said whose it is", () => ""],
    ["that says nothing to us", () => "[1, 2"],
  ];
  for (const [what, text] of ABANDONED) {
    it(`takes over one ${what}`, async (t) => {
      const path = join(tempDirectory(t), "file");
      writeFileSync(`${path}.lock`, text());
      assert.equal(await withWriteLock(path, async ({ isMine }) => isMine(), LIMITS), true);
      assert.ok(!existsSync(`${path}.lock`));
    });
  }

  it("takes over one that is a link to nowhere, and writes nothing behind it", async (t) => {
    const path = join(tempDirectory(t), "file");
    symlinkSync(`${path}.elsewhere`, `${path}.lock`);
    await withWriteLock(path, async () => undefined, LIMITS);
    assert.ok(!existsSync(`${path}.elsewhere`));
  });

  it("tells a holder that stood still for long that it lost it, and leaves the other's alone", async (t) => {
    const path = join(tempDirectory(t), "file");
    await withWriteLock(
      path,
      async ({ isMine }) => {
        writeFileSync(`${path}.lock`, holder(process.ppid));
        assert.equal(isMine(), false);
      },
      LIMITS,
    );
    assert.equal(readFileSync(`${path}.lock`, "utf8"), holder(process.ppid));
  });

  it("is given up when others keep it, which it names", async (t) => {
    const path = join(tempDirectory(t), "file");
    let count = 0;
    const churn = () => {
      writeFileSync(`${path}.next`, holder(process.ppid).replace("AAAA", `A${count++}`));
      renameSync(`${path}.next`, `${path}.lock`); // never seen half
    };
    churn();
    const timer = setInterval(churn, 20);
    t.after(() => clearInterval(timer));
    const works: string[] = [];
    await assert.rejects(
      withWriteLock(path, async () => works.push("ran"), LIMITS),
      /other processes keep writing it \(.*file\.lock is held by \{"pid":\d+/,
    );
    assert.deepEqual(works, []);
  });

  it("is free again after work that failed, and cannot be had where nothing can be written", async (t) => {
    const root = tempDirectory(t);
    const path = join(root, "file");
    await assert.rejects(
      withWriteLock(path, () => Promise.reject(new Error("no luck"))),
      /no luck/,
    );
    assert.ok(!existsSync(`${path}.lock`));
    await assert.rejects(
      withWriteLock(join(root, "none/file"), async () => undefined),
      { code: "ENOENT" },
    );
    mkdirSync(`${path}.lock`);
    await assert.rejects(
      withWriteLock(path, async () => undefined),
      { code: "EISDIR" },
    );
  });
});
