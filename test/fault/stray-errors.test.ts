/** Unhandled errors are attributed to their plugin, and the gateway keeps running. In its own process, since they are process-wide. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { plugins } from "@svc/sdk/plugins";
import { webhooks } from "@svc/sdk/webhooks";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { directory } from "../directory.ts";
import { until } from "../until.ts";

/** Kinds of errors that no caller sees, as the body of a method. */
const KINDS = {
  timer: `setTimeout(boom, 5)`,
  interval: `{ const timer = setInterval(() => { clearInterval(timer); boom(); }, 5); }`,
  immediate: `setImmediate(boom)`,
  tick: `process.nextTick(boom)`,
  microtask: `queueMicrotask(boom)`,
  rejection: `void Promise.reject(new Error(message))`,
  "late rejection": `setTimeout(() => Promise.reject(new Error(message)), 5)`,
  "async function": `void (async () => { await new Promise((r) => setTimeout(r, 5)); boom(); })()`,
  "promise chain": `void new Promise((r) => setTimeout(r, 5)).then(boom)`,
  "listener of an emitter": `{ const emitter = new EventEmitter().on("x", boom); setTimeout(() => emitter.emit("x"), 5); }`,
  "error event nobody hears": `{ const emitter = new EventEmitter(); setTimeout(() => emitter.emit("error", new Error(message)), 5); }`,
  "rejecting listener": `{ const emitter = new EventEmitter({ captureRejections: true }).on("x", async () => boom()); setTimeout(() => emitter.emit("x"), 5); }`,
  "socket that nobody hears": `connect({ host: "127.0.0.1", port: 1 })`,
  "socket's error handler": `connect({ host: "127.0.0.1", port: 1 }).on("error", boom)`,
  "handler of a server's connection": `{ const server = createServer(boom).listen(0, "127.0.0.1", () => connect(server.address().port, "127.0.0.1").on("error", () => {})); }`,
  "stream's read": `new Readable({ read() { boom(); } }).resume()`,
  "stream's data handler": `Readable.from(["a"]).on("data", boom)`,
  "stream that is destroyed": `setTimeout(() => new Readable({ read() {} }).destroy(new Error(message)), 5)`,
  "callback of a file": `stat("/", boom)`,
  "callback of a process": `execFile("true", boom)`,
  "abort listener": `{ const ended = new AbortController(); ended.signal.addEventListener("abort", boom); setTimeout(() => ended.abort(), 5); }`,
  "message of a channel": `{ const { port1, port2 } = new MessageChannel(); port1.on("message", () => { port1.close(); boom(); }); port2.postMessage(1); }`,
};
type Kind = keyof typeof KINDS;

const idOf = (kind: Kind) => kind.replaceAll(/[^a-z]+/g, "-");

const IMPORTS = `import { execFile } from "node:child_process";
import { EventEmitter } from "node:events";
import { stat } from "node:fs";
import { connect, createServer } from "node:net";
import { Readable } from "node:stream";
import { MessageChannel } from "node:worker_threads";`;

/** One plugin per kind: the failure must be attributed to the right one. */
const source = (kind: Kind) => `
import { defineContract, definePlugin, Type } from "@svc/sdk";
${IMPORTS}
const message = "stray ${kind}";
const boom = () => { throw new Error(message); };
const contract = defineContract("${idOf(kind)}", {
  break: { summary: "-", scope: "operator.write", params: Type.Object({}), result: Type.Object({}) },
});
export default definePlugin({
  id: "${idOf(kind)}", api: "^1.0.0",
  setup: (gateway) => gateway.serve(contract, { break: () => { ${KINDS[kind]}; return {}; } }),
});
`;

/** A transform that causes the kind of error named in the path of the request. */
const transformSource = `
${IMPORTS}
const message = "stray";
const boom = () => { throw new Error(message); };
const kinds: Record<string, () => void> = {
${Object.entries(KINDS)
  .map(([kind, body]) => `  "${kind.replaceAll(/[^a-z]+/g, "-")}": () => { ${body} },`)
  .join("\n")}
};
export default ({ path }: { path: string }) => { kinds[path.slice("stray/".length)]?.(); return null; };
`;

/** Runs before the gateway in its process and throws outside any plugin. */
const NOBODY = `process.on("SIGUSR2", () => { throw new Error("of nobody"); });\n`;

async function start(t: TestContext, files: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const stateDir = directory(t);
  for (const [name, text] of Object.entries(files)) await writeFile(join(stateDir, `${name}.ts`), text);
  const use = ["plugins", ...Object.keys(files).map((name) => `./${name}.ts`)];
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ plugins: { use } }));
  const before = join(stateDir, "before.mjs");
  await writeFile(before, NOBODY);
  const env = { SVC_WATCHDOG: "off", NODE_OPTIONS: `--import=${before}` };
  const running = await startGatewayProcess(stateDir, env, { logLevel: "silent" });
  t.after(() => running.kill());
  return running;
}

describe("a stray error", { timeout: 120_000 }, () => {
  it("affects only its plugin and is attributed to it", async (t) => {
    const kinds = Object.keys(KINDS) as Kind[];
    const running = await start(t, Object.fromEntries(kinds.map((kind) => [idOf(kind), source(kind)])));
    const client = await running.connect();
    t.after(() => client.close());
    for (const kind of kinds) {
      await t.test(`from a ${kind}`, async () => {
        await client.request(`${idOf(kind)}.break`, {});
        const row = async () => (await client.call(plugins.list, {})).plugins.find(({ id }) => id === idOf(kind));
        await until(async () => (await row())?.errors !== 0, "the charge");
        const found = await row();
        assert.equal(found?.errors, 1);
        assert.equal(found.blame?.where, "unawaited code");
        const message = kind === "socket that nobody hears" ? /ECONNREFUSED/ : new RegExp(`^stray ${kind}$`);
        assert.match(found.blame?.message ?? "", message);
      });
    }
    const { plugins: rows } = await client.call(plugins.list, {});
    assert.deepEqual(
      rows.filter(({ errors, id }) => errors !== (id === "plugins" ? 0 : 1)),
      [],
    );
    await t.test("the fifth rejection within a minute sends the plugin into quarantine", async () => {
      const state = async () =>
        (await client.call(plugins.list, {})).plugins.find(({ id }) => id === "rejection")?.state;
      for (let count = 2; count <= 5; count++) {
        assert.equal(await state(), "active");
        await client.request("rejection.break", {});
      }
      await until(async () => (await state()) !== "active", "the quarantine");
      assert.equal(await state(), "quarantined");
    });
  });

  it("of a transform in the gateway is attributed to its file and line, and webhooks continue", async (t) => {
    const stateDir = directory(t);
    await mkdir(join(stateDir, "hooks/transforms"), { recursive: true, mode: 0o700 });
    await writeFile(join(stateDir, "hooks/transforms/stray.ts"), transformSource, { mode: 0o600 });
    const kinds = (Object.keys(KINDS) as Kind[]).map(idOf);
    const mappings = kinds.map((kind) => ({
      id: kind,
      match: { path: `stray/${kind}` },
      action: "wake",
      textTemplate: "-",
      transform: { module: "stray.ts" },
    }));
    const token = "stray-hooks-token-0123456789";
    await writeFile(join(stateDir, "svc.json"), JSON.stringify({ hooks: { enabled: true, token, mappings } }));
    const running = await startGatewayProcess(stateDir, { SVC_WATCHDOG: "off" }, { logLevel: "silent" });
    t.after(() => running.kill());
    const client = await running.connect();
    t.after(() => client.close());
    const base = running.url.replace("ws:", "http:");
    for (const kind of kinds) {
      const answer = await fetch(`${base}/hooks/stray/${kind}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: "{}",
      });
      assert.equal(answer.status, 204, kind);
    }
    const transform = async () =>
      (await client.call(webhooks.list, {})).mappings.find(({ id }) => id === kinds[0])?.transform;
    await until(async () => (await transform())?.strayErrors === kinds.length, "the errors of the transform");
    const found = await transform();
    assert.deepEqual([found?.state, found?.strayErrors], ["live", kinds.length]);
    assert.match(found?.problem ?? "", /^left an unhandled error: Error: .+ \(stray\.ts:\d+/);
    const { plugins: rows } = await client.call(plugins.list, {});
    assert.deepEqual(
      rows.filter(({ errors }) => errors > 0),
      [],
    );
  });

  it("outside any plugin stops the gateway cleanly with exit code 1", async (t) => {
    const running = await start(t);
    running.child.kill("SIGUSR2");
    const code = await new Promise((resolve) => running.child.once("exit", resolve));
    assert.equal(code, 1);
    assert.match(running.log(), /^fatal: Error: of nobody$/m);
  });
});
