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
    const { plugins } = JSON.parse(stdout) as {
      plugins: { id: string; state: string; version: string; origin: string }[];
    };
    assert.deepEqual(plugins.map(({ origin }) => origin).sort(), bundledPlugins());
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

  it("has one row for a plugin that is a mere file", async (t) => {
    const here = home(t, { plugins: { use: ["config", "./greet.ts"] } });
    const code = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "greet", api: "^1.0.0", setup() {} });\n`;
    writeFileSync(join(dirname(here.configPath), "greet.ts"), code);
    await here.run();
    const { plugins } = JSON.parse((await here.svc(["plugins", "list", "--json"])).stdout);
    const told = plugins.map(({ id, state, reason }: Record<string, string>) => [id, state, reason]);
    assert.deepEqual(told, [
      ["config", "active", undefined],
      ["greet", "active", undefined],
    ]);
  });

  it("tells what the last start made of them", async (t) => {
    const here = home(t, { plugins: { use: ["config", "sessions"], entries: { sessions: { enabled: false } } } });
    const { stop } = await here.run();
    await stop();
    const { plugins } = JSON.parse((await here.svc(["plugins", "list", "--json"])).stdout);
    const told = plugins.map(({ id, state, reason }: Record<string, string>) => [id, state, reason]);
    assert.deepEqual(told, [
      ["config", "active", undefined],
      ["sessions", "disabled", "disabled by plugins.entries.sessions.enabled"],
    ]);
  });
});

describe("svc plugins inspect", () => {
  it("shows what the package says, and of the last start nothing before there was one", async (t) => {
    const { code, stdout } = await home(t).svc(["plugins", "inspect", "health", "--json"]);
    const { svc } = JSON.parse(readFileSync(join(root, "plugins/health/package.json"), "utf8"));
    assert.equal(code, 0);
    const { id, manifest, lastStart } = JSON.parse(stdout);
    assert.deepEqual([id, lastStart], ["health", undefined]);
    assert.deepEqual(
      { id: manifest.id, namespaces: manifest.namespaces, commands: manifest.commands },
      {
        id: "health",
        namespaces: svc.namespaces,
        commands: svc.commands,
      },
    );
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
