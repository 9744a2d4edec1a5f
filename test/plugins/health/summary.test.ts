import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches, notFound } from "@svc/sdk";
import { HealthSummary } from "@svc/sdk/health";
import type { Models } from "@svc/sdk/models";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { gatewayStatus, sessionRow } from "../../../plugins/health/status.ts";
import { healthSummary, NO_HEARTBEAT } from "../../../plugins/health/summary.ts";

const NOW = 10_000;
const clock = { now: () => NOW, elapsed: () => 5 };
const entry: SessionEntry = { sessionId: "s1", updatedAt: 9_000 };
const stored = [
  { key: "global", entry },
  { key: "agent:main:main", entry },
  { key: "agent:main:chat:group:7", entry: { ...entry, sessionId: "s2", updatedAt: 8_000 } },
];
const sessions: Pick<Sessions, "recent" | "count" | "location" | "defaults" | "agentOf"> = {
  location: "/state/state.db",
  defaults: () => ({ defaultAgentId: "main", mainKey: "main", mainSessionKey: "agent:main:main", scope: "per-sender" }),
  agentOf: () => "main",
  count: async (agentId) => (agentId === "second" ? 0 : stored.length),
  recent: async ({ limit, agentId }) => (agentId === "second" ? [] : stored.slice(0, limit)),
};
const gateway = { missingPlugins: () => [] as string[] };
const agents = {
  defaultId: "main",
  list: () => [
    { id: "main", name: "Main", isDefault: true, workspace: "/state/workspace" },
    { id: "second", isDefault: false, workspace: "/state/workspace-second" },
  ],
};
const models: Pick<Models, "resolve"> = {
  resolve: () => ({ provider: "p", id: "m1", name: "M", api: "x", contextWindow: 1_000 }),
};

describe("the health summary", () => {
  it("has the fields that clients read, for every agent", async () => {
    const health = await healthSummary({ gateway, sessions, agents }, clock);
    const recent = stored.map(({ key, entry }) => ({ key, updatedAt: entry.updatedAt, age: NOW - entry.updatedAt }));
    const main = { path: "", count: 3, recent };
    const empty = { path: "", count: 0, recent: [] };
    assert.deepEqual(health, {
      ok: true,
      missingPlugins: [],
      ts: NOW,
      durationMs: 0,
      channels: {},
      channelOrder: [],
      channelLabels: {},
      heartbeatSeconds: 0,
      defaultAgentId: "main",
      agents: [
        { agentId: "main", name: "Main", isDefault: true, heartbeat: NO_HEARTBEAT, sessions: main },
        { agentId: "second", isDefault: false, heartbeat: NO_HEARTBEAT, sessions: empty },
      ],
      sessions: main,
    });
    assert.ok(matches(HealthSummary, health));
  });

  it("is not ok while a plugin is not running, and names it", async () => {
    const gateway = { missingPlugins: () => ["chat", "sessions"] };
    const health = await healthSummary({ gateway, sessions, agents }, clock);
    assert.deepEqual([health.ok, health.missingPlugins], [false, ["chat", "sessions"]]);
  });

  it("lists at most five sessions", async () => {
    const many = Array.from({ length: 9 }, (_, n) => ({ key: `agent:main:${n}`, entry }));
    const source = { ...sessions, recent: async ({ limit }: { limit: number }) => many.slice(0, limit) };
    const health = await healthSummary({ gateway, sessions: source, agents }, clock);
    assert.equal((health.sessions as { recent: unknown[] }).recent.length, 5);
  });

  it("works without sessions and agents", async () => {
    const health = await healthSummary({ gateway, sessions: undefined, agents: undefined }, clock);
    const none = { defaultAgentId: "main", agents: [], sessions: { path: "", count: 0, recent: [] } };
    assert.deepEqual({ ...health, ...none }, health);
  });
});

describe("status", () => {
  it("shows sessions to an admin, without global and unknown", async () => {
    const status = await gatewayStatus({ sessions, agents, models }, { full: true, now: NOW });
    assert.deepEqual(status.sessions.paths, ["/state/state.db"]);
    assert.deepEqual(status.sessions.defaults, { model: "m1", contextTokens: 1_000 });
    const shown = status.sessions.recent.map(({ key, kind }) => `${key} ${kind}`);
    assert.deepEqual(shown, ["agent:main:main direct", "agent:main:chat:group:7 group"]);
    const byAgent = status.sessions.byAgent.map(({ agentId, count, recent }) => `${agentId} ${count} ${recent.length}`);
    assert.deepEqual(byAgent, ["main 3 2", "second 0 0"]);
    assert.deepEqual(status.heartbeat.agents[0], { agentId: "main", enabled: false, every: "0m", everyMs: null });
  });

  it("shows only counts to other callers", async () => {
    const status = await gatewayStatus({ sessions, agents, models }, { full: false, now: NOW });
    assert.deepEqual(status.sessions, {
      paths: [],
      count: 3,
      defaults: { model: null, contextTokens: null },
      recent: [],
      byAgent: [
        { agentId: "main", path: "[redacted]", count: 3, recent: [] },
        { agentId: "second", path: "[redacted]", count: 0, recent: [] },
      ],
    });
  });

  it("fails as a whole when storage does, and leaves no unhandled rejection", async (t) => {
    const stray: unknown[] = [];
    const note = (reason: unknown) => void stray.push(reason);
    process.on("unhandledRejection", note);
    t.after(() => process.off("unhandledRejection", note));
    const stopped = () => Promise.reject(new Error("the database stopped"));
    const broken = { ...sessions, count: stopped, recent: stopped };
    await assert.rejects(gatewayStatus({ sessions: broken, agents, models }, { full: true, now: NOW }), /stopped/);
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(stray, []);
  });

  it("shows the default model of the agent for a session without one", async () => {
    const named: typeof models = { resolve: (_ref, agentId = "m1") => ({ ...models.resolve(), id: agentId }) };
    const { sessions: shown } = await gatewayStatus({ sessions, agents, models: named }, { full: true, now: NOW });
    assert.deepEqual([shown.defaults.model, shown.recent[0]?.model], ["m1", "main"]);
  });

  it("has no default model if none is usable", async () => {
    const none = { resolve: () => notFound("no model") };
    const status = await gatewayStatus({ sessions, agents, models: none }, { full: true, now: NOW });
    assert.deepEqual(status.sessions.defaults, { model: null, contextTokens: null });
  });
});

describe("a row of status", () => {
  const base = { key: "agent:main:main", agentId: "main", now: NOW, defaults: { model: "m1", contextTokens: 1_000 } };
  const row = (change: Partial<SessionEntry>) => sessionRow({ ...base, entry: { ...entry, ...change } });

  it("computes the used context from fresh token counts", () => {
    const { totalTokens, remainingTokens, percentUsed, totalTokensFresh } = row({ totalTokens: 250 });
    assert.deepEqual([totalTokens, remainingTokens, percentUsed, totalTokensFresh], [250, 750, 25, true]);
  });

  const unmeasured: [why: string, change: Partial<SessionEntry>][] = [
    ["there is no count", {}],
    ["the count is stale", { totalTokens: 250, totalTokensFresh: false }],
    ["the context has no size", { totalTokens: 250, contextTokens: 0 }],
  ];
  for (const [why, change] of unmeasured) {
    it(`computes no used context when ${why}`, () => {
      assert.deepEqual([row(change).remainingTokens, row(change).percentUsed], [null, null]);
    });
  }

  it("shows at most 999 percent and at least zero", () => {
    const { remainingTokens, percentUsed } = row({ totalTokens: 50_000 });
    assert.deepEqual([remainingTokens, percentUsed], [0, 999]);
  });

  it("lists levels and states as flags", () => {
    const levels = { thinkingLevel: "low", verboseLevel: "on", reasoningLevel: "stream", elevatedLevel: "full" };
    const flags = ["think:low", "verbose:on", "reasoning:stream", "elevated:full", "system", "aborted", "id:s1"];
    assert.deepEqual(row({ ...levels, systemSent: true, abortedLastRun: true }).flags, flags);
  });
});

describe("heartbeats and events, where a plugin has them", () => {
  const beats = { enabled: true, every: "30m", everyMs: 1_800_000, prompt: "p", target: "none", ackMaxChars: 300 };
  const heartbeats = { get: () => ({ of: (id: string) => (id === "main" ? beats : NO_HEARTBEAT) }) };

  it("are in the summary", async () => {
    const health = await healthSummary({ gateway, sessions, agents, heartbeats }, clock);
    assert.equal(health.heartbeatSeconds, 1_800);
    assert.deepEqual((health.agents as { heartbeat: object }[])[0]?.heartbeat, beats);
  });

  it("are in the status, twenty events at most", async () => {
    const event = { id: "1", at: 0, reason: "", wake: "now" as const };
    const waiting = async (sessionKey: string) =>
      Array.from({ length: 21 }, (_, n) => ({ ...event, sessionKey, text: `t${n}` }));
    const events = { get: () => ({ waiting }) };
    const status = await gatewayStatus({ sessions, agents, models, heartbeats, events }, { full: true, now: NOW });
    assert.deepEqual(status.heartbeat.agents[0], { agentId: "main", enabled: true, every: "30m", everyMs: 1_800_000 });
    assert.deepEqual([status.queuedSystemEvents.length, status.queuedSystemEvents[19]], [20, "t19"]);
  });
});
