import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type ParamsOf, unavailable } from "@svc/sdk";
import type { AgentDirectory, RunRequest } from "@svc/sdk/agents";
import type { ParsedCommand } from "@svc/sdk/commands";
import type { Models } from "@svc/sdk/models";
import type { SessionEntry, sessions } from "@svc/sdk/sessions";
import plugin from "../../../../plugins/sessions/plugin.ts";
import { publishedViolations } from "../../../published.ts";
import { call, type FakeOptions, principal, startFake } from "../fake-gateway.ts";
import { FakeClock, NOON, openTestStorage } from "../open-store.ts";

type Params = ParamsOf<typeof sessions.create>;

const models = {
  list: () => [],
  resolve: (ref = "dp/dm") => ({ provider: ref.split("/")[0], id: ref.split("/")[1], name: ref, api: "x" }),
} as unknown as Models; // nothing is streamed here
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const started: RunRequest[] = [];
  const runs: FakeOptions["runs"] = {
    active: () => [],
    async start(request) {
      const fresh = !started.some(({ runId }) => runId === request.runId);
      if (fresh) started.push(request);
      const { runId, sessionKey, source } = request;
      return { fresh, state: { runId, sessionKey, source, status: "accepted" }, acceptedAt: NOON };
    },
  };
  const commands = { parse: (text: string) => (text.startsWith("/") ? ({} as ParsedCommand) : undefined) };
  const storage = await openTestStorage(t);
  const fake = await startFake(plugin, { storage, clock: new FakeClock(), models, runs, commands, ...options });
  const create = async (params: Params) => {
    const answer = await fake.handlers.create(call(params));
    assert.deepEqual(publishedViolations("SessionsCreateResult", answer), []);
    return { ...answer, entry: answer.entry as SessionEntry };
  };
  return { ...fake, create, started };
}

describe("sessions.create", () => {
  it("creates a session with a key of its own, and announces it", async (t) => {
    const { create, service, emitted } = await start(t);
    const { key, entry, sessionId, ...others } = await create({});
    assert.match(key, /^agent:main:dashboard:[0-9a-f-]{36}$/);
    assert.deepEqual(entry, { sessionId, updatedAt: NOON });
    assert.deepEqual(others, { ok: true, resolved: { modelProvider: "dp", model: "dm" }, runStarted: false });
    assert.deepEqual(await service.get(key), entry);
    assert.deepEqual(
      emitted.map(({ hook }) => hook),
      ["sessionStarted"],
    );
  });

  it("creates the session of a key for its agent, with the settings", async (t) => {
    const { create } = await start(t);
    const { key, entry, resolved } = await create({
      key: "tui-1",
      agentId: "Bob",
      label: "Notes",
      displayName: " Trip ",
      category: "Work",
      model: "p/other",
      thinkingLevel: "min",
    });
    assert.equal(key, "agent:bob:tui-1");
    const { sessionId: _id, updatedAt: _at, ...fields } = entry;
    assert.deepEqual(fields, {
      label: "Notes",
      displayName: "Trip",
      category: "Work",
      modelOverride: "other",
      providerOverride: "p",
      thinkingLevel: "minimal",
    });
    assert.deepEqual(resolved, { modelProvider: "p", model: "other" });
    assert.equal((await create({ titleSource: "What\nis this?" })).entry.displayName, "What is this?");
  });

  it("takes over settings and restrictions of the parent, which stays as it is", async (t) => {
    const { create, service, emitted } = await start(t);
    const kept = {
      execSecurity: "deny",
      sendPolicy: "deny",
      thinkingLevel: "low",
      modelOverride: "m",
      providerOverride: "p",
    } as const;
    const parent = await service.ensure("agent:bob:main", { ...kept, label: "own", pinnedAt: 1 });
    emitted.length = 0;
    const opened = await create({ parentSessionKey: "agent:bob:main", succeedsParent: true, emitCommandHooks: true });
    assert.match(opened.key, /^agent:bob:dashboard:/, "the agent of the parent");
    const { sessionId, updatedAt, ...fields } = opened.entry;
    assert.deepEqual(fields, { ...kept, parentSessionKey: "agent:bob:main" });
    assert.ok(sessionId !== parent.sessionId && updatedAt === NOON);
    assert.deepEqual(await service.get("agent:bob:main"), parent);
    assert.deepEqual(
      emitted.map(({ hook }) => hook),
      ["sessionStarted"],
    );
    const other = await create({ parentSessionKey: "agent:bob:main", model: "dp/dm", thinkingLevel: "high" });
    assert.deepEqual(
      [other.entry.modelOverride, other.entry.thinkingLevel, other.entry.execSecurity],
      [undefined, "high", "deny"],
    );
    const alone = await create({ key: "x", parentSessionKey: "agent:main:none" });
    assert.equal(alone.entry.parentSessionKey, "agent:main:none", "the parent may not be stored yet");
  });

  it("returns an existing session unchanged, and refuses to change its settings", async (t) => {
    const { create, service } = await start(t);
    const entry = await service.ensure("agent:main:foo", { label: "l", thinkingLevel: "low", elevatedLevel: "off" });
    assert.deepEqual((await create({ key: "foo" })).entry, entry);
    assert.deepEqual((await create({ key: "foo", label: "l", thinkingLevel: "low" })).entry, entry);
    for (const [params, field] of [
      [{ label: "other" }, "label"],
      [{ thinkingLevel: "high" }, "thinkingLevel"],
      [{ model: "p/m" }, "modelOverride"],
      [{ displayName: "x" }, "displayName"],
      [{ parentSessionKey: "main" }, "parentSessionKey"],
    ] as const)
      await assert.rejects(create({ key: "foo", ...params }), {
        code: "CONFLICT",
        message: new RegExp(`another ${field}`),
      });
    assert.deepEqual(await service.get("agent:main:foo"), entry);
  });

  it("finds the session and the run of an equal call by the idempotency key", async (t) => {
    const { create, started, handlers } = await start(t);
    const params = { idempotencyKey: "k", label: "l", message: "hi" };
    const [first, second] = await Promise.all([create(params), create(params)]);
    assert.deepEqual([second.key, second.sessionId, second.runId], [first.key, first.sessionId, first.runId]);
    assert.deepEqual([first.runStarted, second.runStarted, started.length], [true, true, 1]);
    await assert.rejects(create({ ...params, label: "m" }), { code: "CONFLICT" });
    const other = { ...call({ ...params, label: "n" }), principal: { ...principal, id: "somebody" } };
    assert.notEqual((await handlers.create(other)).key, first.key, "the keys of others are others");
  });

  it("refuses what is no session of the agent, an unknown agent and a taken label", async (t) => {
    const agents = { defaultId: "main", has: (id: string) => id === "main" } as unknown as AgentDirectory; // nothing else is asked
    const { create, service } = await start(t, { agents });
    await service.ensure("agent:main:a", { label: "taken" });
    await assert.rejects(create({ key: "agent:main:x", agentId: "bob" }), { code: "INVALID_REQUEST" });
    await assert.rejects(create({ agentId: "bob" }), { code: "NOT_FOUND" });
    await assert.rejects(create({ label: "taken" }), { code: "INVALID_REQUEST", message: /already used/ });
    await assert.rejects(create({ key: "main", parentSessionKey: "main" }), { code: "INVALID_REQUEST" });
    assert.equal(await service.count(), 1);
  });
});

describe("the first message of sessions.create", () => {
  it("starts a run as chat.send does", async (t) => {
    const { create, started } = await start(t);
    const { key, runStarted, runId } = await create({
      message: "hi",
      attachments: [{ content: PNG }],
      timeoutMs: 5,
    });
    const [{ images, ...request } = { images: [] }] = started;
    assert.deepEqual(request, { runId, sessionKey: key, message: "hi", source: "chat", principal, timeoutMs: 5 });
    assert.deepEqual([runStarted, images?.length], [true, 1]);
    assert.equal((await create({ message: "  " })).runStarted, false, "a blank message is none");
  });

  it("is refused in the result, as the session exists", async (t) => {
    const { create, started } = await start(t);
    const command = await create({ message: "/status" });
    assert.deepEqual(
      [command.runStarted, command.runError?.code, command.runId],
      [false, "INVALID_REQUEST", undefined],
    );
    const silent = await start(t, { config: { sendPolicy: { default: "deny" } } });
    assert.match((await silent.create({ message: "hi" })).runError?.message ?? "", /sendPolicy/);
    const busy = await start(t, {
      runs: { active: () => [], start: () => unavailable("stopping", { retryAfterMs: 5 }) },
    });
    const { runError, sessionId } = await busy.create({ key: "x", message: "hi" });
    assert.deepEqual([runError?.code, runError?.retryAfterMs], ["UNAVAILABLE", 5]);
    assert.equal((await busy.service.get("agent:main:x"))?.sessionId, sessionId);
    assert.deepEqual(started, []);
  });

  it("refuses attachments of no use before the session is created", async (t) => {
    const { create, service } = await start(t);
    await assert.rejects(create({ attachments: [{ content: "aGVsbG8=" }] }), { code: "INVALID_REQUEST" });
    assert.equal(await service.count(), 0);
  });
});
