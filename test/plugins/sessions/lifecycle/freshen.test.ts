import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { type FakeOptions, startFake } from "../fake-gateway.ts";
import { FakeClock, openTestStorage, user } from "../open-store.ts";

const KEY = "agent:main:irc:group:1";
const IDLE = { reset: { mode: "idle", idleMinutes: 10 } };
const MINUTE = 60_000;

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, config: IDLE, ...options });
  return { ...fake, storage, clock };
}

describe("freshen", () => {
  it("creates a missing session, as a new conversation", async (t) => {
    const { service, emitted } = await start(t);
    const { entry, restarted } = await service.freshen(KEY);
    assert.equal(restarted, true);
    assert.deepEqual(await service.get(KEY), entry);
    assert.deepEqual([emitted.length, emitted[0]?.hook], [1, "sessionStarted"]);
  });

  it("leaves a session in use as it is and writes nothing", async (t) => {
    const { service, clock, storage } = await start(t);
    const entry = await service.ensure(KEY, { label: "l" });
    clock.advance(10 * MINUTE);
    const readOnly = await startFake(plugin, {
      clock,
      config: IDLE,
      storage: { ...storage, location: "", transaction: () => Promise.reject(new Error("a read must not write")) },
    });
    assert.deepEqual(await readOnly.service.freshen(KEY), { entry, restarted: false });
  });

  it("restarts a stale session: it keeps address and policies, and drops levels, model, label and counters", async (t) => {
    const { service, clock, emitted, storage } = await start(t);
    const kept = {
      chatType: "group",
      subject: "Team",
      deliveryContext: { channel: "irc", to: "1" },
      lastChannel: "irc",
      lastTo: "1",
      sendPolicy: "allow",
      groupActivation: "always",
      spawnedBy: "x",
      elevatedLevel: "ask",
      execHost: "gateway",
      execSecurity: "deny",
      execAsk: "always",
      execNode: "n",
    } as const;
    const lost = {
      label: "l",
      thinkingLevel: "high",
      verboseLevel: "on",
      reasoningLevel: "on",
      ttsAuto: "always",
      modelOverride: "m",
      providerOverride: "p",
      totalTokens: 9,
      inputTokens: 9,
      compactionCount: 2,
    };
    await service.append(KEY, [user("old")]);
    const old = await service.update(KEY, { ...kept, ...lost });
    emitted.length = 0;
    clock.advance(10 * MINUTE + 1);
    const { entry, restarted } = await service.freshen(KEY);
    assert.equal(restarted, true);
    assert.notEqual(entry.sessionId, old.sessionId);
    const counters = { inputTokens: 0, outputTokens: 0, totalTokens: 0, totalTokensFresh: true };
    assert.deepEqual(entry, { ...kept, ...counters, sessionId: entry.sessionId, updatedAt: clock.now() });
    assert.deepEqual(emitted, [
      { hook: "sessionEnded", input: { key: KEY, entry: old, reason: "reset" } },
      { hook: "sessionStarted", input: { key: KEY, entry } },
    ]);
    assert.deepEqual(await service.transcript(KEY, 5), []);
    const archives = await storage.all("select session_id, reason from archives");
    assert.deepEqual(archives, [{ session_id: old.sessionId, reason: "reset" }]);
  });

  it("restarts it once for concurrent calls", async (t) => {
    const { service, clock } = await start(t);
    await service.append(KEY, [user("old")]);
    clock.advance(11 * MINUTE);
    const all = await Promise.all(Array.from({ length: 10 }, () => service.freshen(KEY)));
    assert.equal(all.filter(({ restarted }) => restarted).length, 1);
    assert.equal(new Set(all.map(({ entry }) => entry.sessionId)).size, 1);
  });

  it("never archives a message that is appended at the same time", async (t) => {
    const { service, clock, storage } = await start(t);
    for (let round = 0; round < 10; round++) {
      await service.append(KEY, [user("old")]);
      clock.advance(11 * MINUTE);
      const fresh = `fresh ${round}`;
      await Promise.all([service.freshen(KEY), service.append(KEY, [user(fresh)]), service.freshen(KEY)]);
      const items = await service.transcript(KEY, 50);
      const said = items.flatMap(({ message }) => message.content.map((block) => ("text" in block ? block.text : "")));
      assert.ok(said.includes(fresh), `round ${round}: ${said.join()}`);
      await storage.transaction([{ sql: "delete from transcript" }]);
    }
  });

  const HOUR = { mode: "idle", idleMinutes: 60 };
  const group = { reset: HOUR, resetByType: { group: { idleMinutes: 5 } } };
  const thread = { reset: HOUR, resetByType: { thread: { idleMinutes: 5 } } };
  const rows: [what: string, config: object, context: object, restarted: boolean][] = [
    ["the policy of groups", group, {}, true],
    ["the policy of threads", thread, { isThread: true }, true],
    ["no policy of threads elsewhere", thread, {}, false],
    ["the policy of the channel", { ...IDLE, resetByChannel: { irc: HOUR } }, { channel: "irc" }, false],
    ["the channel it was last used on", { ...IDLE, resetByChannel: { sms: HOUR } }, {}, false],
  ];
  for (const [what, config, context, restarted] of rows) {
    it(`uses ${what}`, async (t) => {
      const { service, clock } = await start(t, { config });
      await service.ensure(KEY, { lastChannel: "sms" });
      clock.advance(11 * MINUTE);
      assert.equal((await service.freshen(KEY, context)).restarted, restarted);
    });
  }
});

describe("a changed configuration", () => {
  it("is used at once for resets, routing and sending", async (t) => {
    const { service, clock, change } = await start(t, { config: {} });
    await service.ensure(KEY);
    clock.advance(11 * MINUTE);
    const inbound = { channel: "irc", peer: { kind: "direct", id: "bob" } } as const;
    assert.equal((await service.freshen(KEY)).restarted, false);
    assert.equal(service.route(inbound).sessionKey, "agent:main:main");
    assert.equal(service.sendPolicy(KEY, undefined), "allow");

    const bindings = [{ agentId: "eve", match: { channel: "irc" } }];
    change({ ...IDLE, dmScope: "per-peer", sendPolicy: { default: "deny" } }, { bindings });
    assert.equal((await service.freshen(KEY)).restarted, true);
    assert.equal(service.route(inbound).sessionKey, "agent:eve:direct:bob");
    assert.equal(service.sendPolicy(KEY, undefined), "deny");
    assert.equal(service.sendPolicy(KEY, { sessionId: "s", updatedAt: 0, sendPolicy: "allow" }), "allow");
  });

  it("marks everything except scope and mainKey as hot", () => {
    const properties = (plugin.config as { properties?: Record<string, { reload?: string }> }).properties ?? {};
    const cold = Object.entries(properties).flatMap(([key, schema]) => (schema.reload === "hot" ? [] : [key]));
    assert.deepEqual(cold, ["scope", "mainKey"]);
    assert.equal((plugin.sections?.["bindings"] as { reload?: string } | undefined)?.reload, "hot");
  });
});
