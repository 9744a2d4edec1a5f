import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, GatewayError, type Plugin, unavailable } from "@svc/sdk";
import { type AssistantMessage, ModelProvider } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { type QuotaSource, usage, type UsageSum } from "@svc/sdk/usage";
import { costRange } from "../../../plugins/usage/cost-range.ts";
import { Costs } from "../../../plugins/usage/cost.ts";
import { quotaStatus } from "../../../plugins/usage/status.ts";
import { totalsOf } from "../../../plugins/usage/summary.ts";

const NOON = Date.UTC(2026, 2, 2, 12);
const log = { debug() {}, info() {}, warn() {}, error() {} };

const sum = (day: string, more: Partial<UsageSum>): UsageSum => ({
  ...totalsOf([]),
  sessionId: "s",
  day,
  role: "assistant",
  provider: "p",
  model: "m",
  messages: 1,
  answers: 0,
  unpriced: 0,
  uncounted: 0,
  toolCalls: 0,
  errors: 0,
  firstAt: 0,
  lastAt: 0,
  latencies: "[]",
  ...more,
});

describe("costs", () => {
  it("are summed, cached for 30 seconds, and read again after a failure", async () => {
    const clock = createFakeClock();
    const costs = new Costs(clock);
    let reads = 0;
    let fails = false;
    const records = {
      ofAgent() {
        reads++;
        if (fails) unavailable("the database is away");
        return Promise.resolve([
          sum("2026-03-01", { uncounted: 2 }),
          sum("2026-03-02", { answers: 1, input: 3, totalTokens: 3, totalCost: 0.5, unpriced: 1 }),
        ]);
      },
    };
    const range = costRange({}, NOON, "UTC");
    const [cost] = await Promise.all([costs.of(records, "main", range), costs.of(records, "main", range)]);
    const { totalTokens, missingCostEntries, missingUsageEntries } = cost.totals;
    assert.equal(cost.daily.map(({ date }) => date).join(), "2026-03-02");
    assert.deepEqual([totalTokens, missingCostEntries, missingUsageEntries, reads], [3, 1, 2, 1]);
    await costs.of(records, "other", range);
    assert.equal(reads, 2);
    fails = true;
    await clock.advance(30_001);
    await assert.rejects(costs.of(records, "main", range), { code: "UNAVAILABLE" });
    fails = false;
    assert.equal((await costs.of(records, "main", range)).totals.totalTokens, 3);
    assert.equal(reads, 4);
  });
});

describe("the status of quotas", () => {
  const source = (provider: string, ask: QuotaSource["ask"]): QuotaSource => ({
    provider,
    displayName: provider.toUpperCase(),
    ask,
  });
  const status = (sources: readonly QuotaSource[], clock = createFakeClock()) =>
    quotaStatus({ sources: () => Promise.resolve(sources) }, { clock, log }, new AbortController().signal);

  it("is empty without a provider that has quotas", async () => {
    assert.deepEqual((await status([])).providers, []);
    const none = await quotaStatus(undefined, { clock: createFakeClock(), log }, new AbortController().signal);
    assert.deepEqual(none.providers, []);
  });

  it("has the windows of each provider, or its error", async () => {
    const { providers } = await status([
      source("one", () => Promise.resolve({ plan: "Pro", windows: [{ label: "5h", usedPercent: 120, resetAt: 5.4 }] })),
      source("two", () => Promise.reject(new GatewayError("UNAVAILABLE", "the key is refused"))),
      source("three", () => Promise.reject(new Error("secret insides"))),
    ]);
    assert.deepEqual(providers, [
      { provider: "one", displayName: "ONE", plan: "Pro", windows: [{ label: "5h", usedPercent: 100, resetAt: 5 }] },
      { provider: "two", displayName: "TWO", windows: [], error: "the key is refused" },
      { provider: "three", displayName: "THREE", windows: [], error: "the quota could not be read; see the log" },
    ]);
  });

  it("does not wait for a provider that hangs or ignores the abort", async () => {
    const clock = createFakeClock();
    const asked = status([source("slow", () => new Promise(() => undefined))], clock);
    await clock.advance(5_000);
    assert.equal((await asked).providers[0]?.error, "no response within 5 s");
  });
});

/** A kind of model server whose accounts have a quota, and the usage of two answers of the default agent. */
function stage(): Plugin {
  const answer = (totalTokens: number, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
    role: "assistant",
    content: [{ type: "text", text: "hi" }],
    api: "x",
    provider: "p",
    model: "m",
    stopReason: "stop",
    timestamp: Date.now(),
    usage: { input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens },
    ...more,
  });
  return definePlugin({
    id: "stage",
    api: "^1.0.0",
    requires: { sessions: Sessions },
    setup(gateway) {
      const { services } = gateway;
      gateway.extend(ModelProvider, "quota-api", {
        stream() {
          throw new Error("nobody asks here");
        },
        quota({ apiKey, name }) {
          if (apiKey !== "good-key") return undefined;
          const ask = () => Promise.resolve({ windows: [{ label: "week", usedPercent: 40 }] });
          return { provider: "zai", displayName: name, ask };
        },
      });
      gateway.start(async () => {
        await services.sessions.append("agent:main:main", [answer(5), answer(6), answer(0, { model: "free" })]);
        await services.sessions.append("agent:other:main", [answer(100)]);
      });
    },
  });
}

describe("usage of a gateway", () => {
  it("has the usage of the default agent, and the quotas of accounts that have some", async (t) => {
    const none = { api: "quota-api", models: [{ id: "m" }] };
    const good = { ...none, apiKey: "good-key" };
    const providers = { none, bad: { ...none, apiKey: "bad-key" }, good, twice: good };
    const { client } = await testGateway(t, {
      plugins: ["usage", "sessions", "storage-sqlite", "models", stage()],
      config: { models: { providers } },
    });
    const windows = [{ label: "week", usedPercent: 40 }];
    const status = await client.call(usage.status, {});
    assert.deepEqual(status.providers, [{ provider: "zai", displayName: "good", windows }]);
    const cost = await client.call(usage.cost, { days: 1, mode: "gateway" });
    assert.deepEqual([cost.days, cost.daily.length, cost.totals.totalTokens], [2, 1, 11]);
    assert.deepEqual([cost.totals.missingCostEntries, cost.totals.missingUsageEntries], [2, 1]);
    await client.request("usage.cost", { days: {}, mode: 5, anything: true });
    await client.request("usage.status", { anything: true });
  });

  it("names the missing plugin without records", async (t) => {
    const { client } = await testGateway(t, { plugins: ["usage"] });
    assert.deepEqual((await client.call(usage.status, {})).providers, []);
    await assert.rejects(client.call(usage.cost, {}), { code: "UNAVAILABLE", message: /enable the plugin sessions/ });
  });
});
