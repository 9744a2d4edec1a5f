/** Whether the code of a plugin can be loaded, tried in a process that is thrown away. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { inspectPackage } from "../../../../host/installed/package.ts";
import { linkSdk } from "../../../../host/installed/sdk-link.ts";
import { trial } from "../../../../plugins/plugins/install/trial.ts";
import { pluginCode, type PluginPackage, writePackage } from "../../../plugin-package.ts";

const directory = mkdtempSync(join(tmpdir(), "svc-trial-"));
after(() => rmSync(directory, { recursive: true, force: true }));
linkSdk(directory);
const empty = join(directory, "empty");
mkdirSync(empty);

const place = (plugin: PluginPackage) => writePackage(join(directory, "node_modules", plugin.name), plugin);
const proof = async (plugin: PluginPackage) => {
  const at = await place(plugin);
  return trial({ directory: at, manifest: inspectPackage(at) }, empty, process.env["PATH"]);
};

describe("a proof", { timeout: 120_000 }, () => {
  const good: PluginPackage[] = [
    { name: "plain" },
    {
      name: "typed",
      svc: { entry: "./plugin.ts" },
      files: {
        "plugin.ts": `import type { Gone } from "not-there";\nexport type G = Gone;\n${pluginCode("typed", "1")}`,
      },
    },
    {
      name: "does-without",
      files: { "later.js": 'export const go = () => import("maybe-there").catch(() => undefined);' },
      code: `import "./later.js";\n${pluginCode("does-without", "1")}`,
      package: {
        peerDependencies: { "maybe-there": "1" },
        peerDependenciesMeta: { "maybe-there": { optional: true } },
      },
    },
    { name: "talks", code: `console.log("hello"); setInterval(() => {}, 1000);\n${pluginCode("talks", "1")}` },
    {
      name: "commands",
      svc: { cli: "./cli.js", commands: [{ name: "pen", summary: "Writes" }] },
      files: { "cli.js": 'export default [{ name: "pen", summary: "Writes", run() {} }];' },
    },
  ];
  for (const plugin of good) it(`succeeds for ${plugin.name}`, () => proof(plugin));

  const bad: [plugin: PluginPackage, says: RegExp][] = [
    [
      { name: "halved", code: `import "./half.js";\n${pluginCode("halved", "1")}` },
      /plugin\.js imports \.\/half\.js, which is not in the package/,
    ],
    [
      { name: "bare", code: `import "not-there";\n${pluginCode("bare", "1")}` },
      /plugin\.js imports not-there, which is not installed: list not-there under dependencies/,
    ],
    [
      {
        name: "later",
        files: { "deep/later.js": 'export const go = () => import("@some/gone/part");' },
        code: `export * from "./deep/later.js";\n${pluginCode("later", "1")}`,
      },
      /deep\/later\.js imports @some\/gone\/part, which is not installed: list @some\/gone under dependencies/,
    ],
    [
      { name: "part", code: `import "@svc/sdk/nothing";\n${pluginCode("part", "1")}` },
      /the plugin API of this gateway has no module of this name/,
    ],
    [
      { name: "thrower", code: 'throw new Error("not today");' },
      /its entry \.\/plugin\.js cannot be imported: not today\n {2}at .*thrower\/plugin\.js:1/,
    ],
    [{ name: "slip", code: "export default {" }, /plugin\.js cannot be read|cannot be imported/],
    [{ name: "quitter", code: "process.exit(3);" }, /its code ended the process that imported it \(with 3/],
    [{ name: "no-plugin", code: "export default 1;" }, /its entry \.\/plugin\.js does not export a plugin/],
    [
      { name: "changeling", code: pluginCode("other", "1") },
      /its code has the id "other", its package\.json the id "changeling"/,
    ],
    [
      { name: "fresh", code: pluginCode("fresh", "1").replace('api: "^1.0.0"', 'api: "^99.0.0"') },
      /it needs plugin API \^99\.0\.0/,
    ],
    [
      {
        name: "mute",
        svc: { cli: "./cli.js", commands: [{ name: "pen", summary: "Writes" }] },
        files: { "cli.js": "export default [];" },
      },
      /its commands \.\/cli\.js have no "pen"/,
    ],
  ];
  for (const [plugin, says] of bad)
    it(`fails for ${plugin.name}`, () =>
      assert.rejects(proof(plugin), (error: Error & { step?: string }) => {
        assert.equal(error.step, "trial");
        assert.match(error.message, says);
        return true;
      }));

  it("gives the code nothing of this process but the path", async () => {
    process.env["SVC_CANARY"] = "secret";
    const code = `if (process.env.SVC_CANARY || process.env.HOME) throw new Error("I see " + process.env.HOME);\n${pluginCode("curious", "1")}`;
    await proof({ name: "curious", code });
    delete process.env["SVC_CANARY"];
  });
});

describe("an entry", () => {
  const wrong: [what: string, plugin: PluginPackage, says: RegExp][] = [
    [
      "is not there",
      { name: "empty-one", svc: { entry: "./dist/plugin.js" } },
      /its entry \.\/dist\/plugin\.js is not in the package/,
    ],
    [
      "leads out",
      { name: "escape", svc: { entry: "../plain/plugin.js" } },
      /its entry \.\.\/plain\/plugin\.js points outside the package/,
    ],
    [
      "leads out with its security checks",
      { name: "checks-escape", svc: { security: "../plain/plugin.js" } },
      /its security \.\.\/plain\/plugin\.js points outside the package/,
    ],
    ["is a directory", { name: "folder", svc: { entry: "." } }, /points outside|is not a file/],
  ];
  for (const [what, plugin, says] of wrong)
    it(`that ${what} is refused`, async () => {
      await place({ name: "plain" });
      const at = await place(plugin);
      assert.throws(() => inspectPackage(at), says);
    });

  it("that is a link out of the package is refused", async () => {
    const at = await place({ name: "linked", svc: { entry: "./away.js" } });
    symlinkSync("../plain/plugin.js", join(at, "away.js"));
    assert.throws(() => inspectPackage(at), /its entry \.\/away\.js points outside the package/);
  });
});
