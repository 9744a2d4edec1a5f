// long: starts whole programs
/** `svc plugins use`, as a person types it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import JSON5 from "json5";
import { type Home, home } from "../../../host/cli/svc.ts";

const useOf = ({ configPath }: Home) =>
  (JSON5.parse(readFileSync(configPath, "utf8")) as { plugins?: { use?: string[] } }).plugins?.use;

describe("svc plugins use", { timeout: 120_000 }, () => {
  it("writes a profile, keeps comments, and says what goes away and how it takes effect", async (t) => {
    const machine = home(t, "{\n  // mine\n  logging: { level: 'debug' },\n}\n");
    const { code, stdout, stderr } = await machine.svc(["plugins", "use", "minimal"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /changed plugins\.use\nIn use: config, health, plugins\n/);
    assert.match(stdout, /\nMethods no longer available, including all below: .*\bchat\b.*\bsessions\b/);
    assert.match(stdout, /No gateway runs here; the next start uses it/);
    assert.deepEqual(useOf(machine), ["config", "health", "plugins"]);
    assert.match(readFileSync(machine.configPath, "utf8"), /\/\/ mine/);
    assert.match(readFileSync(join(machine.stateDir, "logs/config-audit.jsonl"), "utf8"), /plugins\.use/);
  });

  it("goes back to the whole bundle with the profile that has no list", async (t) => {
    const machine = home(t, { plugins: { use: ["health"] } });
    assert.equal((await machine.svc(["plugins", "use", "full"])).code, 0);
    assert.equal(useOf(machine), undefined);
    const again = await machine.svc(["plugins", "use", "full", "--json"]);
    assert.deepEqual(JSON.parse(again.stdout).changed, []);
    assert.equal(JSON.parse(again.stdout).use, null);
  });

  it("names what is lacking with the line that mends it, and writes nothing", async (t) => {
    const machine = home(t);
    const { code, stdout, stderr } = await machine.svc(["plugins", "use", "chat", "health"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^Nothing was changed: chat needs the service sessions 1\.\d\.\d: provided by sessions \(not in use\)$/m,
    );
    assert.match(stderr, /^Next: svc plugins use chat health --with-requirements$/m);
    assert.equal(existsSync(machine.configPath), false);
  });

  it("adds what is lacking when asked, and what that needs in turn", async (t) => {
    const machine = home(t);
    const { code, stdout } = await machine.svc(["plugins", "use", "chat", "health", "--with-requirements", "--json"]);
    assert.equal(code, 0);
    const added = ["sessions", "agents", "storage-sqlite", "models"];
    const told = JSON.parse(stdout) as { added: string[] };
    assert.deepEqual(told.added.sort(), added.sort());
    assert.deepEqual(useOf(machine)?.slice(0, 2), ["chat", "health"]);
    assert.deepEqual(useOf(machine)?.slice(2).sort(), added);
  });

  it("takes names beside a profile", async (t) => {
    const machine = home(t);
    assert.equal((await machine.svc(["plugins", "use", "--profile", "minimal", "webhooks", "health"])).code, 0);
    assert.deepEqual(useOf(machine), ["config", "health", "plugins", "webhooks"]);
  });

  it("does not count a provider that is disabled", async (t) => {
    const machine = home(t, { plugins: { entries: { "storage-sqlite": { enabled: false } } } });
    const { code, stderr } = await machine.svc(["plugins", "use", "sessions", "--with-requirements"]);
    assert.equal(code, 1);
    assert.match(stderr, /provided by storage-sqlite \(disabled\)/);
    assert.match(stderr, /^Next: svc config set plugins\.entries\.storage-sqlite\.enabled true$/m);
  });

  const refusals: [args: string[], message: RegExp, code: number][] = [
    [["nosuch"], /^Nothing was changed: nosuch: no plugin or package "nosuch" is installed/, 1],
    [["--profile", "huge"], /there is no profile "huge"; available: minimal, chat, full\nNext: choose one of them/, 1],
    [["--profile", "full", "health"], /profile "full" already includes the whole bundle/, 1],
    [[], /name a profile, or plugins by id:\n  minimal +Connect/, 2],
  ];
  for (const [args, message, expected] of refusals) {
    it(`refuses ${args.join(" ") || "nothing at all"}`, async (t) => {
      const machine = home(t);
      const { code, stderr } = await machine.svc(["plugins", "use", ...args]);
      assert.equal(code, expected);
      assert.match(stderr, message);
      assert.equal(existsSync(machine.configPath), false);
    });
  }

  it("checks sections of plugins that come in, and writes nothing where one is wrong", async (t) => {
    const machine = home(t, { plugins: { use: ["health"] }, gadget: { size: "large" } });
    const directory = join(dirname(machine.configPath), "gadget");
    mkdirSync(directory);
    const svc = { id: "gadget", api: "^1.0.0", entry: "./plugin.ts" };
    writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "gadget", version: "1.0.0", svc }));
    writeFileSync(
      join(directory, "plugin.ts"),
      `import { definePlugin, Type } from "@svc/sdk";
export default definePlugin({ id: "gadget", api: "^1.0.0", config: Type.Object({ size: Type.Integer() }), setup() {} });`,
    );
    const { code, stderr } = await machine.svc(["plugins", "use", "health", "./gadget"]);
    assert.equal(code, 1);
    assert.match(stderr, /gadget\.size/);
    assert.deepEqual(useOf(machine), ["health"]);
  });
});
