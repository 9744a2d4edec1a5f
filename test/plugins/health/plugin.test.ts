import assert from "node:assert/strict";
import { hostname, tmpdir } from "node:os";
import { describe, it } from "node:test";
import { type Audience, type ConnectionInfo, type PluginGateway } from "@svc/sdk";
import healthPlugin from "../../../plugins/health/plugin.ts";
import { publishedViolations } from "../../published.ts";
import { noPeers } from "../no-peers.ts";

type Tap = (input: unknown) => unknown;

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const principal = { id: "token", role: "operator", scopes: ["operator.read"], provenance: "token", epoch: 1 } as const;
const connection: ConnectionInfo = {
  id: "c1",
  remoteAddress: "10.0.0.9",
  local: false,
  client: { id: "panel", version: "2", platform: "web", mode: "webchat" },
  caps: [],
  device: "d1",
  principal,
};

/** Runs `setup` on a gateway without other plugins, or with sessions, and records its declarations. */
async function setUp(sessions?: object) {
  const taps: Record<string, Tap> = {};
  const events: [name: string, payload: unknown][] = [];
  /** Events without a receiver, which only raise the version. */
  const raised: string[] = [];
  const timers: number[] = [];
  const served: Record<string, (call: unknown) => unknown> = {};
  const gateway = {
    clock: { now: () => 1, elapsed: () => 1, setTimeout: () => () => undefined },
    log: { warn: () => undefined },
    services: {
      peers: noPeers(),
      gateway: {
        version: "1.2.3",
        startedAt: 7,
        stateDir: tmpdir(),
        url: "ws://127.0.0.1:18789",
        missingPlugins: () => [],
      },
      sessions,
      agents: undefined,
      models: undefined,
      heartbeats: { get: () => undefined },
      events: { get: () => undefined },
    },
    event:
      ({ name }: { name: string }) =>
      (payload: unknown, { connections }: Audience = {}) =>
        connections?.length === 0 ? raised.push(name) : events.push([name, payload]),
    serve: (_contract: unknown, handlers: typeof served) => Object.assign(served, handlers),
    hooks: new Proxy({}, { get: (_target, hook: string) => ({ tap: (tap: Tap) => (taps[hook] = tap) }) }),
    every: (ms: number) => timers.push(ms),
    start: () => undefined,
  };
  await healthPlugin.setup(gateway as unknown as PluginGateway<never, never>); // only the parts that health uses
  return { taps, events, raised, timers, served };
}

describe("the health plugin", () => {
  it("refreshes every minute", async () => assert.deepEqual((await setUp()).timers, [60_000]));

  it("adds presence and health to hello, and leaves the rest unchanged [W11.9]", async () => {
    const { taps } = await setUp();
    const snapshot = taps["hello"]?.({ uptimeMs: 1 }) as { presence: { host: string; mode: string }[] };
    assert.deepEqual({ ...snapshot, presence: [] }, { uptimeMs: 1, presence: [], health: {} });
    assert.deepEqual([snapshot.presence[0]?.host, snapshot.presence[0]?.mode], [hostname(), "gateway"]);
  });

  it("lists and announces the sessions that a connection shows", async () => {
    const { taps, events, served } = await setUp({ canonicalKey: (key: string) => key.toLowerCase() });
    taps["connectionReady"]?.(connection);
    await settle();
    events.length = 0;
    const show = (sessionKeys: string[], shownBy?: ConnectionInfo) =>
      served["set"]?.({ params: { sessionKeys, agentId: "bob" }, connection: shownBy });
    const sessionKeys = ["agent:bob:main", "agent:main:x"];
    assert.deepEqual(show(["Main", "main", "agent:main:X"], connection), { sessionKeys });
    const [, entry] = (served["presence"]?.({}) ?? []) as { watchedSessions?: string[] }[];
    assert.deepEqual(entry?.watchedSessions, sessionKeys);
    assert.deepEqual(events, [["presence", { presence: served["presence"]?.({}) }]]);
    assert.throws(() => show([]), { code: "INVALID_REQUEST" });
    const without = await setUp();
    assert.throws(() => without.served["set"]?.({ params: { sessionKeys: [] }, connection }), { code: "UNAVAILABLE" });
  });

  it("sends a health event after a connect, and a presence event only after a disconnect", async () => {
    const { taps, events, raised, served } = await setUp();
    taps["connectionReady"]?.(connection);
    await settle();
    assert.deepEqual(raised, ["presence"]);
    const present = served["presence"]?.({}) as unknown[];
    assert.equal(present.length, 2);
    assert.deepEqual(taps["hello"]?.({}), { presence: present, health: events[0]?.[1] });
    taps["connectionClosed"]?.({ ...connection, code: 1000 });
    const [[first] = [], ...rest] = events;
    assert.deepEqual([first, rest], ["health", [["presence", { presence: served["presence"]?.({}) }]]]);
  });

  it("sends nothing about an untracked connection", async () => {
    const { taps, events, raised } = await setUp();
    taps["connectionReady"]?.({ ...connection, client: undefined });
    taps["connectionClosed"]?.({ ...connection, client: undefined, code: 1000 });
    assert.deepEqual([raised, events.filter(([name]) => name === "presence")], [[], []]);
  });

  it("shows paths of status to admins only", async () => {
    const defaults = () => ({ defaultAgentId: "main" });
    const sessions = { location: "/state.db", defaults, count: async () => 1, recent: async () => [] };
    const { served } = await setUp(sessions);
    const paths = async (scopes: readonly string[]) => {
      const status = await served["status"]?.({ params: {}, principal: { ...principal, scopes } });
      return (status as { sessions: { paths: string[] } }).sessions.paths;
    };
    assert.deepEqual(await paths(["operator.read", "operator.admin"]), ["/state.db"]);
    assert.deepEqual(await paths(["operator.read", "operator.write"]), []);
  });

  it("has facts about the machine in system.info, and the path of the state for admins only", async () => {
    const { served } = await setUp();
    const info = async (...scopes: string[]) =>
      (await served["info"]?.({ params: {}, principal: { ...principal, scopes } })) as Record<string, unknown>;
    const shown = await info("operator.read");
    assert.deepEqual(publishedViolations("SystemInfoResult", shown), []);
    assert.deepEqual(
      [shown["hostname"], shown["port"], shown["pid"], "diskPath" in shown],
      [hostname(), 18_789, process.pid, false],
    );
    assert.ok(Number(shown["diskTotalBytes"]) >= Number(shown["diskAvailableBytes"]));
    assert.equal((await info("operator.admin"))["diskPath"], tmpdir());
  });

  it("tells since when the gateway runs, and its memory", async () => {
    const { served } = await setUp();
    const status = await served["status"]?.({ params: {}, principal: { ...principal, scopes: ["operator.read"] } });
    const { process: facts } = status as { process: { startedAtMs: number; rssBytes: number; heapBytes: number } };
    assert.equal(facts.startedAtMs, 7);
    assert.ok(facts.rssBytes > facts.heapBytes && facts.heapBytes > 0);
  });
});
