import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults } from "@svc/sdk";
import type { ResolvedModel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import { modelRefs, thinkingOf } from "../../../../plugins/agents/runs/options.ts";
import { type Gateway, model, run, start, until } from "../fixture.ts";
import { type Answer, failsWith, MAIN, request, says, watched } from "../script.ts";

const entry = (fields: object): SessionEntry => ({ sessionId: "s", updatedAt: 1, ...fields });
const config = (defaults: object = {}, list?: object[]) =>
  withDefaults(AgentsConfig, { defaults, ...(list ? { list } : {}) });

describe("the thinking of a run", () => {
  const all = config({ thinkingDefault: "low", subagents: { thinking: "medium" } });
  for (const [what, request, session, expected] of [
    ["is what was asked for", { source: "chat", thinking: "off" }, { thinkingLevel: "high" }, "off"],
    ["else the session's, by any of its names", { source: "chat" }, { thinkingLevel: "MAX" }, "high"],
    ["else the default", { source: "chat" }, { thinkingLevel: "loud" }, "low"],
    ["of a sub-run is that of sub-runs", { source: "subagent" }, {}, "medium"],
  ] as const) {
    it(what, () => assert.equal(thinkingOf(request, entry(session), all, "main"), expected));
  }

  it("is the model's own without any setting", () => {
    assert.equal(thinkingOf({ source: "chat" }, undefined, config(), "main"), undefined);
  });
});

describe("the models of a run", () => {
  const configured = ["p/one", "p/two"];
  it("are the agent's, with the first replaced by the session's or the request's", () => {
    const own = entry({ modelOverride: "own", providerOverride: "q" });
    assert.deepEqual(modelRefs({ source: "chat" }, undefined, configured, config(), "main"), configured);
    assert.deepEqual(modelRefs({ source: "chat" }, own, configured, config(), "main"), ["q/own", "p/two"]);
    assert.deepEqual(modelRefs({ source: "chat", model: "x" }, own, configured, config(), "main"), ["x", "p/two"]);
    assert.deepEqual(modelRefs({ source: "chat" }, undefined, [], config(), "main"), [undefined]);
  });

  it("of a sub-run are its own, the agent's before those of all", () => {
    const models = { primary: "p/small", fallbacks: ["p/tiny"] };
    const all = config({ subagents: { model: models } }, [
      { id: "main" },
      { id: "other", subagents: { model: "p/other" } },
    ]);
    assert.deepEqual(modelRefs({ source: "subagent" }, undefined, configured, all, "main"), ["p/small", "p/tiny"]);
    assert.deepEqual(modelRefs({ source: "subagent" }, undefined, configured, all, "other"), ["p/other"]);
  });
});

describe("a model that stands in for another", { timeout: 120_000 }, () => {
  const defaults = { model: { primary: "one", fallbacks: ["two"] } };
  const named = (ref?: string): ResolvedModel => ({ ...model, id: ref ?? "default" });
  const notices = async ({ sessions }: Gateway) => {
    const kept = await sessions.get(MAIN);
    return [kept?.["fallbackNoticeSelectedModel"], kept?.["fallbackNoticeActiveModel"], kept?.["fallbackNoticeReason"]];
  };
  const phases = ({ events }: Gateway) =>
    events
      .filter(({ data }) => String(data["phase"]).startsWith("fallback"))
      .map(({ data }) => [data["phase"], data["activeModel"], data["previousActiveModel"]]);

  it("is noted on the session until the selected one answers again, which is told once", async (t) => {
    let isDown = true;
    const answer: Answer = (question, signal) =>
      (isDown && question.model.id === "one" ? failsWith(new Error("no")) : says("fine"))(question, signal);
    const gateway = await start(t, { config: { defaults }, answer, models: { resolve: named } });
    await run(gateway, "r1");
    assert.deepEqual(await notices(gateway), ["fake/one", "fake/two", "the model request failed"]);
    isDown = false;
    for (const runId of ["r2", "r3"]) {
      await run(gateway, runId);
    }
    assert.deepEqual(await notices(gateway), [undefined, undefined, undefined]);
    assert.deepEqual(phases(gateway), [
      ["fallback", "two", undefined],
      ["fallback_cleared", "one", "fake/two"],
    ]);
  });

  it("is asked at once while the selected one cools down", async (t) => {
    const { answer, asked } = watched(says("fine"));
    const coolingUntil = ({ id }: ResolvedModel) => (id === "one" ? 9e12 : undefined);
    const gateway = await start(t, { config: { defaults }, answer, models: { resolve: named, coolingUntil } });
    const outcome = await run(gateway, "r1");
    assert.deepEqual([asked.map((question) => question.model.id), outcome.model], [["two"], "two"]);
    assert.deepEqual(phases(gateway), [["fallback", "two", undefined]]);
  });

  it("is not taken when all cool down", async (t) => {
    const gateway = await start(t, { config: { defaults }, models: { resolve: named, coolingUntil: () => 9e12 } });
    assert.equal((await run(gateway, "r1")).model, "one");
  });
});

describe("what a run leaves on its session", { timeout: 120_000 }, () => {
  it("is its tokens with those of caches, and its cost in the transcript", async (t) => {
    const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 };
    const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 7, totalTokens: 122, cost };
    const gateway = await start(t, {
      answer: async function* () {
        yield { type: "text", delta: "fine" };
        yield { type: "finish", reason: "stop", usage };
      },
    });
    assert.deepEqual((await run(gateway, "r1")).usage, usage);
    const { inputTokens, outputTokens, cacheRead, cacheWrite, totalTokens, totalTokensFresh } =
      ((await gateway.sessions.get(MAIN)) ?? {}) as Partial<SessionEntry>;
    assert.deepEqual(
      [inputTokens, outputTokens, cacheRead, cacheWrite, totalTokens, totalTokensFresh],
      [10, 5, 100, 7, 122, true],
    );
    const answer = (await gateway.sessions.transcript(MAIN, 1))[0]?.message;
    assert.deepEqual(answer?.role === "assistant" && answer.usage?.cost, cost);
  });

  it("has the workspace's prompt between the agent's and the request's, and none of it in a light context", async (t) => {
    const { answer, asked } = watched(says("fine"));
    const gateway = await start(t, {
      config: { defaults: { systemPrompt: "Be brief." } },
      workspacePrompt: async (agentId) => `Files of ${agentId}.`,
      answer,
    });
    await run(gateway, "r1", { extraSystemPrompt: "In French." });
    await run(gateway, "r2", { lightContext: true });
    assert.deepEqual(
      asked.map(({ system }) => system),
      ["Be brief.\n\nFiles of main.\n\nIn French.", "Be brief."],
    );
  });

  it("is nothing of a workspace that cannot be read", async (t) => {
    const gateway = await start(t, { workspacePrompt: () => Promise.reject(new Error("no")) });
    assert.equal((await run(gateway, "r1")).status, "ok");
    assert.ok(gateway.logged.some((line) => line.includes("workspace could not be read")));
  });

  it("is nothing once another gateway has closed it", async (t) => {
    const gateway = await start(t, {
      answer: async function* () {
        await gateway.storage.transaction([
          { sql: "UPDATE agent_runs SET status = 'interrupted' WHERE run_id = 'r1'", params: [] },
        ]);
        yield { type: "toolCall", id: "1", name: "nothing", arguments: {} };
        yield { type: "finish", reason: "toolUse" };
      },
    });
    await gateway.runs.start(request("r1"));
    await until(() => gateway.runs.active(MAIN).length === 0);
    assert.equal((await gateway.sessions.transcript(MAIN, 9)).length, 1);
    assert.deepEqual(gateway.finished, []);
  });
});
