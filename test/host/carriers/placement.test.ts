/** Where a plugin runs, that it behaves the same there, and that its own process can access only what its package asks for. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ConfigStore } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { environmentOf, permissionFlags } from "../../../host/carriers/permission-flags.ts";
import type { PluginSource } from "../../../host/kernel/load.ts";
import type { Manifest, Placement } from "../../../host/kernel/manifest.ts";
import { placementOf } from "../../../host/kernel/placement.ts";
import { pluginOf } from "../../plugin-of.ts";
import { directoryOf } from "../kernel/reload-scene.ts";
import { isolationScene, packageAt, until } from "./scene.ts";

function source(isolation: Manifest["isolation"], isBundled = false): PluginSource {
  const manifest: Manifest = {
    id: "guest",
    api: "^1.0.0",
    entry: "./x.js",
    version: "1.0.0",
    directory: "/x",
    ...(isolation ? { isolation } : {}),
  };
  return { origin: "x", key: "x", manifest, isBundled, load: () => Promise.reject(new Error("not loaded")) };
}

describe("placementOf", () => {
  const all: Placement[] = ["host", "worker", "process"];
  const rows: [what: string, source: PluginSource, asked: Placement | undefined, Placement][] = [
    ["a package without `isolation`", source(undefined), undefined, "host"],
    ["one that supports a worker", source({ supports: all }), undefined, "worker"],
    ["one that prefers a process", source({ supports: all, default: "process" }), undefined, "process"],
    ["one that supports only a process", source({ supports: ["process"] }), undefined, "process"],
    ["a bundled one", source({ supports: all, default: "worker" }, true), undefined, "host"],
    ["a bundled one, placed by the operator", source({ supports: all }, true), "worker", "worker"],
    ["the operator overrides the package", source({ supports: ["host"] }), "worker", "worker"],
    ["the operator moves it to the host", source({ supports: all, default: "worker" }), "host", "host"],
  ];
  for (const [what, given, asked, expected] of rows)
    it(`${what}: ${expected}`, () => assert.equal(placementOf(given, asked), expected));

  it("a plugin in a single file runs in the host", () => {
    const file: PluginSource = { origin: "x", key: "x", manifest: undefined, load: source(undefined).load };
    assert.equal(placementOf(file, undefined), "host");
  });
});

const WHERE = `import { isMainThread, threadId, resourceLimits } from "node:worker_threads";`;

it("a plugin in a single file does not run if the operator places it elsewhere", async (t) => {
  const directory = await directoryOf(t);
  const file = join(directory, "spin.ts");
  await writeFile(
    file,
    `import { definePlugin } from "@svc/sdk"; export default definePlugin({ id: "spin", api: "^1.0.0", setup() {} });`,
  );
  const { gateway } = await testGateway(t, {
    plugins: [file],
    config: { plugins: { entries: { spin: { run: "worker" } } } },
  });
  const report = gateway.plugins().find(({ id }) => id === "spin");
  assert.equal(report?.state, "blocked");
  assert.match(report.reason ?? "", /^plugins\.entries\.spin\.run is worker, but .* \(svc plugins new spin\)/);
});

it("a configuration that places a plugin where it cannot run is refused with the reason", async (t) => {
  const directory = await directoryOf(t);
  const guest = await packageAt(join(directory, "guest"), { setup: `serve("ask", () => 1)` });
  const emitter = await packageAt(join(directory, "emitter"), {
    id: "emitter",
    setup: `gateway.emits(defineHook()("series", { name: "x", owner: "emitter", summary: "-" }))`,
  });
  let config: ConfigStore | undefined;
  const editor = pluginOf(
    "editor",
    { requires: { config: ConfigStore } },
    (gateway) => void (config = gateway.services.config),
  );
  const plugins = ["storage-sqlite", guest, emitter, editor];
  const { gateway } = await testGateway(t, { plugins, gateway: { config: undefined } }); // the file in the state directory
  const state = (id: string) => gateway.plugins().find((plugin) => plugin.id === id);
  for (const id of ["storage-sqlite", "guest", "emitter"]) assert.equal(state(id)?.state, "active", state(id)?.reason);
  const place = (id: string, run: Placement) =>
    config?.edit({ actor: "test", action: "test" }, () => [{ path: ["plugins", "entries", id, "run"], value: run }]);
  const refused: [id: string, run: Placement, why: RegExp][] = [
    [
      "storage-sqlite",
      "worker",
      /storage-sqlite cannot run in a worker: the service gateway\.info cannot be used .*; set it to host/,
    ],
    [
      "emitter",
      "process",
      /emitter cannot run in a process: the .*hook .*x: hooks are emitted synchronously; set it to host/,
    ],
  ];
  for (const [id, run, message] of refused) {
    await assert.rejects(async () => place(id, run), { code: "INVALID_REQUEST", message });
    assert.deepEqual([state(id)?.state, state(id)?.placement], ["active", undefined]);
  }
  await place("guest", "worker");
  assert.deepEqual([state("guest")?.state, state("guest")?.placement], ["active", "worker"]);
  await place("storage-sqlite", "host");
});

describe("plugins.entries.<id>.run and memoryMb", { concurrency: 2 }, () => {
  for (const run of ["host", "worker", "process"] as const)
    it(`run: ${run}`, async (t) => {
      const { ask, report } = await isolationScene(
        t,
        {
          before: WHERE,
          setup: `serve("where", () => ({ main: isMainThread, pid: process.pid, mb: resourceLimits.maxOldGenerationSizeMb ?? null }));`,
        },
        { run, memoryMb: 99 },
      );
      assert.deepEqual(await ask("where").then((answer) => ({ ...(answer as object), pid: samePid(answer) })), {
        main: run !== "worker",
        pid: run !== "process",
        mb: run === "worker" ? 99 : null,
      });
      assert.deepEqual([report()?.state, report()?.placement], ["active", run === "host" ? undefined : run]);
    });
});

function samePid(answer: unknown): boolean {
  return (answer as { pid: number }).pid === process.pid;
}

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

it("a plugin can ask to be restarted wherever it runs", async (t) => {
  for (const run of ["host", "worker", "process"] as const) {
    const setup = `serve("again", () => { gateway.restart("asked"); return {}; });`;
    const { ask, report } = await isolationScene(t, { setup }, { run });
    const before = report()?.generation ?? 0;
    await ask("again").catch(() => undefined); // the call may be interrupted
    await until(() => report()?.state === "active" && (report()?.generation ?? 0) > before);
    assert.equal(report()?.errors, 0, run);
  }
});

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
