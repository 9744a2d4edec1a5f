import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, saidAfter } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { checkedStorage, ended, model, outline, run, spoke, start, until } from "../fixture.ts";
import {
  calls,
  failsWith,
  hangsAfter,
  inTurn,
  MAIN,
  plainTool,
  request,
  says,
  usage,
  user,
  watched,
} from "../script.ts";

/** A model that hangs in the first run and answers afterwards. */
const hangsFirst = () => inTurn(hangsAfter("Half"), says("fine"));

describe("runs", () => {
  it("stamp messages with the time of the person, as configured now", async (t) => {
    const { answer, asked } = watched(says("fine"));
    const gateway = await start(t, { config: { defaults: { userTimezone: "Asia/Tokyo" } }, answer });
    const words = (turn: number) => textOf(asked[turn]?.messages.at(-1) ?? user(""));
    const hour = (offset: number) => new Date(gateway.clock.now() + offset * 3_600_000).toISOString().slice(11, 16);
    await run(gateway, "r1");
    gateway.configure({ defaults: { userTimezone: "America/Lima" } });
    await run(gateway, "r2");
    assert.match(words(0), new RegExp(`^\\[\\w{3} \\S+ ${hour(9)} GMT\\+9\\] hello from r1`));
    assert.match(words(1), new RegExp(`^\\[\\w{3} \\S+ ${hour(-5)} GMT-5\\] hello from r2`));
  });

  it("answer, and leave the conversation, the record and the session behind", async (t) => {
    const gateway = await start(t, { models: { resolve: () => ({ ...model, contextWindow: 1_000 }) } });
    const { state, fresh, acceptedAt } = await gateway.runs.start(request("r1"));
    assert.deepEqual([fresh, state.status, acceptedAt], [true, "accepted", gateway.clock.now()]);
    const outcome = await ended(gateway, "r1");
    const now = gateway.clock.now();
    const entry = await gateway.sessions.get(MAIN);
    assert.deepEqual(
      { ...outcome, message: outcome.message?.stopReason },
      {
        runId: "r1",
        sessionKey: MAIN,
        status: "ok",
        startedAt: now,
        endedAt: now,
        text: "fine",
        message: "stop",
        stopReason: "stop",
        usage: usage(10, 5),
        provider: "fake",
        model: "one",
        sessionId: entry?.sessionId,
        origin: saidAfter({ kind: "person", id: "token", scopes: ["operator.read", "operator.write"] }),
      },
    );
    assert.deepEqual(await outline(gateway), ["user: hello from r1", "assistant: fine"]);
    assert.deepEqual(await gateway.runs.state("r1"), {
      runId: "r1",
      sessionKey: MAIN,
      source: "test",
      status: "ok",
      startedAt: now,
      endedAt: now,
    });
    const { model: name, modelProvider, inputTokens, outputTokens, totalTokens, contextTokens } = entry ?? {};
    assert.deepEqual(
      [name, modelProvider, inputTokens, outputTokens, totalTokens, contextTokens],
      ["one", "fake", 10, 5, 15, 1_000],
    );
    assert.deepEqual(gateway.finished, [outcome]);
    assert.deepEqual(gateway.runs.active(MAIN), []);
  });

  it("tell each step, the last one with the outcome", async (t) => {
    const gateway = await start(t, { answer: says("Hel", "lo") });
    const outcome = await run(gateway, "r1");
    assert.deepEqual(
      gateway.events.map(({ seq, stream, data }) => [seq, stream, data["phase"] ?? data["text"]]),
      [
        [1, "lifecycle", "start"],
        [2, "assistant", "Hel"],
        [3, "assistant", "Hello"],
        [4, "lifecycle", "end"],
      ],
    );
    assert.deepEqual(gateway.events[3]?.outcome, outcome);
    assert.equal(gateway.broadcasts.length, 4);
  });

  it("store the message under the key of the run, which the model is not shown", async (t) => {
    const { answer, asked } = watched(says("fine"));
    const gateway = await start(t, { answer });
    await run(gateway, "r1");
    await run(gateway, "r2");
    const keys = (await gateway.sessions.transcript(MAIN, 9)).map(({ message }) => Object(message).idempotencyKey);
    assert.deepEqual(keys, ["r1:user", undefined, "r2:user", undefined]);
    assert.doesNotMatch(JSON.stringify(asked), /r[12]:user/);
  });

  it("show the model the conversation with stamps that the transcript does not have", async (t) => {
    const { answer, asked } = watched(says("fine"));
    const gateway = await start(t, { answer });
    await run(gateway, "r1");
    await run(gateway, "r2");
    assert.deepEqual(
      asked[1]?.messages.map((message) => [
        message.role,
        textOf(message).replace(/^\[\w{3} [\d-]{10} [\d:]{5} \S+\] /, "@ "),
      ]),
      [
        ["user", "@ hello from r1"],
        ["assistant", "fine"],
        ["user", "@ hello from r2"],
      ],
    );
  });

  it("are accepted once per id [W14.1 W14.6]", async (t) => {
    const gateway = await start(t);
    const both = await Promise.all([gateway.runs.start(request("r1")), gateway.runs.start(request("r1"))]);
    assert.deepEqual(
      both.map(({ fresh }) => fresh),
      [true, false],
    );
    await ended(gateway, "r1");
    const again = await gateway.runs.start(request("r1"));
    assert.deepEqual([again.fresh, again.state.status], [false, "ok"]);
    assert.deepEqual(await outline(gateway), ["user: hello from r1", "assistant: fine"]);
  });

  it("of one session go one after the other", async (t) => {
    const gateway = await start(t, { answer: hangsFirst() });
    for (const runId of ["r1", "r2"]) await gateway.runs.start(request(runId));
    await spoke(gateway);
    assert.deepEqual(
      gateway.runs.active(MAIN).map(({ runId, status }) => [runId, status]),
      [
        ["r1", "running"],
        ["r2", "accepted"],
      ],
    );
    gateway.runs.abort("r1", "rpc");
    assert.equal((await ended(gateway, "r2")).status, "ok");
    assert.deepEqual(await outline(gateway), [
      "user: hello from r1",
      "assistant: Half",
      "user: hello from r2",
      "assistant: fine",
    ]);
  });

  it("are refused when a gate denies, and leave nothing behind", async (t) => {
    const gateway = await start(t, { runBefore: () => ({ allow: false, reason: "closed", retryAfterMs: 9 }) });
    await assert.rejects(gateway.runs.start(request("r1")), {
      code: "UNAVAILABLE",
      message: "the run was denied: closed",
      retryAfterMs: 9,
    });
    assert.equal(await gateway.runs.state("r1"), undefined);
    assert.deepEqual(gateway.runs.active(MAIN), []);
  });

  it("tell what a model that fails says, and the conversation goes on", async (t) => {
    const down = new GatewayError("UNAVAILABLE", "the model server is down");
    const gateway = await start(t, { answer: inTurn(failsWith(down), says("back")) });
    const failed = await run(gateway, "r1");
    assert.deepEqual([failed.status, failed.errorMessage], ["error", "the model server is down"]);
    const [, answer] = await gateway.sessions.transcript(MAIN, 10);
    assert.equal(answer?.message.role === "assistant" && answer.message.errorMessage, "the model server is down");
    assert.deepEqual(gateway.events.at(-1)?.data["phase"], "error");
    assert.equal((await gateway.runs.state("r1"))?.error, "the model server is down");
    assert.equal((await run(gateway, "r2")).text, "back");
  });

  it("end in an error when there is no such model", async (t) => {
    const resolve = () => {
      throw new GatewayError("NOT_FOUND", 'no model "x"');
    };
    const outcome = await run(await start(t, { models: { resolve } }), "r1");
    assert.deepEqual([outcome.status, outcome.errorMessage], ["error", 'no model "x"']);
  });

  it("use the model of the session, then those of the agent", async (t) => {
    const resolved: (string | undefined)[] = [];
    const gateway = await start(t, {
      config: { defaults: { model: { primary: "p/one", fallbacks: ["p/two"] } } },
      models: {
        resolve: (ref) => {
          resolved.push(ref);
          return { ...model, id: ref ?? "default" };
        },
      },
    });
    await run(gateway, "r1");
    await gateway.sessions.update(MAIN, { modelOverride: "own", providerOverride: "p" });
    const outcome = await run(gateway, "r2");
    assert.deepEqual(resolved, ["p/one", "p/two", "p/own", "p/two"]);
    assert.equal(outcome.model, "p/own");
  });

  it("run tools and keep each message as it is complete", async (t) => {
    const gateway = await start(t, {
      tools: { clock: plainTool(() => "noon") },
      answer: inTurn(says("Let me look.", calls("clock")), says("It is noon.")),
    });
    await gateway.sessions.ensure(MAIN, { verboseLevel: "full" });
    const outcome = await run(gateway, "r1", { connectionId: "ws-1" });
    assert.equal(outcome.text, "Let me look.\n\nIt is noon.");
    assert.deepEqual(await outline(gateway), [
      "user: hello from r1",
      "assistant: Let me look.",
      "toolResult: noon",
      "assistant: It is noon.",
    ]);
    const toolEvents = gateway.broadcasts.filter(({ payload }) => payload.stream === "tool");
    assert.deepEqual(
      toolEvents.map(({ connections, payload }) => [connections, "result" in payload.data]),
      [
        [["ws-1"], false],
        [["ws-1"], true],
      ],
    );
  });

  it("let who starts one, or asks for it again, follow the tools of the session's other runs", async (t) => {
    let finish: () => void = () => undefined;
    const asked = new Promise<string>((resolve) => (finish = () => resolve("noon")));
    const tools = { slow: plainTool(() => asked) };
    const gateway = await start(t, { tools, answer: inTurn(says(calls("slow")), says("fine")) });
    const audiences = () =>
      gateway.broadcasts.filter(({ payload }) => payload.stream === "tool").map(({ connections }) => connections);
    await gateway.runs.start(request("r1", { connectionId: "ws-1" }));
    await until(() => audiences().length === 1);
    await gateway.runs.start(request("r2", { connectionId: "ws-2" }));
    await gateway.runs.start(request("r3", { connectionId: "ws-3", sessionKey: "agent:main:other" }));
    await gateway.runs.start(request("r1", { connectionId: "ws-4" }));
    finish();
    await ended(gateway, "r2");
    assert.deepEqual(audiences(), [["ws-1"], ["ws-1", "ws-2", "ws-4"]]);
  });

  it("wait until storage can write again, are told only then, and are not accepted before", async (t) => {
    let isFull = false;
    const full = new GatewayError("UNAVAILABLE", "disk full", { retryAfterMs: 50 });
    const gateway = await start(t, {
      storage: checkedStorage(() => isFull && Promise.reject(full)),
      answer: async function* () {
        isFull = true;
        yield { type: "text", delta: "fine" };
        yield { type: "finish", reason: "stop" };
      },
    });
    await gateway.runs.start(request("r1"));
    await until(() => isFull && gateway.clock.pending() > 0);
    assert.equal((await gateway.runs.state("r1"))?.status, "running");
    assert.equal(gateway.finished.length, 0);
    await assert.rejects(gateway.runs.start(request("r2")), { code: "UNAVAILABLE" });
    isFull = false;
    gateway.clock.advance(50);
    assert.equal((await ended(gateway, "r1")).status, "ok");
    assert.deepEqual(await outline(gateway), ["user: hello from r1", "assistant: fine"]);
  });

  it("that are unknown can be waited for", async (t) => {
    const gateway = await start(t);
    const early = gateway.runs.wait("r1", 60_000);
    assert.equal(await gateway.runs.wait("r2", 0), undefined);
    const late = gateway.runs.wait("r3", 1_000);
    await run(gateway, "r1");
    assert.equal((await early)?.runId, "r1");
    gateway.clock.advance(1_000);
    assert.equal(await late, undefined);
  });

  it("can be asked for after memory has forgotten them [W14.5]", async (t) => {
    const gateway = await start(t);
    const outcome = await run(gateway, "r1");
    gateway.clock.advance(3_600_000);
    const { message: _inTranscript, ...kept } = outcome;
    assert.deepEqual(await gateway.runs.wait("r1", 0), kept);
  });
});
