/** `sessions_send` and `agents_list`, by agents that run. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { textOf } from "@svc/sdk/models";
import { MAX_RELAYED } from "../../../../plugins/agents/subagents/sending.ts";
import { createSessionTools } from "../../../../plugins/agents/subagents/session-tools.ts";
import { ended, type FixtureOptions, type Gateway, outline, run, spoke, start, until } from "../fixture.ts";
import {
  type Answer,
  calls,
  failsWith,
  hangsAfter,
  inTurn,
  MAIN,
  principal,
  request,
  says,
  watched,
} from "../script.ts";

const limited = { timeout: 120_000 };
const NOTES = "agent:main:notes";

/** What each session says, answer after answer; the last one stays. */
function script(answers: Readonly<Record<string, readonly Answer[]>>) {
  const bySession = new Map(Object.entries(answers).map(([key, list]) => [key, inTurn(...list)]));
  return watched((question, signal) => (bySession.get(question.sessionKey ?? "") ?? says("fine"))(question, signal));
}

const sends = (args: Record<string, unknown>) => says(calls("sessions_send", { message: "hello", ...args }));

async function begin(t: TestContext, options: FixtureOptions, keys: readonly string[] = [NOTES]) {
  const gateway = await start(t, { labels: {}, ...options });
  for (const key of [MAIN, ...keys]) await gateway.sessions.ensure(key);
  return gateway;
}

async function results(gateway: Gateway, key = MAIN): Promise<string[]> {
  const items = await gateway.sessions.transcript(key, 50);
  return items.flatMap(({ message }) => (message.role === "toolResult" ? [textOf(message)] : []));
}

/** Runs in the main session until its end. @returns what the tools said */
async function talk(gateway: Gateway): Promise<string[]> {
  await run(gateway, "r1");
  return results(gateway);
}

describe("sessions_send", limited, () => {
  it("runs the other session, and brings its reply", async (t) => {
    const { answer, asked } = script({ [MAIN]: [sends({ sessionKey: "notes" }), says("done")], [NOTES]: [says("12")] });
    const seen: object[] = [];
    const gateway = await begin(t, {
      answer,
      runBefore: ({ source, lane, relayed, parentRunId, principal: { scopes } }) =>
        void seen.push({ source, lane, relayed, parentRunId, scopes: scopes.join() }),
    });
    await run(gateway, "r1", { principal: { ...principal, scopes: ["operator.admin"] } });
    const { runId, ...rest } = JSON.parse((await results(gateway))[0] ?? "") as Record<string, unknown>;
    assert.match(String(runId), /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, { sessionKey: NOTES, status: "ok", reply: "12" });
    assert.deepEqual(await outline(gateway, NOTES), [`user: [Message from session ${MAIN}]\nhello`, "assistant: 12"]);
    const sent = {
      source: "session",
      lane: "nested",
      relayed: 1,
      parentRunId: "r1",
      scopes: "operator.read,operator.write",
    };
    assert.deepEqual(seen[1], sent);
    assert.match(asked.find(({ sessionKey }) => sessionKey === NOTES)?.system ?? "", /an agent in another session/);
    assert.deepEqual(gateway.sessions.freshened, [NOTES]);
  });

  const refusals: [what: string, args: Record<string, unknown>, why: RegExp][] = [
    ["itself", { sessionKey: MAIN }, /^this is your own session/],
    ["one that is not there", { sessionKey: "agent:main:none" }, /^no session "agent:main:none" within reach/],
    ["one out of reach", { sessionKey: "agent:bob:secret" }, /^no session "agent:bob:secret" within reach/],
    ["a malformed one", { sessionKey: "agent:" }, /^no session "agent:" within reach/],
    ["none", {}, /^sessionKey or label required/],
    ["one that is named twice", { sessionKey: NOTES, label: "one" }, /not both$/],
    ["a label nobody has", { label: "none" }, /^no session with the label "none" within reach/],
    ["a label out of reach", { label: "bobs" }, /^no session with the label "bobs" within reach/],
    ["a label of several", { label: "two" }, /^several sessions have the label "two": agent:main:a, agent:main:b; use/],
    ["one that takes no messages", { sessionKey: "agent:main:mute" }, /its send policy is "deny"$/],
    ["nobody, without words", { sessionKey: NOTES, message: " " }, /^message required$/],
  ];
  for (const [what, args, why] of refusals) {
    it(`refuses to send to ${what}`, async (t) => {
      const { answer } = script({ [MAIN]: [sends(args), says("done")] });
      const labels = { bobs: ["agent:bob:secret"], two: ["agent:main:a", "agent:bob:secret", "agent:main:b"] };
      const gateway = await begin(t, { answer, labels }, [NOTES, "agent:bob:secret"]);
      await gateway.sessions.ensure("agent:main:mute", { sendPolicy: "deny" });
      const [result = ""] = await talk(gateway);
      assert.match(result, why);
      assert.equal(gateway.finished.length, 1);
    });
  }

  it("finds a session by its label where only one is within reach", async (t) => {
    const { answer } = script({ [MAIN]: [sends({ label: "mine" }), says("done")], [NOTES]: [says("NO_REPLY")] });
    const gateway = await begin(t, { answer, labels: { mine: ["agent:bob:secret", NOTES] } });
    const [result = ""] = await talk(gateway);
    assert.match(result, /"status":"ok","reply":""/);
  });

  it("reaches the main session of a configured agent before anybody else did", async (t) => {
    const { answer } = script({ [NOTES]: [sends({ sessionKey: "main" }), says("done")] });
    const gateway = await start(t, { labels: {}, answer });
    await run(gateway, "r1", { sessionKey: NOTES });
    assert.match((await results(gateway, NOTES))[0] ?? "", /"status":"ok","reply":"fine"/);
  });

  it("says that the other one failed", async (t) => {
    const { answer } = script({
      [MAIN]: [sends({ sessionKey: NOTES }), says("done")],
      [NOTES]: [failsWith(new Error("no"))],
    });
    const [result = ""] = await talk(await begin(t, { answer }));
    assert.equal((JSON.parse(result) as { status: string }).status, "error");
  });

  it("does not wait longer than it was told to, and the work goes on", async (t) => {
    const script1 = script({
      [MAIN]: [sends({ sessionKey: NOTES, timeoutSeconds: 7 }), says("done")],
      [NOTES]: [hangsAfter("Half")],
    });
    const gateway = await begin(t, { answer: script1.answer });
    await gateway.runs.start(request("r1"));
    await spoke(gateway, NOTES);
    gateway.clock.advance(7_000);
    await ended(gateway, "r1");
    assert.match((await results(gateway))[0] ?? "", /"status":"timeout"/);
    assert.equal(gateway.runs.active(NOTES).length, 1);
  });

  it("stops the other run with its own", async (t) => {
    const { answer } = script({ [MAIN]: [sends({ sessionKey: NOTES })], [NOTES]: [hangsAfter("Half")] });
    const gateway = await begin(t, { answer });
    await gateway.runs.start(request("r1"));
    await spoke(gateway, NOTES);
    gateway.runs.abort("r1", "rpc");
    await until(() => gateway.finished.length === 2);
    assert.deepEqual(gateway.finished.map(({ abortReason }) => String(abortReason)).toSorted(), ["parent", "rpc"]);
  });

  it("is answered although an older run of the other session waits for the same lane", async (t) => {
    const gate: { open?: () => void } = {};
    const opened = new Promise<void>((resolve) => (gate.open = resolve));
    const slow: Answer = async function* (question, signal) {
      await opened;
      yield* sends({ sessionKey: "notes" })(question, signal);
    };
    const { answer } = script({ [MAIN]: [slow, says("done")], [NOTES]: [says("older"), says("12")] });
    const gateway = await begin(t, { answer });
    await gateway.runs.start(request("r1", { lane: "nested" }));
    await until(() => gateway.events.some(({ runId }) => runId === "r1"));
    await gateway.runs.start(request("r0", { sessionKey: NOTES, lane: "nested" }));
    gate.open?.();
    assert.equal((await ended(gateway, "r1")).status, "ok");
    assert.equal((JSON.parse((await results(gateway))[0] ?? "") as { reply?: string }).reply, "12");
  });

  it("goes through several sessions, and never back to one that waits", async (t) => {
    const third = "agent:main:third";
    const { answer } = script({
      [MAIN]: [sends({ sessionKey: NOTES }), says("done")],
      [NOTES]: [sends({ sessionKey: third }), says("second")],
      [third]: [sends({ sessionKey: MAIN }), says("third")],
    });
    const gateway = await begin(t, { answer }, [NOTES, third]);
    const [result = ""] = await talk(gateway);
    assert.match(result, /"reply":"second"/);
    assert.match((await results(gateway, NOTES))[0] ?? "", /"reply":"third"/);
    assert.match((await results(gateway, third))[0] ?? "", /^session agent:main:main is waiting for this one/);
  });

  it("ends a game of ping-pong of which nobody waits", async (t) => {
    const ping = (sessionKey: string) => sends({ sessionKey, timeoutSeconds: 0 });
    const answers = (to: string) => Array.from({ length: 9 }, () => [ping(to), says("sent")]).flat();
    const { answer } = script({ [MAIN]: answers(NOTES), [NOTES]: answers(MAIN) });
    const gateway = await begin(t, { answer });
    await gateway.runs.start(request("r1"));
    await until(() => gateway.finished.length === MAX_RELAYED + 1, "the last run");
    assert.deepEqual([gateway.runs.active(MAIN), gateway.runs.active(NOTES)], [[], []]);
    const all = [...(await results(gateway)), ...(await results(gateway, NOTES))];
    assert.equal(all.filter((text) => text.includes('"status":"accepted"')).length, MAX_RELAYED);
    assert.equal(
      all.filter((text) => text.includes("the limit of 5 messages from session to session is reached")).length,
      1,
    );
  });
});

describe("agents_list", limited, () => {
  const list = [{ id: "main", name: "Front Desk" }, { id: "ada", identity: { name: "Ada" } }, { id: "bob" }];
  const row = (id: string, name?: string) => ({
    id,
    ...(name === undefined ? {} : { name }),
    isDefault: id === "main",
  });
  const table: [what: string, allowAgents: readonly string[] | undefined, agents: object[]][] = [
    ["only itself, unless told otherwise", undefined, [row("main", "Front Desk")]],
    ["those it is allowed", ["Ada", "gone"], [row("ada", "Ada")]],
    ["all of them", ["*"], [row("main", "Front Desk"), row("ada", "Ada"), row("bob")]],
    ["none", [], []],
  ];
  for (const [what, allowAgents, expected] of table) {
    it(`names ${what}`, async (t) => {
      const [main, ...others] = list;
      const entries = [{ ...main, ...(allowAgents && { subagents: { allowAgents } }) }, ...others];
      const { runs, sessions, directory: agents } = await begin(t, { config: { list: entries } });
      const tool = createSessionTools({ runs, sessions, agents, labelled: async () => [] })["agents_list"];
      const call = {
        name: "agents_list",
        toolCallId: "1",
        arguments: {},
        runId: "r",
        sessionKey: MAIN,
        agentId: "main",
      };
      const result = await tool?.run({}, { call, principal, signal: new AbortController().signal });
      if (typeof result !== "object") assert.fail("it has values");
      assert.deepEqual(result.details, { requester: "main", count: expected.length, agents: expected });
      assert.equal(textOf(result).split("\n").length, Math.max(1, expected.length));
    });
  }
});
