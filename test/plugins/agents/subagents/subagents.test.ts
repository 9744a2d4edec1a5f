import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import { withDefaults } from "@svc/sdk";
import { type ModelRequest, textOf } from "@svc/sdk/models";
import { narrowed, subagentSettings } from "../../../../plugins/agents/subagents/settings.ts";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import {
  checkedStorage,
  type FixtureOptions,
  type Gateway,
  openFixture,
  outline,
  run,
  spoke,
  start,
  until,
} from "../fixture.ts";
import { type Answer, calls, hangsAfter, inTurn, MAIN, principal, request, says, watched } from "../script.ts";

const limited = { timeout: 120_000 };
const isChild = ({ sessionKey }: ModelRequest) => sessionKey?.includes(":subagent:") === true;

/** The parent spawns in its first answer; `child` is what sub-agents say. */
function family(child: Answer, spawn: object = { task: "count the files", label: "counting" }) {
  const parent = inTurn(says(calls("sessions_spawn", { ...spawn })), says("noted"));
  return watched((question, signal) => (isChild(question) ? child : parent)(question, signal));
}

async function begin(t: TestContext, options: FixtureOptions) {
  const fixture = await openFixture(t);
  const gateway = await fixture.start({ subagents: true, ...options });
  await run(gateway, "p1", { principal: { ...principal, scopes: ["operator.admin"] } });
  return { fixture, gateway };
}

const children = (gateway: Gateway) => gateway.runs.subagents.latest(MAIN, 10);
const toolAnswer = async (gateway: Gateway, key = MAIN) => {
  const items = await gateway.sessions.transcript(key, 50);
  return items.map(({ message }) => (message.role === "toolResult" ? textOf(message) : "")).find(Boolean) ?? "";
};
const announced = (gateway: Gateway) =>
  until(() => gateway.finished.some(({ runId }) => runId.startsWith("subagent-result-")));

describe("a sub-run", limited, () => {
  it("works in a session of its own and reports to its parent", async (t) => {
    const { answer, asked } = family(says("There are 12."));
    const { gateway } = await begin(t, { answer });
    await announced(gateway);
    const [child] = await children(gateway);
    assert.ok(child);
    assert.match(child.sessionKey, /^agent:main:subagent:[0-9a-f-]{36}$/);
    const entry = await gateway.sessions.get(child.sessionKey);
    assert.deepEqual([entry?.spawnedBy, entry?.["spawnDepth"], entry?.label], [MAIN, 1, "counting"]);
    assert.match(await toolAnswer(gateway), /"status":"accepted"/);
    const told = (await outline(gateway)).find((line) => line.includes("sub-agent reports")) ?? "";
    assert.match(told, /"counting" is done/);
    assert.match(told, /<result>\nThere are 12\.\n<\/result>/);
    assert.equal((await outline(gateway)).at(-1), "assistant: noted");
    assert.match(asked.find(isChild)?.system ?? "", /sub-agent/);
  });

  it("acts for its parent's caller and may at most read and write", async (t) => {
    const { answer } = family(says("fine"));
    const seen: string[] = [];
    const { gateway } = await begin(t, {
      answer,
      runBefore: ({ source, principal: asked, lane }) =>
        void seen.push(`${source} ${lane} ${asked.id} ${asked.scopes.join()}`),
    });
    await announced(gateway);
    assert.deepEqual(seen, [
      "test undefined token operator.admin",
      "subagent subagent token operator.read,operator.write",
      "subagent-result undefined token operator.admin",
    ]);
    assert.deepEqual(narrowed({ ...principal, scopes: ["operator.read"] }).scopes, ["operator.read"]);
    assert.deepEqual(narrowed({ ...principal, scopes: [] }).scopes, []);
  });

  const refusals: [string, FixtureOptions["config"], object, RegExp][] = [
    ["an agent that is not there", {}, { task: "x", agentId: "nobody" }, /no agent "nobody"; configured: main/],
    ["an agent without a letter", {}, { task: "x", agentId: "???" }, /no agent "\?\?\?"; configured: main/],
    [
      "an agent it may not start",
      { list: [{ id: "main" }, { id: "other" }] },
      { task: "x", agentId: "other" },
      /allowAgents/,
    ],
    ["a level that does not exist", {}, { task: "x", thinking: "loud" }, /no thinking level "loud"; levels: off/],
  ];
  for (const [what, config, spawn, why] of refusals) {
    it(`is not started for ${what}`, async (t) => {
      const { answer } = family(says("fine"), spawn);
      const { gateway } = await begin(t, { answer, config: config ?? {} });
      assert.match(await toolAnswer(gateway), why);
      assert.deepEqual(await children(gateway), []);
    });
  }

  it("may be one of another agent where the configuration says so", async (t) => {
    const { answer } = family(says("fine"), { task: "x", agentId: "Other" });
    const list = [{ id: "main", subagents: { allowAgents: ["*"] } }, { id: "other" }];
    const { gateway } = await begin(t, { answer, config: { list } });
    assert.match((await children(gateway))[0]?.sessionKey ?? "", /^agent:other:subagent:/);
    const config = withDefaults(AgentsConfig, { list });
    assert.deepEqual(
      [subagentSettings(config, "other").mayStart("main"), subagentSettings(config, "other").mayStart("other")],
      [false, true],
    );
  });

  it("starts none itself by default, and some where the depth allows it", async (t) => {
    const child = () => inTurn(says(calls("sessions_spawn", { task: "deeper" })), says("done"));
    const { gateway } = await begin(t, { answer: family(child()).answer });
    await announced(gateway);
    const [one] = await children(gateway);
    assert.match(await toolAnswer(gateway, one?.sessionKey), /may be nested 1 deep .*maxSpawnDepth/);

    const deep = await begin(t, {
      answer: family(child()).answer,
      config: { defaults: { subagents: { maxSpawnDepth: 2 } } },
    });
    await until(async () => {
      const [first] = await children(deep.gateway);
      return first !== undefined && (await deep.gateway.runs.subagents.latest(first.sessionKey, 5)).length === 1;
    });
    await announced(deep.gateway);
  });

  it("is refused past the most a session may have, which its answer says", async (t) => {
    const fixture = await openFixture(t);
    const gateway = await fixture.start({
      config: { defaults: { subagents: { maxChildrenPerAgent: 1 } } },
      answer: hangsAfter("Half"),
    });
    const parent = { runId: "p1", sessionKey: MAIN, agentId: "main", principal };
    await gateway.runs.subagents.spawn({ task: "one" }, parent);
    await assert.rejects(gateway.runs.subagents.spawn({ task: "two" }, parent), {
      code: "UNAVAILABLE",
      message: /maxChildrenPerAgent/,
    });
  });

  it("uses its model, its thinking and its time, as asked or as configured", async (t) => {
    const defaults = {
      subagents: { model: "p/small", thinking: "low", runTimeoutSeconds: 9 },
      thinkingDefault: "high",
    };
    const models = { resolve: (ref?: string) => ({ provider: "p", id: ref ?? "default", name: "", api: "scripted" }) };
    for (const [spawn, expected] of [
      [{ task: "x" }, ["p/small", "low"]],
      [{ task: "x", model: "p/big", thinking: "medium" }, ["p/big", "medium"]],
    ] as const) {
      const { answer, asked } = family(says("fine"), spawn);
      const { gateway } = await begin(t, { answer, config: { defaults }, models });
      await announced(gateway);
      const question = asked.find(isChild);
      assert.deepEqual([question?.model.id, question?.thinking], expected);
      assert.equal(asked[0]?.thinking, "high");
    }
  });

  it("tells when it ran out of time", async (t) => {
    const { answer } = family(hangsAfter("Half"), { task: "x", runTimeoutSeconds: 5 });
    const { gateway } = await begin(t, { answer });
    await spoke(gateway, "subagent");
    gateway.clock.advance(5_000);
    await announced(gateway);
    const told = (await outline(gateway)).find((line) => line.includes("sub-agent reports")) ?? "";
    assert.match(told, /"task" ran out of time/);
    assert.match(told, /<result>\nHalf\n<\/result>/);
  });
});

describe("sub-runs and their parent", limited, () => {
  it("are stopped when their parent's session is reset, and nobody is told", async (t) => {
    const { gateway } = await begin(t, { answer: family(hangsAfter("Half")).answer });
    await spoke(gateway, "subagent");
    await gateway.sessions.reset(MAIN, "new");
    await until(async () => (await children(gateway))[0]?.status === "aborted");
    const [child] = await children(gateway);
    assert.equal(child?.outcome?.abortReason, "parent");
    await until(async () => (await gateway.runs.subagents.latest(MAIN, 1)).length === 1);
    await gateway.runs.sweep();
    assert.deepEqual(await outline(gateway), []);
  });

  it("are stopped when the run that started them is stopped", async (t) => {
    const parent = inTurn(says(calls("sessions_spawn", { task: "count" })), hangsAfter("Thinking"));
    const gateway = await start(t, {
      subagents: true,
      answer: (question, signal) => (isChild(question) ? hangsAfter("Half") : parent)(question, signal),
    });
    await gateway.runs.start(request("p1"));
    await spoke(gateway, "subagent");
    gateway.runs.abort("p1", "rpc");
    await until(() => gateway.finished.length === 2);
    assert.deepEqual(gateway.finished.map(({ abortReason }) => String(abortReason)).toSorted(), ["parent", "rpc"]);
  });

  it("can be listed and stopped by the tool", async (t) => {
    const parent = inTurn(
      says(calls("sessions_spawn", { task: "x", label: "counting" })),
      says(calls("subagents", { action: "list" }, "list")),
      says(calls("subagents", { action: "stop", target: "counting" }, "stop")),
      says("done"),
    );
    const gateway = await start(t, {
      subagents: true,
      answer: (question, signal) => (isChild(question) ? hangsAfter("Half") : parent)(question, signal),
    });
    await run(gateway, "p1");
    const results = (await gateway.sessions.transcript(MAIN, 20)).flatMap(({ message }) =>
      message.role === "toolResult" ? [textOf(message)] : [],
    );
    assert.match(results[1] ?? "", /"label":"counting"/);
    const [child] = await children(gateway);
    assert.equal(results[2], JSON.stringify({ stopped: [child?.runId] }));
    await gateway.runs.sweep();
    assert.equal(
      (await outline(gateway)).some((line) => line.includes("reports")),
      false,
    );
  });

  it("that were interrupted by a crash after a tool are reported at the next start, once", async (t) => {
    const child = inTurn(says(calls("look")), hangsAfter("Half"));
    const { fixture, gateway: crashed } = await begin(t, { answer: family(child).answer });
    await spoke(crashed, "subagent");
    const gateway = await fixture.start({ answer: says("noted") });
    await announced(gateway);
    const told = (await outline(gateway)).filter((line) => line.includes("sub-agent reports"));
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /failed: interrupted by a gateway restart/);
    const again = await fixture.start();
    assert.deepEqual(again.runs.active(MAIN), []);
    assert.equal((await outline(again)).filter((line) => line.includes("reports")).length, 1);
  });

  it("are reported after a crash between their end and the report", async (t) => {
    const { answer } = family(says("There are 12."));
    let isCut = false;
    const { fixture } = await begin(t, {
      answer,
      storage: checkedStorage((statements) => {
        if (!statements.some(({ sql }) => checkedSql(sql, "sqlite").includes("announced_at = ?"))) return undefined;
        isCut = true;
        return new Promise(() => undefined);
      }),
    });
    await until(() => isCut);
    const gateway = await fixture.start({ answer: says("noted") });
    await announced(gateway);
    assert.equal((await outline(gateway)).filter((line) => line.includes("There are 12.")).length, 1);
  });

  it("that waited are run after a crash and report", async (t) => {
    const fixture = await openFixture(t);
    const crashed = await fixture.start({
      config: { defaults: { subagents: { maxConcurrent: 1 } } },
      answer: hangsAfter("Half"),
    });
    await crashed.sessions.ensure(MAIN);
    const parent = { runId: "p1", sessionKey: MAIN, agentId: "main", principal };
    for (const task of ["one", "two"]) await crashed.runs.subagents.spawn({ task, label: task }, parent);
    await spoke(crashed, "subagent");
    const gateway = await fixture.start({ answer: says("fine") });
    await until(async () => (await outline(gateway)).filter((line) => line.includes("reports")).length === 2);
    const told = (await outline(gateway)).join("\n");
    for (const label of ["one", "two"]) assert.ok(told.includes(`"${label}" is done`), label);
  });
});

describe("what is kept of runs", limited, () => {
  it("archives sessions of sub-runs a while after their end", async (t) => {
    const { gateway } = await begin(t, { answer: family(says("fine")).answer });
    await announced(gateway);
    const [child] = await children(gateway);
    gateway.clock.advance(60 * 60_000);
    await gateway.runs.sweep();
    assert.deepEqual(gateway.archived, []);
    gateway.clock.advance(1);
    await gateway.runs.sweep();
    await gateway.runs.sweep();
    assert.deepEqual(gateway.archived, [child?.sessionKey]);
  });
});
