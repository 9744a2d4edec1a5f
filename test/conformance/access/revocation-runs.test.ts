// long: waits for real runs
/** A credential that has ended starts no queued run, calls no tool and gets no announcement, over restarts too. Spec: design/security.md. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, Strict } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import { startFakeModelServer } from "@svc/sdk/testing";
import { defineTool, Tool } from "@svc/sdk/tools";
import { directoryOf } from "../../host/kernel/reload-scene.ts";
import { createDevice, openScene, type Outcome, READ, type Scene, SECRET, WRITE } from "../../plugins/devices/scene.ts";
import { ask, until } from "./scene.ts";

const limited = { timeout: 120_000 };
const OTHER_SECRET = "another-secret-of-this-test";
const PLUGINS = ["agents", "config", "models", "provider-openai", "secrets", "sessions", "tools", "nodes"];

/** Actions of runs, recorded by a plugin that outlives every credential. */
function watcher() {
  const finished = new Map<string, RunOutcome>();
  const used: string[] = [];
  let release: () => void = assert.fail;
  const opened = new Promise<void>((resolve) => (release = resolve));
  const plugin = definePlugin({
    id: "watcher",
    api: "^1.0.0",
    setup(gateway) {
      gateway.hooks.runFinished.tap((outcome) => void finished.set(outcome.runId, outcome));
      const plain = { description: "-", params: Strict({}), scope: READ, effects: ["reads"], brings: "none" } as const;
      const act = defineTool({
        ...plain,
        run: (_, { call }) => (used.push(`act ${call.sessionKey}`), "acted"),
      });
      const hold = defineTool({
        ...plain,
        async run(_, { call, signal }) {
          used.push(`hold ${call.sessionKey}`);
          const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          await Promise.race([opened, aborted]);
          return "held";
        },
      });
      gateway.extend(Tool, "act", act);
      gateway.extend(Tool, "hold", hold);
    },
  });
  return { plugin, finished, used, release: () => release() };
}

/** Makes one requested call per message: `hold`, `act` or `spawn`. */
async function startModel(t: TestContext) {
  const server = await startFakeModelServer({
    replies: ({ body }) => {
      const last = body.messages?.at(-1);
      const words = JSON.stringify(last?.content ?? "");
      const asked = /do (hold|act|spawn)/.exec(words)?.[1];
      if (last?.role === "tool" || asked === undefined) return { text: "done" };
      return asked === "spawn"
        ? { toolCalls: [{ name: "sessions_spawn", arguments: { task: "do hold" } }] }
        : { toolCalls: [{ name: asked, arguments: {} }] };
    },
  });
  t.after(() => server.close());
  return server;
}

async function place(t: TestContext) {
  const stateDir = await directoryOf(t, "svc-revoked-runs-");
  const server = await startModel(t);
  const configure = (token: string) =>
    writeFile(
      join(stateDir, "svc.json"),
      JSON.stringify({
        gateway: { auth: { token } },
        models: { providers: { fake: { baseUrl: server.url, apiKey: "key-1", models: [{ id: "m", name: "Fake" }] } } },
        agents: { defaults: { model: "fake/m" } },
      }),
    );
  await configure(SECRET);
  const open = async () => {
    const watch = watcher();
    const env = { SVC_STATE_DIR: stateDir };
    const gateway = { config: undefined, drainMs: 0, env };
    const scene = await openScene(t, { stateDir, plugins: [...PLUGINS, watch.plugin], auth: {}, gateway });
    const run = async ({ socket }: Outcome, runId: string, message: string, sessionKey: string) => {
      const params = { message, sessionKey, idempotencyKey: runId };
      socket.send({ type: "req", id: runId, method: "agent", params });
      const accepted = await socket.next(({ id }) => id === runId);
      assert.equal(accepted.ok, true, JSON.stringify(accepted));
    };
    const ended = (runId: string) =>
      until(() => watch.finished.has(runId), `the end of ${runId}`).then(() => watch.finished.get(runId));
    return { scene, watch, run, ended };
  };
  return { stateDir, configure, open };
}

const SCOPES = [READ, WRITE];
/** A paired device that connects with only its own token. */
async function comesByToken(scene: Scene) {
  const device = createDevice();
  const { auth } = await scene.pair(device, { scopes: SCOPES });
  return { device, outcome: await scene.byToken(device, auth.deviceToken, { scopes: SCOPES }) };
}

async function changeSecret({ client }: Scene): Promise<void> {
  const { hash } = (await client.request("config.get", {})) as { hash: string };
  const raw = JSON.stringify({ gateway: { auth: { token: OTHER_SECRET } } });
  await client
    .request("config.patch", { raw, baseHash: hash })
    .catch(({ message }: Error) => assert.match(message, /connection lost/)); // its own credential ends, too
}

const revoked = (outcome: RunOutcome | undefined) =>
  assert.deepEqual([outcome?.status, outcome?.abortReason], ["aborted", "revoked"]);

interface Act {
  readonly what: string;
  /** The device connected with the gateway's own credential. */
  readonly shared?: true;
  run(scene: Scene, deviceId: string): Promise<unknown>;
}
const token = (method: string) => (scene: Scene, deviceId: string) =>
  scene.client.request(`device.token.${method}`, { deviceId, role: "operator" });

const ACTS: readonly Act[] = [
  { what: "revoking its token", run: token("revoke") },
  { what: "rotating its token", run: token("rotate") },
  { what: "removing the device", run: ({ client }, deviceId) => client.request("device.pair.remove", { deviceId }) },
  { what: "another token of the gateway", shared: true, run: changeSecret },
];

describe("runs of a credential that ended", limited, () => {
  for (const { what, shared, run: act } of ACTS)
    it(`${what}: the run in progress stops, the queued one never starts, others continue`, async (t) => {
      const { open } = await place(t);
      const { scene, watch, run, ended } = await open();
      const { device, outcome } = await comesByToken(scene);
      const mine = shared ? await scene.shared(device, { scopes: SCOPES }) : outcome;
      const { outcome: other } = await comesByToken(scene);
      await run(mine, "m1", "do hold", "mine");
      await run(mine, "m2", "do act", "mine");
      await run(other, "o1", "do hold", "theirs");
      await until(() => watch.used.length === 2, "tool calls");
      await act(scene, device.id);
      revoked(await ended("m1"));
      revoked(await ended("m2"));
      watch.release();
      assert.equal((await ended("o1"))?.status, "ok");
      assert.deepEqual(watch.used.toSorted(), ["hold agent:main:mine", "hold agent:main:theirs"]);
    });

  it("a sub-agent stops with it, and its result is not announced", async (t) => {
    const { open } = await place(t);
    const { scene, watch, run, ended } = await open();
    const { device, outcome } = await comesByToken(scene);
    await run(outcome, "m1", "do spawn", "mine");
    assert.equal((await ended("m1"))?.status, "ok");
    await until(() => watch.used.length === 1, "tool calls");
    await token("revoke")(scene, device.id);
    await until(() => watch.finished.size === 2, "ends of runs");
    const [, child] = [...watch.finished.values()];
    revoked(child);
    await ask(outcome.socket, "health").catch(() => undefined);
    const { outcome: other } = await comesByToken(scene);
    await run(other, "o1", "do act", "theirs"); // after anything an announcement would have started
    await ended("o1");
    assert.deepEqual(
      [...watch.finished.keys()].filter((id) => id.includes("subagent-result")),
      [],
    );
  });

  it("a run that a node requested stops with the token of the node", async (t) => {
    const { open } = await place(t);
    const { scene, watch } = await open();
    const node = createDevice();
    const { auth } = await scene.pair(node, { role: "node" });
    const { socket } = await scene.byToken(node, auth.deviceToken, { role: "node" });
    const payload = { message: "do hold" };
    socket.send({ type: "req", id: "e1", method: "node.event", params: { event: "agent.request", payload } });
    await until(() => watch.used.length === 1, "tool calls");
    await scene.client.request("device.token.revoke", { deviceId: node.id, role: "node" });
    await until(() => watch.finished.size === 1, "ends of runs");
    revoked([...watch.finished.values()][0]);
  });

  const starts: [what: string, secret: string, status: string][] = [
    ["the gateway has another token at the next start: they end", OTHER_SECRET, "aborted"],
    ["the gateway has the same token: they run", SECRET, "ok"],
  ];
  for (const [what, secret, status] of starts)
    it(`waited for a restart, and ${what}`, async (t) => {
      const { configure, open, stateDir } = await place(t);
      const first = await open();
      const shared = await first.scene.shared(createDevice(), { scopes: SCOPES });
      const { outcome: own } = await comesByToken(first.scene);
      await first.run(shared, "m1", "do hold", "mine");
      await first.run(shared, "m2", "do act", "mine");
      await first.run(own, "o1", "do hold", "theirs");
      await first.run(own, "o2", "do act", "theirs");
      await until(() => first.watch.used.length === 2, "tool calls");
      await first.scene.gateway.stop();
      await configure(secret);
      const second = await open();
      assert.equal((await second.ended("m2"))?.status, status);
      if (status === "aborted") revoked(await second.ended("m2"));
      assert.equal((await second.ended("o2"))?.status, "ok", "its own credential counts");
      const acted = ["act agent:main:mine", "act agent:main:theirs"].slice(status === "ok" ? 0 : 1);
      assert.deepEqual(second.watch.used.filter((call) => call.startsWith("act")).toSorted(), acted);
      assert.doesNotMatch(await readFile(join(stateDir, "credentials", "ended-credentials.json"), "utf8"), /secret/);
    });

  it("waited for a restart, and the device is removed before it: they end", async (t) => {
    const { open } = await place(t);
    const first = await open();
    const { device, outcome } = await comesByToken(first.scene);
    await first.run(outcome, "m1", "do hold", "mine");
    await until(() => first.watch.used.length === 1, "tool calls");
    await first.scene.client.request("device.pair.remove", { deviceId: device.id });
    await first.run(await first.scene.shared(createDevice(), { scopes: SCOPES }), "s1", "do act", "other");
    await first.ended("s1");
    await first.scene.gateway.stop();
    const second = await open();
    const again = await second.scene.pair(device, { scopes: SCOPES });
    await second.run(again, "m2", "do act", "mine"); // paired again, it is live
    assert.equal((await second.ended("m2"))?.status, "ok");
    assert.deepEqual(second.watch.used, ["act agent:main:mine"]);
  });
});
