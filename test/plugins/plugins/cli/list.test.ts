// long: starts whole programs
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { bundledPlugins, root } from "../../../checkout.ts";
import { home } from "../../../host/cli/svc.ts";

describe("svc plugins list", () => {
  it("names everything of the bundle before anything was started", async (t) => {
    const { code, stdout } = await home(t).svc(["plugins", "list", "--json"]);
    assert.equal(code, 0);
    const { plugins } = JSON.parse(stdout) as { plugins: Record<"state" | "version" | "origin", string>[] };
    const expected = bundledPlugins().filter((name) => name !== "@svc/plugin-storage-postgres"); // it would replace another one
    assert.deepEqual(plugins.map(({ origin }) => origin).sort(), expected);
    for (const { state, version } of plugins) {
      assert.equal(state, "not started yet");
      assert.match(version, /^\d+\.\d+\.\d+$/);
    }
  });

  it("shows people a table", async (t) => {
    const { stdout } = await home(t, { plugins: { use: ["config"] } }).svc(["plugins", "list"]);
    const [header, row, ...rest] = stdout.split("\n");
    assert.match(String(header), /^PLUGIN +VERSION +LAST START +ABOUT$/);
    assert.match(String(row), /^config +\d\S+ +not started yet +Reads and changes the configuration/);
    assert.deepEqual(rest, [""]);
  });

  it("says why one is not there and what to do", async (t) => {
    const { stdout } = await home(t, { plugins: { use: ["no-such", "./nowhere"] } }).svc(["plugins", "list"]);
    assert.match(stdout, /^no-such +- +blocked +no plugin or package "no-such" is installed; next: npm install/m);
    assert.match(stdout, /^\.\/nowhere +- +blocked +\/\S+ does not exist/m);
  });

  it("has one row for a plugin that is a mere file, and tells what the last start made of each", async (t) => {
    const entries = { sessions: { enabled: false } };
    const here = home(t, { plugins: { use: ["config", "sessions", "./greet.ts"], entries } });
    const code = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "greet", api: "^1.0.0", setup() {} });\n`;
    writeFileSync(join(dirname(here.configPath), "greet.ts"), code);
    const { stop } = await here.run();
    const list = async (): Promise<string[][]> => {
      const { plugins } = JSON.parse((await here.svc(["plugins", "list", "--json"])).stdout);
      return plugins.map(({ id, state, reason }: Record<string, string>) => [id, state, reason]);
    };
    const expected = [
      ["config", "active", undefined],
      ["sessions", "disabled", "disabled by plugins.entries.sessions.enabled"],
      ["greet", "active", undefined],
    ];
    assert.deepEqual((await list()).map(([id = ""]) => id).sort(), ["config", "greet", "sessions"]);
    await stop();
    assert.deepEqual(await list(), expected);
  });
});

describe("svc plugins inspect", () => {
  it("shows what the package says, and of the last start nothing before there was one", async (t) => {
    const { code, stdout } = await home(t).svc(["plugins", "inspect", "health", "--json"]);
    const { svc } = JSON.parse(readFileSync(join(root, "plugins/health/package.json"), "utf8"));
    assert.equal(code, 0);
    const { id, manifest, lastStart } = JSON.parse(stdout);
    assert.deepEqual([id, lastStart], ["health", undefined]);
    const { namespaces, commands } = svc;
    assert.deepEqual(manifest, { ...manifest, id: "health", namespaces, commands });
  });

  it("shows the last start", async (t) => {
    const here = home(t, { plugins: { use: ["config"] } });
    await (await here.run()).stop();
    const { lastStart } = JSON.parse((await here.svc(["plugins", "inspect", "config", "--json"])).stdout);
    assert.deepEqual([lastStart.state, lastStart.errors], ["active", 0]);
  });

  it("says when there is none of that name, and what to do", async (t) => {
    const { code, stdout, stderr } = await home(t).svc(["plugins", "inspect", "nobody"]);
    assert.deepEqual([code, stdout, stderr], [1, "", 'no plugin "nobody" here\nNext: svc plugins list\n']);
  });
});
