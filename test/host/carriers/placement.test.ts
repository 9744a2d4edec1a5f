/** Where a plugin runs, and that it behaves the same there. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ConfigStore } from "@svc/sdk/config";
import { testGateway } from "@svc/sdk/testing";
import { directoryOf } from "../kernel/reload-scene.ts";
import type { PluginSource } from "../../../host/kernel/load.ts";
import type { Manifest, Placement } from "../../../host/kernel/manifest.ts";
import { placementOf } from "../../../host/kernel/placement.ts";
import { isolationScene, packageAt } from "./scene.ts";
import { pluginOf } from "../../plugin-of.ts";

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
