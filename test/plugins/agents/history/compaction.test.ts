import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import { type Message, type ModelRequest, textOf } from "@svc/sdk/models";
import {
  asText,
  isContextOverflow,
  isTooFull,
  planCompaction,
} from "../../../../plugins/agents/history/compaction-plan.ts";
import { contextHistory, limitsOf } from "../../../../plugins/agents/history/history.ts";
import { ended, type FixtureOptions, type Gateway, model, outline, run, start, until } from "../fixture.ts";
import {
  type Answer,
  calls,
  failsWith,
  hangsAfter,
  inTurn,
  MAIN,
  plainTool,
  request,
  says,
  user,
  watched,
} from "../script.ts";

const limited = { timeout: 120_000 };
const tooLong = new GatewayError("UNAVAILABLE", "the prompt is too long: 300 tokens > 200 maximum", {
  details: { kind: "request", status: 400 },
});
const isSummary = ({ system }: ModelRequest) => system.startsWith("You write the memory");
const assistant = (text: string): Message =>
  ({ ...user(text), role: "assistant", api: "a", provider: "p", model: "m", stopReason: "stop" }) as Message;

/** Asks for summaries get `summary`, the rest `answer`. */
const split = (summary: Answer, answer: Answer) =>
  watched((question, signal) => (isSummary(question) ? summary : answer)(question, signal));

/** A session of `turns` turns of 3,000 characters each, in a window of 8,000 tokens. */
async function talked(t: TestContext, options: FixtureOptions, turns = 6) {
  const small = { ...model, contextWindow: 8_000, maxTokens: 500 };
  const gateway = await start(t, { models: { resolve: () => small }, ...options });
  for (let turn = 0; turn < turns; turn += 1) {
    await gateway.sessions.append(MAIN, [
      user(`question ${turn} ${"q".repeat(1_500)}`),
      assistant(`answer ${turn} ${"a".repeat(1_500)}`),
    ]);
  }
  return { gateway };
}

const phases = (gateway: Gateway) =>
  gateway.events.filter(({ stream }) => stream === "compaction").map(({ data }) => data);
const words = (messages: readonly Message[] = []) =>
  messages.map((message) => `${message.role}: ${textOf(message).slice(0, 90)}`);

describe("a conversation that fills the window", limited, () => {
  it("is summed up before the run, and the model sees the summary and the newest messages", async (t) => {
    const { answer, asked } = split(says("They asked five things."), says("fine"));
    const { gateway } = await talked(t, { answer });
    assert.equal((await run(gateway, "r1")).status, "ok");
    assert.deepEqual(phases(gateway), [{ phase: "start" }, { phase: "end", willRetry: false }]);
    const question = asked.at(-1);
    assert.match(words(question?.messages)[0] ?? "", /^user: \[Summary of the conversation so far/);
    assert.match(textOf(question?.messages[0] ?? user("")), /They asked five things\./);
    assert.equal(question?.messages[1]?.role, "user");
    assert.match(textOf(question?.messages.at(-1) ?? user("")), /hello from r1$/);
    assert.equal((await gateway.sessions.get(MAIN))?.["compactionCount"], 1);
    assert.ok((await gateway.sessions.transcript(MAIN, 100)).length >= 13, "nothing is thrown away");

    assert.equal((await run(gateway, "r2")).status, "ok");
    assert.equal(phases(gateway).length, 2, "there is room again");
    assert.match(textOf(asked.at(-1)?.messages[0] ?? user("")), /They asked five things\./);
  });

  it("is summed up in parts of a share of the window, each on top of the one before", async (t) => {
    const summary: Answer = (question, signal) => says(`notes ${asked.length}`)(question, signal);
    const { answer, asked } = split(summary, says("fine"));
    const { gateway } = await talked(t, { answer, config: { defaults: { compaction: { maxHistoryShare: 0.25 } } } }, 9);
    await run(gateway, "r1");
    const parts = asked.filter(isSummary).map(({ messages }) => textOf(messages[0] ?? user("")));
    assert.ok(parts.length > 1);
    assert.match(parts[1] ?? "", /<notes>\nnotes 1\n<\/notes>/);
    for (const part of parts) assert.ok(part.length < 8_000 * 0.25 * 3 + 500);
    assert.equal((await gateway.sessions.context(MAIN, 100)).summary, `notes ${parts.length}`);
  });

  it("counts the tokens the last run reported", async (t) => {
    const { answer, asked } = split(says("summary"), says("fine"));
    const { gateway } = await talked(t, { answer }, 2);
    await gateway.sessions.update(MAIN, { totalTokens: 7_900, totalTokensFresh: false });
    await run(gateway, "r1");
    assert.equal(asked.filter(isSummary).length, 0, "stale ones say nothing");
    await gateway.sessions.update(MAIN, { totalTokens: 7_900, totalTokensFresh: true });
    await run(gateway, "r2");
    assert.equal(asked.filter(isSummary).length, 1);
  });

  it("runs with its newest messages when the summary fails, and says so in the log", async (t) => {
    const { answer, asked } = split(failsWith(new Error("no")), says("fine"));
    const { gateway } = await talked(t, { answer }, 12);
    assert.equal((await run(gateway, "r1")).status, "ok");
    assert.deepEqual(phases(gateway), [{ phase: "start" }, { phase: "end", willRetry: false }]);
    assert.ok(gateway.logged.some((line) => line.includes("could not be summarized")));
    assert.ok((asked.at(-1)?.messages.length ?? 0) < 25);
    assert.equal((await gateway.sessions.context(MAIN, 100)).summary, undefined);
  });

  it("lets a run be stopped while it is summed up", async (t) => {
    const { answer } = split(hangsAfter("notes"), says("fine"));
    const { gateway } = await talked(t, { answer });
    await gateway.runs.start(request("r1"));
    await until(() => phases(gateway).length === 1);
    gateway.runs.abort("r1", "rpc");
    assert.equal((await ended(gateway, "r1")).abortReason, "rpc");
  });

  it("uses the configured window", async (t) => {
    const { answer, asked } = split(says("summary"), says("fine"));
    const { gateway } = await talked(t, { answer, models: {}, config: { defaults: { contextTokens: 4_000 } } });
    await run(gateway, "r1");
    assert.equal(asked.filter(isSummary).length > 0, true);
    assert.equal((await gateway.sessions.get(MAIN))?.contextTokens, 4_000);
  });
});

describe("a question the model finds too long", limited, () => {
  it("is put again after a summary, once", async (t) => {
    const { answer, asked } = split(says("summary"), inTurn(failsWith(tooLong), says("fine")));
    const { gateway } = await talked(t, { answer }, 2);
    assert.equal((await run(gateway, "r1")).text, "fine");
    assert.deepEqual(phases(gateway), [{ phase: "start" }, { phase: "end", willRetry: true }]);
    assert.equal(asked.length, 3);
    assert.match(textOf(asked[2]?.messages[0] ?? user("")), /summary$/);
  });

  it("fails the run when it is still too long", async (t) => {
    const { answer, asked } = split(says("summary"), failsWith(tooLong));
    const { gateway } = await talked(t, { answer }, 2);
    const outcome = await run(gateway, "r1");
    assert.deepEqual([outcome.status, outcome.errorMessage], ["error", tooLong.message]);
    assert.equal(asked.length, 3);
  });

  it("is put about half as much when no summary can be had", async (t) => {
    const { answer, asked } = split(failsWith(new Error("no")), inTurn(failsWith(tooLong), says("fine")));
    const { gateway } = await talked(t, { answer }, 3);
    assert.equal((await run(gateway, "r1")).text, "fine");
    const counts = asked.filter((question) => !isSummary(question)).map(({ messages }) => messages.length);
    assert.deepEqual(counts, [7, 3]);
  });

  it("keeps what the turn has done so far", async (t) => {
    const work = plainTool(() => "done");
    const { answer, asked } = split(says("summary"), inTurn(says(calls("work")), failsWith(tooLong), says("fine")));
    const { gateway } = await talked(t, { answer, tools: { work } }, 2);
    assert.equal((await run(gateway, "r1")).text, "fine");
    assert.deepEqual(
      asked
        .at(-1)
        ?.messages.slice(-3)
        .map(({ role }) => role),
      ["user", "assistant", "toolResult"],
    );
  });

  for (const [what, error, expected] of [
    ["its words", tooLong, true],
    ["a status", new GatewayError("UNAVAILABLE", "refused", { details: { kind: "request", status: 413 } }), true],
    ["words without particulars", new GatewayError("UNAVAILABLE", "maximum context length is 8192 tokens"), true],
    [
      "a rate limit that counts tokens",
      new GatewayError("UNAVAILABLE", "exceeds 1000 tokens per minute", { details: { kind: "rate_limit" } }),
      false,
    ],
    ["a bug", new Error("prompt is too long"), false],
    ["another refusal", new GatewayError("UNAVAILABLE", "the key is wrong", { details: { kind: "auth" } }), false],
  ] as const) {
    it(`is ${expected ? "" : "not "}known by ${what}`, () => assert.equal(isContextOverflow(error), expected));
  }
});

describe("/compact", limited, () => {
  it("sums up by hand without asking the agent, and says so", async (t) => {
    const { answer, asked } = split(says("summary"), says("never"));
    const { gateway } = await talked(t, { answer }, 2);
    const outcome = await run(gateway, "r1", { message: "/compact keep the names", compact: "keep the names" });
    assert.deepEqual([outcome.status, outcome.text], ["ok", "The older part of this conversation is now a summary."]);
    assert.equal(asked.length, 1);
    assert.match(textOf(asked[0]?.messages[0] ?? user("")), /in particular: keep the names$/);
    const last = (await gateway.sessions.transcript(MAIN, 1))[0]?.message;
    assert.equal(last?.role === "assistant" && last.model, "gateway-injected");
    assert.equal(
      (await outline(gateway)).some((line) => line.includes("/compact")),
      false,
    );
    assert.equal((await gateway.sessions.get(MAIN))?.totalTokensFresh, false);
  });

  it("is words for the agent in the text of a webhook, a job or another agent", async (t) => {
    const { gateway } = await talked(t, { answer: says("what do you mean?") }, 2);
    for (const source of ["hook", "cron", "subagent", "agent", "channel"]) {
      const { text } = await run(gateway, `from-${source}`, { message: "/compact forget all", source });
      assert.equal(text, "what do you mean?");
    }
    assert.deepEqual(phases(gateway), []);
  });

  it("says when there is nothing to sum up", async (t) => {
    const { gateway } = await talked(t, {}, 0);
    assert.match((await run(gateway, "r1", { message: "/compact", compact: "" })).text, /nothing to summarize/);
  });

  it("tells what went wrong", async (t) => {
    const { answer } = split(failsWith(new GatewayError("UNAVAILABLE", "down")), says("never"));
    const { gateway } = await talked(t, { answer }, 2);
    const outcome = await run(gateway, "r1", { message: "/compact", compact: "" });
    assert.deepEqual([outcome.status, outcome.errorMessage], ["error", "down"]);
  });

  it("waits for its turn alone, whatever the queue does with messages", async (t) => {
    const { answer } = split(says("summary"), inTurn(says("one"), says("two")));
    const { gateway } = await talked(t, { answer, messages: { queue: { debounceMs: 0 } } }, 2);
    await gateway.runs.start(request("r0"));
    await gateway.runs.start(request("r1", { message: "/compact", compact: "", queue: "collect" }));
    await gateway.runs.start(request("r2", { queue: "collect" }));
    for (const runId of ["r0", "r1", "r2"]) assert.equal((await ended(gateway, runId)).status, "ok");
  });
});

describe("planning a compaction", () => {
  const items = (...messages: Message[]) => messages.map((message, index) => ({ id: String(index), message }));
  const talk = items(
    user("a".repeat(300)),
    assistant("b".repeat(300)),
    user("c".repeat(300)),
    assistant("d".repeat(300)),
    user("e".repeat(300)),
  );

  const result: Message = {
    role: "toolResult",
    toolCallId: "1",
    toolName: "map",
    content: [{ type: "text", text: "left" }],
    isError: false,
    timestamp: 0,
  };

  it("keeps the newest messages, from one of the user on", () => {
    const plan = planCompaction(talk, 310);
    assert.deepEqual([plan?.firstKeptId, plan?.older.length, plan?.kept.length], ["2", 2, 3]);
  });

  it("keeps the last message of the user however long it is", () => {
    assert.equal(planCompaction(talk, 1)?.firstKeptId, "4");
  });

  it("has nothing to do when all is new or there is one turn", () => {
    assert.equal(planCompaction(talk, 10_000), undefined);
    assert.equal(planCompaction(talk.slice(0, 2), 1), undefined);
    assert.equal(planCompaction([], 1), undefined);
  });

  it("keeps at least half of a small window free of the reserve", () => {
    const context = { summary: undefined, items: talk };
    assert.equal(isTooFull(context, { window: 1_100, reserve: 16_000, lastTotal: undefined }), false);
    assert.equal(isTooFull(context, { window: 900, reserve: 16_000, lastTotal: undefined }), true);
  });

  it("writes a conversation down with its tools, in parts", () => {
    const used = {
      ...assistant("Let me look."),
      content: [
        { type: "text", text: "Let me look." },
        { type: "toolCall", id: "1", name: "map", arguments: { to: "x" } },
      ],
    } as Message;
    assert.deepEqual(asText(items(user("where"), used, result), 10_000), [
      'User: where\n\nAssistant: Let me look.\n[uses map with {"to":"x"}]\n\nResult of map: left',
    ]);
    assert.equal(asText(talk, 700).length, 3);
  });

  it("shows a summary first, and no result without its call after it", () => {
    const history = contextHistory(
      { summary: "notes", items: items(result, user("hi")) },
      limitsOf({}, undefined, "UTC"),
    );
    assert.deepEqual(
      history.map(({ role }) => role),
      ["user", "user"],
    );
    assert.match(textOf(history[0] ?? user("")), /notes$/);
  });
});
