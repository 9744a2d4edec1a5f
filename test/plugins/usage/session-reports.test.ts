import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { matches } from "@svc/sdk";
import type { AssistantMessage, Message, Usage } from "@svc/sdk/models";
import { sessionsUsage } from "@svc/sdk/usage";
import plugin from "../../../plugins/sessions/plugin.ts";
import { reportUsage, usageLogs, usageTimeseries } from "../../../plugins/usage/session-reports.ts";
import { answered, byDay, totalsOf } from "../../../plugins/usage/summary.ts";
import { call, type FakeOptions, startFake } from "../sessions/fake-gateway.ts";
import { FakeClock, NOON, openTestStorage } from "../sessions/open-store.ts";

const DAY = 86_400_000;
const KEY = "agent:main:irc:direct:bob";

function used(tokens: number, dollars?: number): Usage {
  const cost = { input: 0.25, output: 0.25, cacheRead: 0, cacheWrite: 0 };
  return {
    input: tokens - 2,
    output: 1,
    cacheRead: 1,
    cacheWrite: 0,
    totalTokens: tokens,
    ...(dollars !== undefined && { cost: { ...cost, total: dollars } }),
  };
}

const asks = (timestamp: number): Message => ({ role: "user", content: [{ type: "text", text: "hi" }], timestamp });
const answers = (timestamp: number, usage?: Usage, more: Partial<AssistantMessage> = {}): Message => ({
  role: "assistant",
  content: [{ type: "text", text: "hello" }],
  api: "x",
  provider: "p",
  model: "m",
  stopReason: "stop",
  timestamp,
  ...(usage && { usage }),
  ...more,
});
const calls = (...names: string[]): Pick<AssistantMessage, "content"> => ({
  content: names.map((name) => ({ type: "toolCall" as const, id: name, name, arguments: {} })),
});
const result = (timestamp: number, isError = false): Message => ({
  role: "toolResult",
  toolCallId: "1",
  toolName: "read",
  content: [{ type: "text", text: "out" }],
  isError,
  timestamp,
});

async function start(t: TestContext, options: Partial<FakeOptions> = {}) {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const fake = await startFake(plugin, { storage, clock, ...options });
  const report = async (params: object = {}) => {
    const answer = await reportUsage(fake.records, params, { now: clock.now(), timeZone: "Asia/Tokyo" });
    assert.ok(matches(sessionsUsage.report.result, answer), "the result is what the contract says");
    return answer;
  };
  return { ...fake, storage, clock, report };
}

/** Two days of one session: two turns with tools yesterday, one unpriced answer of another model today. */
async function seeded(t: TestContext) {
  const started = await start(t);
  const yesterday = NOON - DAY;
  await started.service.append(KEY, [
    asks(yesterday),
    answers(yesterday + 1000, used(10, 0.5), calls("read", "exec")),
    result(yesterday + 2000),
    result(yesterday + 3000, true),
    answers(yesterday + 4000, used(20, 0.5), { stopReason: "error", errorMessage: "e" }),
    asks(NOON - 5000),
    answers(NOON - 2000, used(5), { provider: "q", model: "n", ...calls("read") }),
    answers(NOON - 1000, undefined, { provider: "svc", model: "gateway-injected" }),
  ]);
  return started;
}

describe("sessions.usage", () => {
  it("reports all of one session", async (t) => {
    const { report, service } = await seeded(t);
    const entry = await service.update(KEY, { label: "Bob", lastChannel: "sms", updatedAt: NOON });
    const { sessions: rows, totals, startDate, endDate, updatedAt } = await report({ key: "irc:direct:BOB" });
    assert.deepEqual([startDate, endDate, updatedAt], ["2026-02-01", "2026-03-02", NOON]);
    const [row, ...others] = rows;
    assert.equal(others.length, 0);
    const tokens = { input: 29, output: 3, cacheRead: 3, cacheWrite: 0, totalTokens: 35 };
    const costs = { inputCost: 0.5, outputCost: 0.5, cacheReadCost: 0, cacheWriteCost: 0, totalCost: 1 };
    const expected = { ...tokens, ...costs, missingCostEntries: 1 };
    assert.deepEqual(totals, expected);
    const { usage, ...about } = row ?? assert.fail();
    const of = { key: KEY, agentId: "main", channel: "irc", chatType: "direct" };
    assert.deepEqual(about, { ...of, label: "Bob", sessionId: entry.sessionId, updatedAt: NOON });
    const latency = { count: 2, avgMs: 2000, p95Ms: 3000, minMs: 1000, maxMs: 3000 };
    const [first, second] = ["2026-03-01", "2026-03-02"];
    const tools = [
      { name: "read", count: 2 },
      { name: "exec", count: 1 },
    ];
    const counts = { total: 8, user: 2, assistant: 4, toolCalls: 3, toolResults: 2, errors: 2 };
    const { modelUsage, ...rest } = usage ?? assert.fail();
    assert.deepEqual(rest, {
      ...expected,
      sessionId: entry.sessionId,
      sessionFile: `${service.location}#${entry.sessionId}`,
      firstActivity: NOON - DAY,
      lastActivity: NOON - 1000,
      durationMs: DAY - 1000,
      activityDates: [first, second],
      dailyBreakdown: [
        { date: first, tokens: 30, cost: 1 },
        { date: second, tokens: 5, cost: 0 },
      ],
      dailyMessageCounts: [
        { date: first, total: 5, user: 1, assistant: 2, toolCalls: 2, toolResults: 2, errors: 2 },
        { date: second, total: 3, user: 1, assistant: 2, toolCalls: 1, toolResults: 0, errors: 0 },
      ],
      dailyLatency: [
        { date: first, count: 1, avgMs: 1000, p95Ms: 1000, minMs: 1000, maxMs: 1000 },
        { date: second, count: 1, avgMs: 3000, p95Ms: 3000, minMs: 3000, maxMs: 3000 },
      ],
      dailyModelUsage: [
        { date: first, provider: "p", model: "m", tokens: 30, cost: 1, count: 2 },
        { date: second, provider: "q", model: "n", tokens: 5, cost: 0, count: 1 },
      ],
      messageCounts: counts,
      toolUsage: { totalCalls: 3, uniqueTools: 2, tools },
      latency,
    });
    assert.deepEqual(
      modelUsage?.map(({ provider, model, count, totals: { totalTokens } }) => [provider, model, count, totalTokens]),
      [
        ["p", "m", 2, 30],
        ["q", "n", 1, 5],
      ],
    );
  });

  it("returns only the most expensive sessions, and totals of all", async (t) => {
    const { report, service } = await seeded(t);
    const dear = "agent:main:irc:direct:ann";
    await service.append(dear, [asks(NOON - 5000), answers(NOON - 4000, used(3, 9))]);
    await service.append("agent:main:irc:direct:eve", [asks(NOON - 500)]);
    const { sessions, totals } = await report({ top: 1 });
    assert.deepEqual([sessions.map(({ key }) => key), totals.totalCost], [[dear], 10]);
    assert.deepEqual(
      (await report({ top: 9 })).sessions.map(({ key }) => key),
      [dear, KEY],
    );
  });

  it("sums all sessions by model, provider, agent, channel and day, highest cost first", async (t) => {
    const { report, service, clock } = await seeded(t);
    clock.advance(1);
    await service.append("agent:eve:main", [asks(NOON), answers(NOON + 9000, used(7, 4))]);
    const { sessions: rows, totals, aggregates } = await report();
    assert.equal(rows.map(({ key }) => key).join(), `agent:eve:main,${KEY}`);
    assert.deepEqual([totals.totalTokens, totals.totalCost], [42, 5]);
    const messages = { total: 10, user: 3, assistant: 5, toolCalls: 3, toolResults: 2, errors: 2 };
    assert.deepEqual(aggregates.messages, messages);
    assert.equal(aggregates.tools.totalCalls, 3);
    const shown = <T extends { totals: { totalCost: number } }>(list: readonly T[], name: keyof T) =>
      list.map((item) => `${String(item[name])} ${item.totals.totalCost}`).join(", ");
    assert.equal(shown(aggregates.byModel, "model"), "m 5, n 0");
    assert.equal(shown(aggregates.byProvider, "provider"), "p 5, q 0");
    assert.equal(shown(aggregates.byAgent, "agentId"), "eve 4, main 1");
    assert.equal(shown(aggregates.byChannel, "channel"), "irc 1");
    assert.equal(aggregates.latency?.count, 3);
    assert.deepEqual(aggregates.daily, [
      { date: "2026-03-01", tokens: 30, cost: 1, messages: 5, toolCalls: 2, errors: 2 },
      { date: "2026-03-02", tokens: 12, cost: 4, messages: 5, toolCalls: 1, errors: 0, missingCostEntries: 1 },
    ]);
    const unknown = { missingCostEntries: 0, missingUsageEntries: 0 };
    assert.deepEqual(aggregates.byTool, [
      { ...unknown, name: "read", calls: 2, answers: 2, tokens: 15, cost: 0.5, missingCostEntries: 1 },
      { ...unknown, name: "exec", calls: 1, answers: 1, tokens: 10, cost: 0.5 },
    ]);
  });

  it("counts messages before a cut and a reset, and archived ones of deleted sessions", async (t) => {
    const { report, handlers, service } = await seeded(t);
    const { sessionId } = (await service.get(KEY)) ?? assert.fail();
    await handlers.compact(call({ key: KEY, maxLines: 1 }));
    assert.equal((await report({ key: KEY })).totals.totalTokens, 35);
    await service.reset(KEY, "reset");
    const retired = `agent:main:${sessionId}`;
    const { sessions: rows, totals } = await report();
    const tokens = new Map(rows.map(({ key, usage }) => [key, usage?.totalTokens]));
    assert.deepEqual([tokens.size, tokens.get(retired), tokens.get(KEY)], [2, 35, undefined]);
    assert.equal(totals.totalTokens, 35);
    assert.equal((await report({ key: retired })).totals.totalTokens, 35);
    await service.append("agent:main:gone", [asks(NOON), answers(NOON, used(3, 1))]);
    await handlers.delete(call({ key: "gone", deleteTranscript: false }));
    assert.equal((await report()).totals.totalTokens, 38);
  });

  it("counts answers without reported usage as unknown, not as zero tokens", async (t) => {
    const { report, service } = await start(t);
    const zeros = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    await service.append(KEY, [
      asks(NOON),
      answers(NOON, undefined, calls("read", "read")),
      answers(NOON, zeros, calls("read")),
      answers(NOON, used(5, 1), { model: "n", ...calls("exec", "exec") }),
      answers(NOON, undefined, { provider: "svc", model: "gateway-injected" }),
    ]);
    const { totals, aggregates } = await report();
    assert.deepEqual([totals.totalTokens, totals.missingCostEntries, totals.missingUsageEntries], [5, 0, 2]);
    const byModel = aggregates.byModel.map(({ model, count, totals: some }) => [
      model,
      count,
      some.missingUsageEntries,
    ]);
    assert.deepEqual(byModel, [
      ["n", 1, undefined],
      ["m", 2, 2],
    ]);
    assert.equal(aggregates.daily[0]?.missingUsageEntries, 2);
    const none = { missingCostEntries: 0, missingUsageEntries: 0 };
    assert.deepEqual(aggregates.byTool, [
      { ...none, name: "exec", calls: 2, answers: 1, tokens: 5, cost: 1 },
      { ...none, name: "read", calls: 3, answers: 2, tokens: null, cost: null, missingUsageEntries: 2 },
    ]);
  });

  it("groups by days of a zone, across clock changes", async (t) => {
    const { service, records } = await start(t);
    const at = (iso: string) => Date.parse(iso);
    const times = [
      "2025-10-26T23:00:00+01:00", // 25 hours long
      "2025-10-26T00:00:00+02:00",
      "2025-10-27T00:00:00+01:00",
      "2026-03-28T23:59:59+01:00",
      "2026-03-29T00:00:00+01:00", // 23 hours long
      "2026-03-29T23:59:59+02:00",
      "2026-03-30T00:00:00+02:00",
    ];
    const answersThen = times.map((time) => answers(at(time), used(1)));
    await service.append(KEY, answersThen);
    const period = { from: at("2025-10-01T00:00:00Z"), to: at("2026-04-02T00:00:00Z"), zone: "Europe/Berlin" };
    const sums = await records.ofAgent("main", period);
    const counts = byDay(sums).map(([day, some]) => `${day} ${some.reduce((all, { messages }) => all + messages, 0)}`);
    assert.deepEqual(counts, ["2025-10-26 2", "2025-10-27 1", "2026-03-28 1", "2026-03-29 2", "2026-03-30 1"]);
  });

  it("returns the sums of an agent by day, including reset, cut off and unassigned transcripts", async (t) => {
    const { records, service, handlers } = await seeded(t);
    /** Tokens and cost of each day. */
    const days = async (agentId: string, from = 0) => {
      const sums = await records.ofAgent(agentId, { from, to: NOON + DAY, zone: "UTC" });
      const totals = byDay(answered(sums)).map(([, ofDay]) => totalsOf(ofDay));
      return totals.map(({ totalTokens, totalCost }) => `${totalTokens} for ${totalCost}`).join(", ");
    };
    assert.equal(await days("main"), "30 for 1, 5 for 0");
    await handlers.compact(call({ key: KEY, maxLines: 1 }));
    await service.reset(KEY, "reset");
    assert.equal(await days("main"), "30 for 1, 5 for 0");
    assert.equal(await days("main", NOON - DAY / 2), "5 for 0");
    await service.append("global", [answers(NOON, used(4, 2))]);
    await service.append("agent:eve:main", [answers(NOON, used(7, 4))]);
    assert.equal(await days("main"), "30 for 1, 9 for 2");
    assert.equal(await days("eve"), "7 for 4");
    assert.equal(await days("ev"), "");
  });

  it("counts a transcript of two sessions once", async (t) => {
    const { report, service } = await start(t);
    await service.ensure("agent:main:cron:j", { sessionId: "shared" });
    await service.ensure("agent:main:cron:j:run:shared", { sessionId: "shared" });
    await service.append("agent:main:cron:j", [answers(NOON, used(9, 1))]);
    const { sessions: rows, totals } = await report();
    assert.deepEqual([rows.length, totals.totalTokens], [1, 9]);
  });

  it("respects the dates, the limit and the key", async (t) => {
    const { report, service, clock } = await seeded(t);
    const day = (date: string, more: object = {}) => report({ startDate: date, endDate: date, ...more });
    assert.equal((await day("2026-03-01")).totals.totalTokens, 30);
    assert.equal((await day("2026-02-28")).totals.totalTokens, 0);
    assert.equal((await day("2026-02-28", { key: KEY })).sessions[0]?.usage, null);
    // Noon of the first of March is the second of March at UTC+14.
    const east = { mode: "specific", utcOffset: "UTC+14" };
    const { totals, aggregates } = await day("2026-03-02", east);
    assert.equal(totals.totalTokens, 30);
    assert.equal(aggregates.daily.map(({ date }) => date).join(), "2026-03-02");
    clock.advance(1);
    await service.ensure("agent:main:newer", { systemPromptReport: { source: "run" } });
    assert.equal((await report({ limit: 1 })).sessions.map(({ key }) => key).join(), "agent:main:newer");
    const [newer, older] = (await report({ includeContextWeight: true })).sessions;
    assert.deepEqual([newer?.contextWeight, older?.contextWeight], [{ source: "run" }, null]);
    assert.equal("contextWeight" in ((await report()).sessions[0] ?? {}), false);
  });

  it("counts only the sessions of an agent, also reset ones, those of no agent with the default one", async (t) => {
    const { report, service } = await seeded(t);
    await service.append("global", [answers(NOON, used(4, 2))]);
    await service.append("agent:eve:main", [answers(NOON, used(7, 4))]);
    await service.reset("agent:eve:main", "reset");
    await service.append("agent:eve:main", [answers(NOON, used(2, 1))]);
    const tokens = async (params: object) => (await report(params)).totals.totalTokens;
    assert.deepEqual([await tokens({ agentId: "Eve" }), await tokens({ agentId: "ev" })], [9, 0]);
    assert.deepEqual([await tokens({ agentId: "main" }), await tokens({ agentScope: "all" })], [39, 48]);
    await service.reset("global", "reset");
    assert.equal(await tokens({ agentId: "main" }), 39);
    await assert.rejects(report({ agentId: "eve", agentScope: "all" }), { code: "INVALID_REQUEST" });
  });

  it("has the days of a named time zone", async (t) => {
    const { report } = await seeded(t);
    const named = { mode: "specific", timeZone: "Pacific/Kiritimati", utcOffset: "UTC+1" }; // UTC+14
    const { aggregates } = await report({ startDate: "2026-03-02", endDate: "2026-03-02", ...named });
    assert.equal(aggregates.daily.map(({ date }) => date).join(), "2026-03-02");
    await assert.rejects(report({ ...named, timeZone: "Mars/Base" }), { code: "INVALID_REQUEST" });
  });

  it("returns no rows for an unknown key, and refuses a malformed one", async (t) => {
    const { report } = await seeded(t);
    assert.deepEqual((await report({ key: "none" })).sessions, []);
    await assert.rejects(report({ key: "agent:x" }), { code: "INVALID_REQUEST" });
  });

  it("skips unreadable messages", async (t) => {
    const { report, storage, service } = await seeded(t);
    const { sessionId } = (await service.get(KEY)) ?? assert.fail();
    const sql =
      "insert into transcript (session_id, seq, id, role, created_at, body) values (?, 99, 'x', 'assistant', 1, '{\"us')";
    await storage.transaction([{ sql, params: [sessionId] }]);
    assert.equal((await report()).totals.totalTokens, 35);
    await service.append(KEY, [answers(NOON, { input: "much" } as unknown as Usage)]);
    assert.equal((await report()).totals.totalTokens, 35);
  });
});

describe("sessions.usage.timeseries", () => {
  it("adds up, answer by answer", async (t) => {
    const { records, service } = await seeded(t);
    const { sessionId, points } = await usageTimeseries(records, { key: KEY });
    assert.equal(sessionId, (await service.get(KEY))?.sessionId);
    const keys = ["timestamp", "totalTokens", "cost", "cumulativeTokens", "cumulativeCost"] as const;
    const shown = points.map((point) => keys.map((key) => point[key]));
    assert.deepEqual(shown, [
      [NOON - DAY + 1000, 10, 0.5, 10, 0.5],
      [NOON - DAY + 4000, 20, 0.5, 30, 1],
      [NOON - 2000, 5, 0, 35, 1],
    ]);
  });

  it("has at most 200 points and loses nothing", async (t) => {
    const { records, service } = await start(t);
    const many = Array.from({ length: 501 }, (_, n) => answers(NOON + n, used(2, 1)));
    await service.append(KEY, many);
    const { points } = await usageTimeseries(records, { key: KEY });
    assert.equal(points.length, 200);
    assert.deepEqual([points.at(-1)?.cumulativeTokens, points.at(-1)?.cumulativeCost], [1002, 501]);
  });

  it("refuses a missing session", async (t) => {
    const { records } = await start(t);
    await assert.rejects(usageTimeseries(records, { key: "none" }), { code: "NOT_FOUND" });
  });
});

describe("sessions.usage.logs", () => {
  it("shows the newest messages with tokens and cost", async (t) => {
    const { records } = await seeded(t);
    const { logs } = await usageLogs(records, { key: KEY, limit: 5 });
    assert.deepEqual(logs, [
      { timestamp: NOON - DAY + 3000, role: "toolResult", content: "out" },
      { timestamp: NOON - DAY + 4000, role: "assistant", content: "hello", tokens: 20, cost: 0.5 },
      { timestamp: NOON - 5000, role: "user", content: "hi" },
      { timestamp: NOON - 2000, role: "assistant", content: "call read", tokens: 5 },
      { timestamp: NOON - 1000, role: "assistant", content: "hello" },
    ]);
  });

  it("cuts long texts, respects its limits, and returns none for a missing session", async (t) => {
    const { records, service } = await start(t);
    const long = { ...asks(NOON), content: [{ type: "text" as const, text: "x".repeat(2500) }] } as Message;
    await service.append(KEY, [...Array.from({ length: 1001 }, () => asks(NOON)), long]);
    const logs = async (params: object) => (await usageLogs(records, { key: KEY, ...params })).logs;
    assert.equal((await logs({})).length, 200);
    assert.equal((await logs({ limit: 5000 })).length, 1000);
    const [last] = await logs({ limit: 0.2 });
    assert.deepEqual([last?.content.length, last?.content.at(-1)], [2001, "…"]);
    assert.deepEqual(await logs({ key: "none" }), []);
  });
});
