// long: starts whole programs
/** `svc dev`: a save is served on the socket that is open, a broken one names its line and changes nothing, a repaired one takes over. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { isApart } from "../../../plugins/dev/run/watch.ts";
import { mishapOf } from "../../../plugins/dev/run/place.ts";
import { root } from "../../checkout.ts";
import { directory as temporary } from "../../directory.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { CTRL_C, inTerminal } from "../../host/cli/pseudo-terminal.ts";

const SVC = { id: "notes", api: "^1.0.0", entry: "./plugin.ts", namespaces: ["notes"] };

const packageWith = (svc: object = {}) =>
  JSON.stringify({ name: "notes", version: "0.1.0", type: "module", svc: { ...SVC, ...svc } });

/** Says what its files say: one of each kind. */
const PLUGIN = `import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
import { fromTs } from "./lib/words.ts";
import { fromJs } from "./lib/words.js";
import { fromMjs } from "./lib/words.mjs";
import fromCjs from "./lib/words.cjs";
import data from "./lib/words.json" with { type: "json" };

const notes = defineContract("notes", {
  read: { summary: "Reads", scope: "none", params: Strict({}), result: Strict({ text: Type.String() }) },
});

export default definePlugin({
  id: "notes",
  api: "^1.0.0",
  setup(gateway) {
    gateway.serve(notes, { read: () => ({ text: ["one", fromTs, fromJs, fromMjs, fromCjs.word, data.word].join(" ") }) });
  },
});
`;

const FILES: Readonly<Record<string, string>> = {
  "package.json": packageWith(),
  "plugin.ts": PLUGIN,
  "lib/words.ts": 'export const fromTs: string = "ts1";',
  "lib/words.js": 'export { fromJs } from "./deep.js";',
  "lib/deep.js": 'export const fromJs = "js1";',
  "lib/words.mjs": 'export const fromMjs = "mjs1";',
  "lib/words.cjs": 'module.exports = { word: "cjs1" };',
  "lib/words.json": '{ "word": "json1" }',
};

/** One method throws, the other breaks its own schema. */
const MISTAKEN = `import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
const ask = { summary: "Asks", scope: "operator.read", params: Type.Object({}), result: Strict({ id: Type.Integer() }) } as const;
const notes = defineContract("notes", { throws: ask, lies: ask });
export default definePlugin({
  id: "notes",
  api: "^1.0.0",
  setup(gateway) {
    gateway.serve(notes, {
      throws: () => ({ id: coun + 1 }),
      lies: () => ({ id: "text" }),
    } as never);
  },
});
`;

/** Files of the plugin, each on disk; `save` writes one. */
function project(t: TestContext, files: Readonly<Record<string, string>> = FILES) {
  const directory = temporary(t);
  mkdirSync(join(directory, "plugin/lib"), { recursive: true });
  const save = (name: string, text: string) => {
    const file = join(directory, "plugin", name);
    writeFileSync(join(dirname(file), ".draft"), text);
    renameSync(join(dirname(file), ".draft"), file); // whole, as editors save
  };
  for (const [name, text] of Object.entries(files)) save(name, text);
  return { plugin: join(directory, "plugin"), stateDir: join(directory, "state"), save };
}

type Line = Readonly<Record<string, unknown>>;

/** `svc dev --json`: its lines one after the other, and a client. */
async function dev(t: TestContext, path: string, stateDir: string, config: object = { plugins: { use: [] } }) {
  const configPath = `${stateDir}.json`;
  writeFileSync(configPath, JSON.stringify(config));
  const args = ["host/cli/svc.js", "dev", path, "--port", "0", "--json", "--log-level", "silent"];
  const env = cleanEnvironment(stateDir, { SVC_CONFIG_PATH: configPath });
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let client: GatewayClient | undefined;
  t.after(async () => {
    await client?.close();
    child.kill("SIGKILL");
    await exited;
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<Line> => {
    const { value, done } = await lines.next();
    if (done) assert.fail(`it ended: ${errors}`);
    return JSON.parse(value) as Line;
  };
  const ready = await next();
  const token = readFileSync(join(stateDir, "credentials/gateway-token"), "utf8").trim();
  client = await connect({ url: String(ready["url"]), token });
  let closed = 0;
  client.onClose(() => closed++);
  return { ready, next, client, closed: () => closed };
}

const read = async (client: GatewayClient) => ((await client.request("notes.read", {})) as { text: string }).text;

/** Of each line what does not depend on time. */
async function reloaded(next: () => Promise<Line>): Promise<Line> {
  const { ms, ...rest } = await next();
  assert.equal(typeof ms, "number");
  return rest;
}

describe("svc dev", { timeout: 120_000 }, () => {
  it("serves each saved file at once on an open socket, whatever it is written in", async (t) => {
    const { plugin, stateDir, save } = project(t);
    const { next, client, closed } = await dev(t, plugin, stateDir);
    assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
    const saves: [file: string, text: string, served: string][] = [
      ["plugin.ts", PLUGIN.replace('"one"', '"two"'), "two ts1 js1 mjs1 cjs1 json1"],
      ["lib/words.ts", 'export const fromTs: string = "ts2";', "two ts2 js1 mjs1 cjs1 json1"],
      ["lib/deep.js", 'export const fromJs = "js2";', "two ts2 js2 mjs1 cjs1 json1"],
      ["lib/words.mjs", 'export const fromMjs = "mjs2";', "two ts2 js2 mjs2 cjs1 json1"],
      ["lib/words.cjs", 'module.exports = { word: "cjs2" };', "two ts2 js2 mjs2 cjs2 json1"],
      ["lib/words.json", '{ "word": "json2" }', "two ts2 js2 mjs2 cjs2 json2"],
    ];
    for (const [index, [file, text, served]] of saves.entries()) {
      save(file, text);
      assert.deepEqual(await reloaded(next), { reloaded: "notes", ok: true, generation: index + 2 }, file);
      assert.equal(await read(client), served, file);
    }
    assert.equal(closed(), 0);
  });

  it("beside a gateway that runs: a state directory and a port of its own, the line to call it, and each mistake in a sentence", async (t) => {
    const { plugin, stateDir, save } = project(t);
    save("plugin.ts", MISTAKEN);
    mkdirSync(stateDir);
    const { SVC_STATE_DIR: _, ...env } = cleanEnvironment(stateDir, { SVC_HOME: stateDir });
    const terminal = inTerminal(t, ["dev", plugin], env);
    const [, place = ""] =
      /SVC_STATE_DIR=(\S+)/.exec(await terminal.shows(/call it: SVC_STATE_DIR=\S+ svc gateway call notes\.<method>/)) ??
      [];
    assert.match(place, new RegExp(`^${stateDir}/\\.svc/dev/plugin-[0-9a-f]{8}$`));
    const call = (method: string) =>
      spawnSync(process.execPath, ["host/cli/svc.js", "gateway", "call", method], {
        cwd: root,
        env: { ...env, SVC_STATE_DIR: place },
        encoding: "utf8",
      });
    assert.match(call("notes.throws").stderr, /^INTERNAL: /);
    await terminal.shows(
      /ERROR notes: plugin notes failed in method notes\.throws \(coun is not defined, at \S*plugin\.ts:9\)\n/,
    );
    assert.match(call("notes.lies").stderr, /^INTERNAL: /);
    await terminal.shows(/ERROR notes?.*result of notes\.lies: .*id/);
    assert.doesNotMatch(terminal.shown(), /\n\s+at |\{"level"/);
    terminal.types(CTRL_C);
    assert.equal(await terminal.ended, 0);
  });

  it("runs the TypeScript of a built package, also after a reload that somebody asks for", async (t) => {
    const built = PLUGIN.replace(/^import .*\.\/lib\/.*\n/gm, "").replace(/\["one".*\.join\(" "\)/, '"built"');
    const { plugin, stateDir, save } = project(t);
    mkdirSync(join(plugin, "dist"));
    save("dist/plugin.js", built);
    save("package.json", packageWith({ entry: "./dist/plugin.js" }));
    const { client } = await dev(t, plugin, stateDir, { plugins: { use: ["plugins"] } });
    assert.match(await read(client), /^one /);
    const report = (await client.request("plugins.reload", { id: "notes" })) as { ok: boolean };
    assert.equal(report.ok, true, JSON.stringify(report));
    assert.match(await read(client), /^one /);
  });

  it("names the line of what is wrong while the former version serves, and takes the repaired one", async (t) => {
    const { plugin, stateDir, save } = project(t);
    const { next, client, closed } = await dev(t, plugin, stateDir);
    const inSetup = (text: string) => PLUGIN.replace("gateway.serve", `${text}\ngateway.serve`);
    const broken: [text: string, message: RegExp, at: string, rolledBack?: true][] = [
      [PLUGIN.replace("const notes", "const x = = 1;\nconst notes"), /Unexpected token/, "8:11"],
      [PLUGIN.replace("words.ts", "none.ts"), /Cannot find module '\.\/lib\/none\.ts'/, "2:24"],
      [inSetup('throw new Error("in setup");'), /^in setup$/, "16:11"],
      [inSetup('gateway.start(async () => {\nthrow new Error("in start"); });'), /^in start$/, "17:13", true],
    ];
    for (const [text, message, at, rolledBack] of broken) {
      save("plugin.ts", text);
      const line = await reloaded(next);
      assert.equal(line["ok"], false);
      assert.match(String(line["message"]), message);
      assert.equal(line["at"], `${plugin}/plugin.ts:${at}`);
      assert.equal(line["rolledBack"], rolledBack ?? false);
      assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
    }
    save("plugin.ts", PLUGIN.replace('"one"', '"repaired"'));
    assert.equal((await reloaded(next))["ok"], true);
    assert.equal(await read(client), "repaired ts1 js1 mjs1 cjs1 json1");
    assert.equal(closed(), 0);
  });

  it("takes what package.json says now, and keeps what it said when the new version does not run", async (t) => {
    const { plugin, stateDir, save } = project(t);
    const { next, client } = await dev(t, plugin, stateDir);
    save("package.json", packageWith({ namespaces: ["other"] }));
    const refused = await reloaded(next);
    assert.match(String(refused["reason"]), /method notes\.read is not listed under "svc\.namespaces"/);
    assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
    save("package.json", "{");
    assert.equal((await reloaded(next))["ok"], false);
    save("package.json", packageWith({ namespaces: ["notes"], permissions: { calls: ["operator.read"] } }));
    assert.equal((await reloaded(next))["ok"], true);
    assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
  });

  for (const [what, place, first] of [
    ["a package whose code is broken", "", { ...FILES, "plugin.ts": "const x = = 1;" }],
    ["a package whose package.json is broken", "", { ...FILES, "package.json": "{" }],
    ["a file that is broken", "plugin.ts", { ...FILES, "plugin.ts": "const x = = 1;" }],
  ] as const)
    it(`waits for the repair of ${what} at the start`, async (t) => {
      const { plugin, stateDir, save } = project(t, first);
      const { ready, next, client } = await dev(t, join(plugin, place), stateDir);
      const states = (ready["plugins"] as { state: string }[]).map(({ state }) => state);
      assert.equal(states.length, 1);
      assert.ok(["failed", "blocked"].includes(states[0] ?? ""), states[0]);
      await assert.rejects(client.request("notes.read", {}));
      const file = what.includes("package.json") ? "package.json" : "plugin.ts";
      save(file, FILES[file] ?? "");
      const line = await reloaded(next);
      assert.deepEqual([line["reloaded"], line["ok"]], ["notes", true], JSON.stringify(line));
      assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
      save("lib/words.ts", 'export const fromTs: string = "ts2";');
      assert.equal((await reloaded(next))["ok"], true);
      assert.equal(await read(client), "one ts2 js1 mjs1 cjs1 json1");
    });

  it("runs in the place of one of the same id that the configuration names, and beside the others", async (t) => {
    const { plugin, stateDir } = project(t);
    const entries = { notes: { enabled: false } };
    const config = { plugins: { use: ["health", plugin], entries } };
    const { ready, client } = await dev(t, plugin, stateDir, config);
    const states = (ready["plugins"] as { id: string; state: string }[]).map(({ id, state }) => [id, state]);
    assert.deepEqual(states, [
      ["health", "active"],
      ["notes", "active"],
    ]);
    assert.equal(await read(client), "one ts1 js1 mjs1 cjs1 json1");
  });

  it("refuses a place where there is nothing", () => {
    const args = ["host/cli/svc.js", "dev", "/no/such/plugin"];
    const { status, stderr: text } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(
      text,
      /there is no file or directory at \/no\/such\/plugin\nNext: check the path, or create a plugin: svc plugins new/,
    );
  });
});

describe("a change that means nothing to a running plugin", () => {
  const rows: [path: string, apart: boolean][] = [
    ["plugin.ts", false],
    ["package.json", false],
    ["lib/data.json", false],
    ["test/plugin.test.ts", true],
    ["plugin.test.ts", true],
    ["README.md", true],
    ["node_modules/x/index.js", true],
    [".git/index", true],
    ["dist/plugin.js", true],
    ["plugin.ts~", true],
  ];
  for (const [path, apart] of rows)
    it(`${apart ? "is" : "is not"} one of ${path}`, () =>
      assert.equal(isApart("/p/.x", `/p/.x/${path}`, false), apart));

  it("is not one of dist where that is what runs", () => {
    assert.equal(isApart("/p", "/p/dist/plugin.js", true), false);
    assert.equal(isApart("/p", "/p", false), false);
  });
});

describe("where an error comes from", () => {
  it("is the first place in the plugin's own files", () => {
    const error = Object.assign(new Error("boom"), {
      stack:
        "Error: boom\n    at x (node:fs:1:1)\n    at y (/p/node_modules/z/i.js:2:2)\n    at file:///p/a%20b.ts?generation=3:4:5\n    at /p/c.ts:6:7",
    });
    assert.deepEqual(mishapOf(error, "/p"), { message: "boom", at: "/p/a b.ts:4:5" });
    assert.deepEqual(mishapOf(error, "/other"), { message: "boom" });
    assert.deepEqual(mishapOf("text", "/p"), { message: "text" });
  });
});
