import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import type { RunState } from "@svc/sdk/agents";
import { type SessionEntry, sessions } from "@svc/sdk/sessions";
import {
  UNSUPPORTED_IN_CREATE,
  UNSUPPORTED_IN_DELETE,
  UNSUPPORTED_IN_PATCH,
} from "../../../../plugins/sessions/patching/unsupported.ts";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { call, type FakeOptions, startFake } from "../fake-gateway.ts";
import { FakeClock, NOON, openTestStorage, user } from "../open-store.ts";

type PatchParams = ParamsOf<typeof sessions.patch>;

const KEY = "agent:main:foo";

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage: await openTestStorage(t), clock, ...options });
  await fake.service.append(KEY, [user("hi")]);
  const patch = async (params: Partial<PatchParams>) =>
    (await fake.handlers.patch(call({ key: "foo", ...params }))).entry as SessionEntry;
  const row = async () => (await fake.handlers.describe(call({ key: KEY }))).session;
  return { ...fake, clock, patch, row };
}

describe("marks of sessions.patch", () => {
  it("leave the time of last use, and with it the order of lists", async (t) => {
    const { patch, clock } = await start(t);
    clock.advance(1_000);
    for (const params of [{ unread: true }, { unread: false }, { pinned: true }, { archived: true }])
      assert.equal((await patch(params)).updatedAt, NOON, JSON.stringify(params));
    assert.equal((await patch({ label: "l", pinned: false })).updatedAt, NOON + 1_000, "a setting is a use");
  });

  it("count a session as unread that was used since it was read, or is marked so", async (t) => {
    const { patch, row, clock, service } = await start(t);
    assert.equal((await row())?.unread, false, "nobody has read it yet");
    clock.advance(1);
    const { lastReadAt } = await patch({ unread: false });
    assert.equal(lastReadAt, NOON + 1);
    assert.equal((await row())?.unread, false);
    clock.advance(1);
    await patch({ thinkingLevel: "low" });
    assert.equal((await row())?.unread, false, "a change of settings brings nothing to read");
    clock.advance(1);
    await service.append(KEY, [user("more")]);
    assert.equal((await row())?.unread, true);
    await patch({ unread: false });
    await patch({ unread: true });
    const marked = await row();
    assert.deepEqual([marked?.unread, marked?.markedUnreadAt], [true, NOON + 3]);
    assert.equal((await patch({ unread: true })).markedUnreadAt, NOON + 4, "each mark is another one");
    await patch({ unread: false });
    assert.equal((await row())?.unread, false);
  });

  it("write nothing for a session that is read already", async (t) => {
    const { patch, clock } = await start(t);
    await patch({ unread: false });
    clock.advance(5);
    assert.equal((await patch({ unread: false })).lastReadAt, NOON);
  });

  it("confirm reading only if the mark is the one that was seen", async (t) => {
    const { patch } = await start(t);
    const { markedUnreadAt = 0 } = await patch({ unread: true });
    assert.equal((await patch({ unread: false, expectedMarkedUnreadAt: null })).markedUnreadAt, markedUnreadAt);
    assert.equal((await patch({ unread: false, expectedMarkedUnreadAt: markedUnreadAt })).markedUnreadAt, undefined);
    await assert.rejects(patch({ label: "l", expectedMarkedUnreadAt: null }), { code: "INVALID_REQUEST" });
  });

  it("archive a session without its pin until it is restored or used", async (t) => {
    const { patch, row, clock, service } = await start(t);
    await patch({ pinned: true });
    assert.equal((await row())?.pinned, true);
    await patch({ archived: true });
    assert.deepEqual([(await row())?.archived, (await row())?.pinned], [true, false]);
    await assert.rejects(patch({ pinned: true }), /is archived; restore it/);
    clock.advance(1);
    await patch({ label: "l" });
    assert.equal((await row())?.archived, true, "a change of settings is no message");
    await patch({ archived: false });
    assert.equal((await row())?.archived, false);
    await patch({ archived: true });
    clock.advance(1);
    await service.append(KEY, [user("hello again")]);
    assert.equal((await row())?.archived, false);
  });

  it("stay over a reset, except that the session is read and restored", async (t) => {
    const { patch, row, clock, handlers } = await start(t);
    await patch({ pinned: true, category: "Work", icon: "🌊", color: "blue", unread: false });
    await handlers.reset(call({ key: KEY }));
    clock.advance(1);
    const { pinned, category, icon, color, unread } = (await row()) ?? {};
    assert.deepEqual([pinned, category, icon, color, unread], [true, "Work", "🌊", "blue", false]);
    await patch({ category: null, icon: "", color: null });
    const cleared = await row();
    assert.deepEqual([cleared?.category, cleared?.icon, cleared?.color], [undefined, undefined, undefined]);
  });

  it("refuse the archive of a main session, of a busy one and of a missing one", async (t) => {
    const active = (key: string): RunState[] =>
      key === KEY ? [{ runId: "r", sessionKey: key, source: "chat", status: "running" }] : [];
    const { patch, service } = await start(t, { runs: { active } });
    await service.ensure("agent:main:main");
    await assert.rejects(patch({ key: "main", archived: true }), { code: "INVALID_REQUEST" });
    await assert.rejects(patch({ archived: true }), { code: "UNAVAILABLE" });
    for (const mark of [{ archived: true }, { pinned: true }, { unread: false }])
      await assert.rejects(patch({ key: "none", ...mark }), { code: "NOT_FOUND" });
    assert.equal(await service.get("agent:main:none"), undefined);
  });
});

describe("what the caller of a change has seen", () => {
  it("must be the current session", async (t) => {
    const { patch, handlers, service } = await start(t);
    const { sessionId, updatedAt } = (await service.get(KEY)) as SessionEntry;
    await patch({ label: "l", expectedSessionId: sessionId });
    const conflict = { code: "CONFLICT" };
    await assert.rejects(patch({ label: "m", expectedSessionId: "other" }), conflict);
    await assert.rejects(patch({ unread: true, expectedSessionId: "other" }), conflict);
    await assert.rejects(async () => handlers.reset(call({ key: KEY, expectedSessionId: "other" })), conflict);
    await assert.rejects(async () => handlers.delete(call({ key: KEY, expectedSessionId: "other" })), conflict);
    await assert.rejects(
      async () => handlers.delete(call({ key: KEY, expectedSessionUpdatedAt: updatedAt - 1 })),
      conflict,
    );
    await assert.rejects(async () => handlers.delete(call({ key: KEY, archivedOnly: true })), {
      code: "INVALID_REQUEST",
    });
    assert.equal((await service.get(KEY))?.label, "l");
    await patch({ archived: true });
    const all = { archivedOnly: true, expectedSessionId: sessionId, expectedSessionUpdatedAt: updatedAt };
    assert.equal((await handlers.delete(call({ key: KEY, ...all }))).deleted, true);
  });

  it("names the agent of a key, or agrees with it", async (t) => {
    const { patch, handlers, service } = await start(t);
    await patch({ key: "notes", agentId: "Bob", label: "l" });
    assert.equal((await service.get("agent:bob:notes"))?.label, "l");
    await patch({ key: "agent:bob:notes", agentId: "bob", label: "m" });
    const wrong = call({ key: KEY, agentId: "bob" });
    for (const refused of [
      () => patch(wrong.params),
      () => handlers.reset(wrong),
      () => handlers.delete(wrong),
      () => handlers.compact(wrong),
      () => handlers.describe(wrong),
    ])
      await assert.rejects(async () => refused(), {
        code: "INVALID_REQUEST",
        message: /does not belong to agent "bob"/,
      });
  });
});

describe("settings of other gateways", () => {
  const methods = [
    [sessions.patch, UNSUPPORTED_IN_PATCH],
    [sessions.create, UNSUPPORTED_IN_CREATE],
    [sessions.delete, UNSUPPORTED_IN_DELETE],
  ] as const;
  for (const [{ name, params }, fields] of methods) {
    it(`are refused by ${name}, all that its contract names`, () => {
      const named = Object.entries(params.properties as Record<string, { description?: string }>);
      const declared = named.filter(([, { description = "" }]) => description.startsWith("not supported"));
      assert.deepEqual(declared.map(([field]) => field).toSorted(), [...fields].toSorted());
    });
  }

  it("are refused by name, unless they ask for nothing", async (t) => {
    const { patch, handlers } = await start(t);
    const { fastMode } = await patch({ fastMode: null, permissionMode: null, label: "l" });
    assert.equal(fastMode, undefined);
    await assert.rejects(patch({ fastMode: true }), /sessions\.patch: `fastMode` is not supported by this gateway/);
    await assert.rejects(
      async () => handlers.create(call({ worktree: true })),
      /sessions\.create: `worktree` is not supported/,
    );
    await assert.rejects(
      async () => handlers.delete(call({ key: KEY, expectedLifecycleRevision: "x" })),
      /is not supported/,
    );
  });
});
