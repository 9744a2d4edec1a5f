import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { notFound } from "@svc/sdk";
import type { ModelPolicy, Models } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { PatchParams } from "../../../../plugins/sessions/patching/patching.ts";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { call, type FakeOptions, startFake } from "../fake-gateway.ts";
import { FakeClock, NOON, openTestStorage, user } from "../open-store.ts";

const KNOWN = [
  { provider: "dp", id: "dm", name: "DM", api: "x", contextWindow: 1000 },
  { provider: "p", id: "plain", name: "Plain", api: "x" },
  { provider: "p", id: "deep", name: "Deep", api: "x", xhigh: true },
];
const models = {
  list: () => [],
  resolve: (ref?: string, agentId?: string, wanted = ref ?? (agentId === "ops" ? "p/plain" : "dp/dm")) =>
    KNOWN.find(({ provider, id }) => wanted === id || wanted === `${provider}/${id}`) ??
    notFound(`no model "${wanted}"`),
} as unknown as Models; // nothing is streamed here
const policy = (allowed: Record<string, { alias?: string }>): ModelPolicy => ({
  allowed: () => new Map(Object.entries(allowed)),
});

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, models, ...options });
  const patch = async (params: Partial<PatchParams>) => fake.handlers.patch(call({ key: "foo", ...params }));
  /** The entry after a patch, without the fields of every entry. */
  const fields = async (params: Partial<PatchParams>) => {
    const { sessionId: _id, updatedAt: _at, ...rest } = (await patch(params)).entry as SessionEntry;
    return rest;
  };
  return { ...fake, storage, clock, patch, fields };
}

describe("sessions.patch", () => {
  it("creates a missing session, returns the entry and the model, and announces it once", async (t) => {
    const { patch, service, emitted } = await start(t);
    const { entry, ...result } = await patch({ label: " Notes " });
    assert.deepEqual(result, {
      ok: true,
      path: service.location,
      key: "agent:main:foo",
      resolved: { modelProvider: "dp", model: "dm" },
    });
    assert.deepEqual(entry, { sessionId: entry.sessionId, updatedAt: NOON, label: "Notes" });
    assert.deepEqual(await service.get("agent:main:foo"), entry);
    await patch({ thinkingLevel: "low" });
    assert.deepEqual([emitted.length, emitted[0]?.hook], [1, "sessionStarted"]);
  });

  it("keeps all other fields, the session id and the messages", async (t) => {
    const { patch, service, clock } = await start(t);
    await service.append("agent:main:foo", [user("hi")]);
    const before = await service.update("agent:main:foo", { label: "l", totalTokens: 3 });
    clock.advance(5);
    const { entry } = await patch({ verboseLevel: "on" });
    assert.deepEqual(entry, { ...before, verboseLevel: "on", updatedAt: NOON + 5 });
    assert.equal((await service.transcript("agent:main:foo", 5)).length, 1);
  });

  const words: [params: Partial<PatchParams>, expected: object][] = [
    [{ thinkingLevel: "MED" }, { thinkingLevel: "medium" }],
    [{ thinkingLevel: "on" }, { thinkingLevel: "low" }],
    [{ thinkingLevel: "max" }, { thinkingLevel: "high" }],
    [{ thinkingLevel: "auto" }, { thinkingLevel: "adaptive" }],
    [{ verboseLevel: "true" }, { verboseLevel: "on" }],
    [{ verboseLevel: "0" }, { verboseLevel: "off" }],
    [{ verboseLevel: "all" }, { verboseLevel: "full" }],
    [{ reasoningLevel: "Stream" }, { reasoningLevel: "stream" }],
    [{ elevatedLevel: "ask" }, { elevatedLevel: "ask" }],
    [{ elevatedLevel: "OFF" }, { elevatedLevel: "off" }],
    [{ execHost: "NODE" }, { execHost: "node" }],
    [{ execSecurity: "allowlist" }, { execSecurity: "allowlist" }],
    [{ execAsk: "on-miss" }, { execAsk: "on-miss" }],
    [{ execNode: " n1 " }, { execNode: "n1" }],
    [{ responseUsage: "on" }, { responseUsage: "tokens" }],
    [{ sendPolicy: "deny" }, { sendPolicy: "deny" }],
    [{ groupActivation: "always" }, { groupActivation: "always" }],
  ];
  it("accepts the words of each setting, and null to clear it", async (t) => {
    const { fields } = await start(t);
    for (const [params, expected] of words) {
      assert.deepEqual(await fields(params), expected);
      const [field = ""] = Object.keys(params);
      assert.deepEqual(await fields({ [field]: null }), {}, field);
    }
    await fields({ responseUsage: "full" });
    assert.deepEqual(await fields({ responseUsage: "off" }), {}, "off is stored as absent");
  });

  const refusals: [what: string, params: Partial<PatchParams>, says: RegExp][] = [
    ["an unknown thinking level", { thinkingLevel: "loud" }, /minimal/],
    ["an unknown verbose level", { verboseLevel: "loud" }, /off, on, full/],
    ["a word every object has", { verboseLevel: "constructor" }, /off, on, full/],
    ["an unknown exec host", { execHost: "moon" }, /sandbox, gateway, node/],
    ["elevated commands", { elevatedLevel: "on" }, /"on" is not accepted: .* only restrict .* svc approvals security/],
    ["elevated commands without questions", { elevatedLevel: "Full" }, /"Full" is not .*; use one of off, ask/],
    ["elevated commands by an alias", { elevatedLevel: "enabled" }, /only restrict/],
    ["a blank label", { label: "  " }, /blank/],
    ["an unknown model", { model: "nothing" }, /no model/],
    ["xhigh for a model without it", { thinkingLevel: "xhigh" }, /"dp\/dm" does not support.*use high/],
    ["spawnedBy outside subagent sessions", { spawnedBy: "agent:main:main" }, /subagent/],
    ["spawnDepth outside subagent sessions", { spawnDepth: 1 }, /subagent/],
  ];
  for (const [what, params, says] of refusals) {
    it(`refuses ${what} and creates no session`, async (t) => {
      const { patch, service } = await start(t);
      await assert.rejects(patch(params), { code: "INVALID_REQUEST", message: says });
      assert.equal(await service.get("agent:main:foo"), undefined);
    });
  }

  it("gives a label to one session only, also for concurrent calls", async (t) => {
    const { handlers, service, fields } = await start(t);
    const both = await Promise.allSettled(
      ["a", "b"].map(async (key) => handlers.patch(call({ key, label: "the one" }))),
    );
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const [loser] = both.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []));
    assert.match(loser?.message ?? "", /used by session "agent:main:[ab]"/);
    assert.equal(await service.count(), 1);
    await fields({ label: "other" });
    assert.deepEqual(await fields({ label: "other" }), { label: "other" }, "its own label again");
  });

  it("sets lineage once, for subagent sessions", async (t) => {
    const { handlers } = await start(t);
    const key = "agent:main:subagent:1";
    const patch = async (params: object) => handlers.patch(call({ key, ...params }));
    const { entry } = await patch({ spawnedBy: "agent:main:main", spawnDepth: 1 });
    assert.deepEqual([entry["spawnedBy" as never], entry["spawnDepth" as never]], ["agent:main:main", 1]);
    await patch({ spawnedBy: "agent:main:main", spawnDepth: 1 });
    for (const params of [{ spawnedBy: "other" }, { spawnedBy: null }, { spawnDepth: 2 }, { spawnDepth: null }]) {
      await assert.rejects(patch(params), { code: "INVALID_REQUEST", message: /already set/ });
    }
  });
});

describe("the model in sessions.patch", () => {
  it("is set as override, and the model fields of the last run are dropped", async (t) => {
    const { patch, service } = await start(t);
    await service.ensure("agent:main:foo", { model: "old", modelProvider: "op", contextTokens: 5, totalTokens: 7 });
    const { entry, resolved } = await patch({ model: "plain" });
    assert.deepEqual(resolved, { modelProvider: "p", model: "plain" });
    const { sessionId, ...rest } = entry as SessionEntry;
    assert.deepEqual(rest, { updatedAt: NOON, totalTokens: 7, modelOverride: "plain", providerOverride: "p" });
    assert.ok(sessionId);
  });

  it("is cleared by null and by the default model", async (t) => {
    const { fields } = await start(t);
    for (const model of [null, "dp/dm", "dm"]) {
      await fields({ model: "p/plain" });
      assert.deepEqual(await fields({ model }), {}, String(model));
    }
  });

  it("is cleared when it is the default of the session's agent, not of another one", async (t) => {
    const { fields, patch } = await start(t);
    const key = "agent:ops:foo";
    assert.deepEqual(await fields({ key, model: "dp/dm" }), { modelOverride: "dm", providerOverride: "dp" });
    assert.deepEqual(await fields({ key, model: "p/plain" }), {});
    assert.deepEqual((await patch({ key, model: null })).resolved, { modelProvider: "p", model: "plain" });
  });

  it("may be an unknown reference while there is no allowlist", async (t) => {
    const { fields } = await start(t);
    assert.deepEqual(await fields({ model: "new/thing/v2" }), { modelOverride: "thing/v2", providerOverride: "new" });
  });

  it("must be in the allowlist, by name or alias, or be the default", async (t) => {
    const { fields, patch } = await start(t, { policy: policy({ "p/deep": { alias: "Thinker" } }) });
    assert.deepEqual(await fields({ model: "thinker" }), { modelOverride: "deep", providerOverride: "p" });
    assert.deepEqual(await fields({ model: "dp/dm" }), {});
    for (const model of ["p/plain", "new/thing"]) {
      await assert.rejects(patch({ model }), { code: "INVALID_REQUEST" }, model);
    }
    await assert.rejects(patch({ model: "p/plain" }), { message: /not allowed; allowed models: p\/deep/ });
  });

  it("needs a catalogue", async (t) => {
    const { patch, fields } = await start(t, { models: undefined });
    await assert.rejects(patch({ model: "p/plain" }), { code: "UNAVAILABLE", message: /enable the plugin models/ });
    assert.deepEqual(await fields({ verboseLevel: "on" }), { verboseLevel: "on" }, "other settings do not");
  });

  it("keeps xhigh if the model supports it, else uses high", async (t) => {
    const { fields } = await start(t);
    const deep = { modelOverride: "deep", providerOverride: "p", thinkingLevel: "xhigh" };
    assert.deepEqual(await fields({ model: "p/deep", thinkingLevel: "x-high" }), deep);
    assert.deepEqual(await fields({ verboseLevel: "on" }), { ...deep, verboseLevel: "on" });
    assert.deepEqual(await fields({ model: null, verboseLevel: null }), { thinkingLevel: "high" });
  });
});

describe("sessions.compact", () => {
  it("returns a result for every state of a session", async (t) => {
    const { handlers, service } = await start(t);
    const compact = async (params: object = {}) => handlers.compact(call({ key: "Foo", ...params }));
    const base = { ok: true, key: "agent:main:foo", compacted: false };
    assert.deepEqual(await compact(), { ...base, reason: "no sessionId" });
    await service.ensure("agent:main:foo");
    assert.deepEqual(await compact(), { ...base, reason: "no transcript" });
    const many = Array.from({ length: 401 }, (_, n) => user(`m${n}`));
    await service.append("agent:main:foo", many);
    assert.deepEqual(await compact({ maxLines: 401 }), { ...base, kept: 401 });
    const { sessionId } = (await service.get("agent:main:foo")) ?? assert.fail();
    const archived = `${service.location}#${sessionId}.bak.2026-03-02T12-00-00.000Z`;
    assert.deepEqual(await compact(), { ...base, compacted: true, archived, kept: 400 });
    assert.equal((await service.transcript("agent:main:foo", 1000)).length, 400);
  });
});
