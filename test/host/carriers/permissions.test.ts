/** A plugin's process can access only the files, programs and environment its package asks for. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { environmentOf, permissionFlags } from "../../../host/carriers/permission-flags.ts";
import { directoryOf } from "../kernel/reload-scene.ts";
import { isolationScene } from "./scene.ts";

const TRIES = `
  import * as fs from "node:fs"; import * as child from "node:child_process"; import * as threads from "node:worker_threads"; import * as path from "node:path";
  const attempt = (work: () => unknown) => { try { work(); return "ok"; } catch (error: any) { return error.code ?? error.message; } };
`;
const SETUP = `
  serve("read", ({ params }) => attempt(() => fs.readFileSync(params.path)));
  serve("write", ({ params }) => attempt(() => fs.writeFileSync(params.path, "x")));
  serve("own", () => attempt(() => fs.writeFileSync(path.join(gateway.stateDir, "own"), "x")));
  serve("link", ({ params }) => attempt(() => { const at = path.join(gateway.stateDir, "link"); fs.symlinkSync(params.path, at); return fs.readFileSync(at); }));
  serve("exec", () => attempt(() => child.execFileSync("true")));
  serve("thread", () => attempt(() => new threads.Worker("", { eval: true })));
  serve("env", () => Object.keys(process.env).sort());
`;

describe("a plugin's own process", () => {
  it("denies everything the package does not ask for", async (t) => {
    process.env["GUEST_SECRET"] = "canary";
    t.after(() => delete process.env["GUEST_SECRET"]);
    const { ask, home } = await isolationScene(t, { before: TRIES, setup: SETUP }, { run: "process" });
    const path = join(home, "elsewhere");
    await writeFile(path, "secret");
    const denied = "ERR_ACCESS_DENIED";
    assert.deepEqual(
      await Promise.all(["read", "write", "link", "exec", "thread", "own"].map((key) => ask(key, { path }))),
      [denied, denied, denied, denied, denied, "ok"],
    );
    const names = (await ask("env")) as string[];
    assert.ok(!names.includes("GUEST_SECRET") && !names.includes("HOME"), names.join(" "));
  });

  it("grants everything the package asks for", async (t) => {
    process.env["GUEST_WANTED"] = "1";
    t.after(() => delete process.env["GUEST_WANTED"]);
    const home = await directoryOf(t);
    const path = join(home, "shared");
    await writeFile(path, "x");
    const permissions = { files: { write: [home] }, exec: true, env: ["GUEST_WANTED"] };
    const { ask } = await isolationScene(
      t,
      { before: TRIES, setup: SETUP, manifest: { permissions } },
      { run: "process" },
    );
    assert.deepEqual(await Promise.all(["read", "write", "exec"].map((key) => ask(key, { path }))), ["ok", "ok", "ok"]);
    assert.ok(((await ask("env")) as string[]).includes("GUEST_WANTED"));
  });

  it("cannot access the files of other plugins or the gateway's compile cache", async (t) => {
    const { ask, stateDir } = await isolationScene(t, { before: TRIES, setup: SETUP }, { run: "process" });
    for (const path of ["svc.json", "plugins/other/x", "cache/x", "credentials/gateway-token"])
      assert.equal(await ask("write", { path: join(stateDir, path) }), "ERR_ACCESS_DENIED", path);
  });
});

describe("permissionFlags", () => {
  const base = { code: ["/code"], own: ["/own"], home: "/home/x", known: new Set<string>() };

  it("lists each outermost directory once: nested ones crash Node 20 with a failed assertion", () => {
    const permissions = { files: { read: ["~/notes", "/code/inner", "relative"], write: ["/own/deep", "/data/"] } };
    assert.deepEqual(permissionFlags({ ...base, permissions }), [
      "--experimental-permission",
      "--allow-fs-read=/code",
      "--allow-fs-read=/own",
      "--allow-fs-read=/home/x/notes",
      "--allow-fs-read=/data",
      "--allow-fs-write=/own",
      "--allow-fs-write=/data",
    ]);
  });

  it("uses the flags the runtime supports", () => {
    const known = new Set(["--permission", "--allow-net"]);
    const flags = permissionFlags({ ...base, known, permissions: { exec: true, net: ["irc.example:6697"] } });
    assert.deepEqual([flags[0], ...flags.slice(-2)], ["--permission", "--allow-child-process", "--allow-net"]);
  });
});

it("environmentOf: the requested variables, and those every program needs", () => {
  const all = { PATH: "/bin", HOME: "/home/x", KEY: "k", OTHER: "o" };
  assert.deepEqual(environmentOf({ env: ["KEY", "ABSENT"] }, all), { PATH: "/bin", KEY: "k" });
});
