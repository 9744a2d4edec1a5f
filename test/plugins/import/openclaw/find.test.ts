/** Gateways that use a state directory of OpenClaw. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { runningOn } from "../../../../plugins/import/openclaw/find.ts";
import { root } from "../../../checkout.ts";
import { directory, put } from "../../../directory.ts";

const uid = String(process.getuid?.());
/** A port on which nothing answers. */
const NOBODY = 1;

function places(t: TestContext) {
  const state = directory(t);
  const [temporary, shared] = [directory(t), directory(t)];
  const hash = createHash("sha256")
    .update(join(realpathSync(state), "state/openclaw.sqlite"))
    .digest("hex")
    .slice(0, 8);
  const locks = join(shared, `openclaw-state-locks-${uid}`);
  const running = (port = NOBODY) => runningOn(state, { port, temporary, shared });
  return { state, temporary, locks, hash, running };
}

const HOLD = `const { DatabaseSync } = await import("@photostructure/sqlite");
  globalThis.held = new DatabaseSync(process.argv[1]);
  globalThis.held.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  console.log("held"); setInterval(() => {}, 1_000);`;

/** Holds a lock as the product does, in a process of its own, until `free` or the end of the test. */
async function hold(t: TestContext, path: string) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", HOLD, path], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const free = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, "exit");
  };
  t.after(free);
  await once(child.stdout, "data");
  return { pid: child.pid, free };
}

async function listening(t: TestContext): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return Object(server.address())["port"];
}

describe("runningOn", () => {
  it("trusts the process that a lock file names while it lives", async (t) => {
    const { state, temporary, running } = places(t);
    const lock = (pid: number, configPath: string) =>
      put(join(temporary, `openclaw-${uid}`, "gateway.1.lock"), JSON.stringify({ pid, configPath }));
    assert.equal(await running(), undefined);
    lock(process.pid, join(state, "openclaw.json"));
    assert.deepEqual(await running(), { pid: process.pid });
    lock(process.pid, "/elsewhere/openclaw.json");
    assert.equal(await running(), undefined);
    lock(2 ** 22 + 1, join(state, "openclaw.json"));
    assert.equal(await running(), undefined);
  });

  it("trusts a lock that a process holds on the lock database of this state, and names the process", async (t) => {
    const { locks, hash, running } = places(t);
    mkdirSync(locks, { mode: 0o700 });
    const held = await hold(t, join(locks, `gateway-lifecycle.${hash}.lock.sqlite`));
    await hold(t, join(locks, "gateway-lifecycle.00000000.lock.sqlite"));
    assert.deepEqual(await running(), process.platform === "linux" ? { pid: held.pid } : {});
    await held.free();
    assert.equal(await running(), undefined);
  });

  it("trusts a lock that a process holds in the state directory, and makes no file there", async (t) => {
    const { state, running } = places(t);
    const place = join(state, "tmp", `openclaw-${uid}`);
    mkdirSync(place, { recursive: true });
    const held = await hold(t, join(place, "gateway.1.lock.sqlite"));
    assert.ok(await running());
    await held.free();
    const before = statSync(join(place, "gateway.1.lock.sqlite")).mtimeMs;
    assert.equal(await running(await listening(t)), undefined); // a lock that is free, and another program on the port
    assert.deepEqual(
      [readdirSync(place), statSync(join(place, "gateway.1.lock.sqlite")).mtimeMs],
      [["gateway.1.lock.sqlite"], before],
    );
  });

  it("asks the port only where a lock cannot be checked", async (t) => {
    const { locks, hash, running } = places(t);
    const port = await listening(t);
    assert.equal(await running(port), undefined);
    mkdirSync(locks, { mode: 0o700 });
    writeFileSync(join(locks, `gateway-lifecycle.${hash}.lock.sqlite`), "this is no database, it is only a text");
    assert.deepEqual(await running(port), {});
    assert.equal(await running(), undefined);
  });

  it("opens no pipe in the place of a lock", async (t) => {
    const { locks, hash, running } = places(t);
    mkdirSync(locks, { mode: 0o700 });
    execFileSync("mkfifo", [join(locks, `gateway-lifecycle.${hash}.lock.sqlite`)]);
    assert.equal(await running(await listening(t)), undefined);
  });
});
