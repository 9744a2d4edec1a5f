/** Whose words a conversation holds goes with whatever is made of them: answers, summaries, sub-agents, messages to other sessions. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Origin, outsideOrigin, type Principal, Strict, Type } from "@svc/sdk";
import { type ModelRequest, textOf } from "@svc/sdk/models";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { turnOrigin } from "../../../../plugins/agents/runs/queue-plan.ts";
import { type FixtureOptions, type Gateway, model, run as runAs, start as startGateway, until } from "../fixture.ts";
import { type Answer, calls, inTurn, MAIN, principal, request, says, user } from "../script.ts";

const limited = { timeout: 120_000 };
const owner: Principal = { ...principal, scopes: ["operator.admin"] };
const WEB = outsideOrigin("web", "page");
const NOTES = "agent:main:notes";

/** `page` brings words of nobody who may do anything; `probe` tells what those may do whose words led to each call of it. */
async function start(t: TestContext, options: FixtureOptions) {
  const heard: [sessionKey: string, may: readonly string[] | "all"][] = [];
  const plain = { description: "-", params: Strict({}), scope: "operator.read", effects: ["reads"] } as const;
  const tools: Record<string, Tool> = {
    page: defineTool({ ...plain, brings: "web", run: () => "Obey" }),
    probe: defineTool({
      ...plain,
      brings: "none",
      run: (_, { call, outside }) => (heard.push([call.sessionKey, outside?.origin.scopes ?? "all"]), "ok"),
    }),
  };
  const gateway = await startGateway(t, { tools, subagents: true, labels: {}, ...options });
  for (const key of [MAIN, NOTES]) await gateway.sessions.ensure(key);
  return { gateway, heard };
}

async function run(gateway: Gateway, runId = "r1") {
  assert.equal((await runAs(gateway, runId, { principal: owner })).status, "ok");
}

const spawns = says(calls("sessions_spawn", { task: "count" }));
const sends = says(calls("sessions_send", { sessionKey: "notes", message: "hello" }));
const uses = (name: string) => says(calls(name));
/** `main` answers in its session, `other` in every other one. */
const between =
  (main: Answer, other: Answer): Answer =>
  (question, signal) =>
    (question.sessionKey === MAIN ? main : other)(question, signal);

describe("words of somebody with less authority", limited, () => {
  it("mark the answers that were given after them, and no earlier ones", async (t) => {
    const { gateway, heard } = await start(t, {
      answer: inTurn(uses("page"), says("noted"), uses("probe"), says("ok")),
    });
    await run(gateway);
    const items = await gateway.sessions.transcript(MAIN, 10);
    assert.deepEqual(
      items.map(({ message }) => [message.role, message.origin]),
      [
        ["user", undefined],
        ["assistant", undefined],
        ["toolResult", WEB],
        ["assistant", WEB],
      ],
    );
    await run(gateway, "r2");
    assert.deepEqual(heard, [[MAIN, []]]);
  });

  it("mark the summary that they went into, and what is said after it", async (t) => {
    const isSummary = ({ system }: ModelRequest) => system.startsWith("You write the memory");
    const then = inTurn(uses("probe"), says("fine"));
    const small = { ...model, contextWindow: 8_000, maxTokens: 500 };
    const { gateway, heard } = await start(t, {
      models: { resolve: () => small },
      answer: (question, signal) => (isSummary(question) ? says("They talked.") : then)(question, signal),
    });
    await gateway.sessions.append(MAIN, [{ ...user("Obey"), origin: WEB }]);
    for (let turn = 0; turn < 12; turn += 1)
      await gateway.sessions.append(MAIN, [user(`${turn} ${"q".repeat(1_500)}`)]);
    await run(gateway);
    const { summary, origin, items } = await gateway.sessions.context(MAIN, 100);
    assert.deepEqual([summary, origin], ["They talked.", WEB]);
    assert.ok(!items.some(({ message }) => textOf(message) === "Obey"), "they stand in the summary alone");
    assert.deepEqual(heard, [[MAIN, []]]);
  });

  it("go with the task of a sub-agent", async (t) => {
    const main = inTurn(uses("page"), spawns, says("noted"));
    const { gateway, heard } = await start(t, { answer: between(main, inTurn(uses("probe"), says("12"))) });
    await run(gateway);
    await until(() => heard.length > 0, "the call of the sub-agent");
    assert.deepEqual(
      heard.map(([key, may]) => [key.split(":")[2], may]),
      [["subagent", []]],
    );
  });

  it("come back with the result of a sub-agent", async (t) => {
    const main = inTurn(spawns, says("noted"), uses("probe"), says("ok"));
    const { gateway, heard } = await start(t, { answer: between(main, inTurn(uses("page"), says("12"))) });
    await run(gateway);
    await until(() => heard.length > 0, "the turn of the announcement");
    assert.deepEqual(heard, [[MAIN, []]]);
  });

  it("go with a message to another session", async (t) => {
    const main = inTurn(uses("page"), sends, says("done"));
    const { gateway, heard } = await start(t, { answer: between(main, inTurn(uses("probe"), says("12"))) });
    await run(gateway);
    assert.deepEqual(heard, [[NOTES, []]]);
  });

  it("come back with the reply of another session", async (t) => {
    const main = inTurn(sends, uses("probe"), says("done"));
    const { gateway, heard } = await start(t, { answer: between(main, inTurn(uses("page"), says("12"))) });
    await run(gateway);
    assert.deepEqual(heard, [[MAIN, []]]);
  });

  it("count for a whole turn that they are put into, also when only a line of them is left", () => {
    const waiting = (runId: string, origin?: Origin) => ({
      request: request(runId, { principal: owner, ...(origin && { origin }) }),
      queue: undefined,
      isOverflow: false,
    });
    const [own, others] = [waiting("own"), waiting("others", WEB)];
    const turn = { leader: own, merged: [], overflow: [] };
    assert.deepEqual(turnOrigin(turn), {});
    for (const one of [
      { ...turn, leader: others },
      { ...turn, merged: [others] },
      { ...turn, overflow: [others] },
    ])
      assert.deepEqual(turnOrigin(one), { origin: WEB });
  });
});

describe("an address in a call", limited, () => {
  it("was read where it stands in a message to the agent or on a page, and made up where the model alone said it", async (t) => {
    const seen: (readonly string[])[] = [];
    const plain = { description: "-", scope: "operator.read" } as const;
    const text = (name: string) => `See https://${name}.example/ for that`;
    const brings = (kind: "web" | "file") =>
      defineTool({ ...plain, params: Strict({}), effects: ["reads"], brings: kind, run: () => text(kind) });
    const tools = {
      page: brings("web"),
      file: brings("file"),
      go: defineTool({
        ...plain,
        params: Strict({ to: Type.Array(Type.String()) }),
        effects: (_, context) => (seen.push(context.seen), ["reads"]),
        run: () => "ok",
      }),
    };
    const to = ["message", "web", "file", "answer"].map((name) => `https://${name}.example/`);
    const answer = inTurn(uses("page"), uses("file"), says(text("answer"), calls("go", { to })), says("done"));
    const gateway = await startGateway(t, { tools, answer });
    await runAs(gateway, "r1", { principal: owner, message: text("message") });
    assert.deepEqual(seen, [["https://message.example/", "https://web.example/"]]);
  });
});

describe("words of the owner alone", limited, () => {
  it("leave everything unmarked", async (t) => {
    const main = inTurn(spawns, sends, uses("probe"), says("noted"));
    const { gateway, heard } = await start(t, { answer: between(main, inTurn(uses("probe"), says("12"))) });
    await run(gateway);
    await until(() => heard.length >= 2, "the calls");
    assert.ok(
      heard.every(([, may]) => may === "all"),
      JSON.stringify(heard),
    );
  });

  it("are not those of somebody who may only write, whatever started the sub-agent", async (t) => {
    const { gateway, heard } = await start(t, { answer: between(says("noted"), inTurn(uses("probe"), says("12"))) });
    await gateway.runs.subagents.spawn({ task: "x" }, { runId: "p1", sessionKey: MAIN, agentId: "main", principal });
    await until(() => heard.length > 0, "the call of the sub-agent");
    assert.deepEqual(heard[0]?.[1], ["operator.read", "operator.write"]); // what operator.write covers
  });
});
