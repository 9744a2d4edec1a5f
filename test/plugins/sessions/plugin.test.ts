import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { notFound } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Models } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import plugin from "../../../plugins/sessions/plugin.ts";
import { call, type FakeOptions, startFake } from "./fake-gateway.ts";
import { FakeClock, NOON, openTestStorage, user } from "./open-store.ts";

const models = {
  list: () => [],
  resolve: () => ({ provider: "dp", id: "dm", name: "DM", api: "x", contextWindow: 1000 }),
} as unknown as Models; // nothing is streamed here
const noModels = { resolve: () => notFound("no model") } as unknown as Models;
const agents: AgentDirectory = {
  list: () => [],
  defaultId: "ada",
  toolPolicy: () => undefined,
  heartbeat: () => undefined,
  memorySearch: () => ({}),
  timeZone: "UTC",
  skills: () => undefined,
  maxSpawnDepth: 1,
  has: () => true,
};

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, models, ...options });
  return { ...fake, storage, clock };
}

type Started = Awaited<ReturnType<typeof start>>;
const hooks = ({ emitted }: Started) => emitted.map(({ hook }) => hook);

describe("the plugin sessions", () => {
  it("sends clients the session defaults, with the agent main unless another is the default", async (t) => {
    const { service, hello } = await start(t);
    const keys = { mainKey: "main", mainSessionKey: "agent:main:main" };
    const expected = { defaultAgentId: "main", ...keys, scope: "per-sender" };
    assert.deepEqual(service.defaults(), expected);
    assert.deepEqual(hello({ other: 1 }), { other: 1, sessionDefaults: expected }, "web clients need it in hello-ok");
  });

  it("follows the default agent and the configured main key", async (t) => {
    const { service } = await start(t, { agents, config: { mainKey: "Home" } });
    assert.equal(service.defaults().mainSessionKey, "agent:ada:home");
    assert.equal(service.canonicalKey("main"), "agent:ada:home");
    assert.equal(service.agentOf("global"), "ada");
  });

  it("has one main session in the global scope", async (t) => {
    const { service } = await start(t, { agents, config: { scope: "global" } });
    assert.equal(service.canonicalKey("agent:bob:main"), "global");
  });

  it("refuses a main key that is the key of another session", async (t) => {
    await assert.rejects(start(t, { config: { mainKey: "Global" } }), { outcome: "misconfigured", path: "/mainKey" });
  });
});

describe("the service Sessions", () => {
  it("announces a session once, when ensure or append created it", async (t) => {
    const started = await start(t);
    const { service } = started;
    const entry = await service.ensure("agent:main:a");
    await service.ensure("agent:main:a", { label: "l" });
    await service.append("agent:main:b", [user("hi")]);
    await service.append("agent:main:b", [user("again")]);
    assert.deepEqual(hooks(started), ["sessionStarted", "sessionStarted"]);
    assert.deepEqual(started.emitted[0]?.input, { key: "agent:main:a", entry });
  });

  it("returns the newest sessions, including the global one", async (t) => {
    const { service, clock } = await start(t);
    await service.ensure("agent:main:a");
    clock.advance(1);
    await service.ensure("global");
    const keys = async (agentId?: string) =>
      (await service.recent({ limit: 5, ...(agentId && { agentId }) })).map(({ key }) => key);
    assert.deepEqual(await keys(), ["global", "agent:main:a"]);
    assert.deepEqual(await keys("main"), ["agent:main:a"]);
    assert.deepEqual([await service.count(), await service.count("main")], [2, 1]);
  });

  it("refuses a malformed session id", async (t) => {
    const { service } = await start(t);
    await assert.rejects(service.ensure("agent:main:a", { sessionId: "../x" }), { code: "INVALID_REQUEST" });
  });
});

describe("sessions.list", () => {
  it("returns the default model, or nulls without one", async (t) => {
    const { handlers } = await start(t);
    const { defaults } = await handlers.list(call({}));
    assert.deepEqual(defaults, { modelProvider: "dp", model: "dm", contextTokens: 1000 });
    const bare = await start(t, { models: noModels });
    await bare.service.ensure("agent:main:a");
    const listed = await bare.handlers.list(call({}));
    assert.deepEqual(listed.defaults, { modelProvider: null, model: null, contextTokens: null });
    assert.equal("model" in (listed.sessions[0] ?? {}), false);
  });
});

describe("sessions.resolve and sessions.preview", () => {
  it("accept keys as people write them", async (t) => {
    const { handlers, service } = await start(t);
    await service.append("agent:main:foo", [user("hi")]);
    assert.deepEqual(await handlers.resolve(call({ key: "FOO" })), {
      ok: true,
      key: "agent:main:foo",
      agentId: "main",
    });
    const { previews } = await handlers.preview(call({ keys: ["FOO"] }));
    assert.deepEqual(previews, [{ key: "FOO", status: "ok", items: [{ role: "user", text: "hi" }] }]);
  });
});

describe("sessions.reset", () => {
  it("calls the gate, then ends the old session and starts a new one", async (t) => {
    const started = await start(t);
    const { handlers, service, emitted } = started;
    const old = await service.ensure("agent:main:foo", { label: "l", totalTokens: 5 });
    emitted.length = 0;
    const { ok, key, entry } = await handlers.reset(call({ key: "Foo", reason: "new" as const }));
    assert.deepEqual([ok, key], [true, "agent:main:foo"]);
    assert.notEqual(entry.sessionId, old.sessionId);
    assert.deepEqual(emitted, [
      { hook: "sessionReplacing", input: { key, reason: "new" } },
      { hook: "sessionEnded", input: { key, entry: old, reason: "new" } },
      { hook: "sessionStarted", input: { key, entry } },
    ]);
    assert.deepEqual(await service.get(key), entry);
    const { updatedAt, label, totalTokens } = entry as SessionEntry;
    assert.deepEqual([updatedAt, label, totalTokens], [NOON, "l", 0]);
  });

  it("creates a missing session, and ends none", async (t) => {
    const started = await start(t);
    await started.handlers.reset(call({ key: "foo" }));
    assert.deepEqual(hooks(started), ["sessionReplacing", "sessionStarted"]);
  });

  it("changes nothing when the gate denies, and returns the reason", async (t) => {
    const started = await start(t, { deny: { allow: false, reason: "still active", retryAfterMs: 500 } });
    const { handlers, service } = started;
    const before = await service.ensure("agent:main:foo");
    const refusal = { code: "UNAVAILABLE", message: "still active", retryAfterMs: 500 };
    await assert.rejects(async () => handlers.reset(call({ key: "foo" })), refusal);
    await assert.rejects(service.reset("agent:main:foo", "reset"), refusal);
    assert.deepEqual(await service.get("agent:main:foo"), before);
    assert.deepEqual(hooks(started), ["sessionStarted", "sessionReplacing", "sessionReplacing"]);
  });
});

describe("sessions.delete", () => {
  it("removes the session and names the archived transcript", async (t) => {
    const started = await start(t);
    const { handlers, service, emitted } = started;
    await service.append("agent:main:foo", [user("hi")]);
    const old = (await service.get("agent:main:foo")) ?? assert.fail();
    emitted.length = 0;
    const result = await handlers.delete(call({ key: "foo" }));
    const name = `${service.location}#${old.sessionId}.deleted.2026-03-02T12-00-00.000Z`;
    assert.deepEqual(result, { ok: true, key: "agent:main:foo", deleted: true, archived: [name] });
    assert.equal(await service.get("agent:main:foo"), undefined);
    assert.deepEqual(emitted, [
      { hook: "sessionReplacing", input: { key: "agent:main:foo", reason: "delete" } },
      { hook: "sessionEnded", input: { key: "agent:main:foo", entry: old, reason: "delete" } },
    ]);
  });

  const quiet: [what: string, params: object, archived: number, announced: boolean][] = [
    ["keeps the transcript with deleteTranscript false", { deleteTranscript: false }, 0, true],
    ["emits nothing with emitLifecycleHooks false", { emitLifecycleHooks: false }, 1, false],
  ];
  for (const [what, params, archived, announced] of quiet) {
    it(what, async (t) => {
      const started = await start(t);
      await started.service.append("agent:main:foo", [user("hi")]);
      const result = await started.handlers.delete(call({ key: "foo", ...params }));
      assert.deepEqual([result.deleted, result.archived.length], [true, archived]);
      assert.equal(hooks(started).includes("sessionEnded"), announced);
      assert.deepEqual(await started.storage.all("select count(*) as n from transcript"), [{ n: 1 }]);
    });
  }

  it("returns deleted: false for a missing session without calling the gate", async (t) => {
    const started = await start(t);
    const result = await started.handlers.delete(call({ key: "foo" }));
    assert.deepEqual(result, { ok: true, key: "agent:main:foo", deleted: false, archived: [] });
    assert.deepEqual(hooks(started), []);
  });

  it("deletes nothing when the gate denies", async (t) => {
    const { handlers, service } = await start(t, { deny: { allow: false, reason: "busy" } });
    await service.ensure("agent:main:foo");
    await assert.rejects(async () => handlers.delete(call({ key: "foo" })), { code: "UNAVAILABLE", message: "busy" });
    assert.ok(await service.get("agent:main:foo"));
  });

  it("refuses the main session and names it, not that of another agent", async (t) => {
    const { handlers, service } = await start(t);
    await service.ensure("agent:main:main");
    await service.ensure("agent:bob:main");
    const refusal = { code: "INVALID_REQUEST", message: /agent:main:main/ };
    await assert.rejects(async () => handlers.delete(call({ key: "main" })), refusal);
    assert.equal((await handlers.delete(call({ key: "agent:bob:main" }))).deleted, true);
  });

  const clients: [id: string, mode: string, allowed: boolean][] = [
    ["webchat", "webchat", false],
    ["svc-control-ui", "webchat", true],
    ["cli", "cli", true],
  ];
  for (const [id, mode, allowed] of clients) {
    it(`${allowed ? "serves" : "refuses"} the client ${id} in mode ${mode}, as sessions.patch does`, async (t) => {
      const { handlers, service } = await start(t);
      await service.ensure("agent:main:foo");
      const patch = async () => handlers.patch(call({ key: "foo", label: "x" }, { id, mode }));
      const remove = async () => handlers.delete(call({ key: "foo" }, { id, mode }));
      if (allowed) return assert.deepEqual([(await patch()).ok, (await remove()).deleted], [true, true]);
      await assert.rejects(patch, { code: "INVALID_REQUEST" });
      return assert.rejects(remove, { code: "INVALID_REQUEST" });
    });
  }
});
