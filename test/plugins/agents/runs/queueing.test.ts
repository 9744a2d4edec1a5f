import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { QueueMode, RunRequest } from "@svc/sdk/agents";
import {
  checkedStorage,
  ended,
  type Fixture,
  type FixtureOptions,
  type Gateway,
  openFixture,
  outline,
  spoke,
  start,
  until,
} from "../fixture.ts";
import {
  type Answer,
  calls,
  hangsAfter,
  held,
  inTurn,
  MAIN,
  plainTool,
  principal,
  request,
  says,
  watched,
} from "../script.ts";

const limited = { timeout: 120_000 };
const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };

const send = (gateway: Gateway, runId: string, queue?: QueueMode, changes: Partial<RunRequest> = {}) =>
  gateway.runs.start(request(runId, { ...(queue ? { queue } : {}), ...changes }));

/** A gateway with the run `r0` under way. */
async function busy(t: TestContext, options: FixtureOptions = {}, then?: Answer) {
  const fixture = await openFixture(t);
  const model = held(then);
  const gateway = await fixture.start({ answer: model.answer, ...options });
  await send(gateway, "r0");
  await spoke(gateway);
  return { fixture, gateway, release: model.release };
}

const ends = (gateway: Gateway) =>
  gateway.finished.map(({ runId, status, abortReason, mergedInto }) =>
    [runId, status, abortReason, mergedInto].filter(Boolean).join(" "),
  );

async function allEnded(gateway: Gateway, ...runIds: string[]) {
  for (const runId of runIds) await ended(gateway, runId);
}

describe("messages for a busy session", limited, () => {
  it("are put together after a quiet time, and answered by the newest", async (t) => {
    const { gateway, release } = await busy(t);
    await send(gateway, "r1", "collect");
    gateway.clock.advance(600);
    await send(gateway, "r2", "collect", { images: [image] });
    release();
    await ended(gateway, "r0");
    await until(() => gateway.clock.pending() === 1);
    gateway.clock.advance(999);
    assert.equal(gateway.runs.active(MAIN).length, 2);
    gateway.clock.advance(1);
    await allEnded(gateway, "r1", "r2");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 aborted collected r2", "r2 ok"]);
    assert.deepEqual(await outline(gateway), [
      "user: hello from r0",
      "assistant: Half",
      "user: [Messages that arrived while the agent was busy]\n\n---\nQueued #1\nhello from r1\n\n---\nQueued #2\nhello from r2",
      "assistant: fine",
    ]);
    assert.equal((await gateway.runs.state("r1"))?.status, "aborted");
    assert.equal((await gateway.runs.wait("r1", 0))?.mergedInto, "r2");
  });

  it("get a turn each, in order, as followups", async (t) => {
    const { gateway, release } = await busy(t, { messages: { queue: { debounceMs: 0 } } });
    for (const runId of ["r1", "r2"]) await send(gateway, runId, "followup");
    release();
    await allEnded(gateway, "r1", "r2");
    const asked = (await outline(gateway)).filter((line) => line.startsWith("user"));
    assert.deepEqual(asked, ["user: hello from r0", "user: hello from r1", "user: hello from r2"]);
  });

  it("stop what runs and what waits when they interrupt, and leave alone what is no message", async (t) => {
    const { gateway } = await busy(t);
    await send(gateway, "r1", "collect");
    await send(gateway, "r2");
    await send(gateway, "r3", "interrupt");
    await allEnded(gateway, "r0", "r1", "r2", "r3");
    assert.deepEqual(ends(gateway).toSorted(), ["r0 aborted interrupted", "r1 aborted interrupted", "r2 ok", "r3 ok"]);
    const asked = (await outline(gateway)).filter((line) => line.startsWith("user"));
    assert.deepEqual(asked, ["user: hello from r0", "user: hello from r3", "user: hello from r2"]);
  });

  const full = (drop: string) => ({ messages: { queue: { debounceMs: 0, cap: 2, drop } } });

  it("are refused when the queue is full of older ones that go first", async (t) => {
    const { gateway, release } = await busy(t, full("new"));
    for (const runId of ["r1", "r2"]) await send(gateway, runId, "followup");
    await assert.rejects(send(gateway, "r3", "followup"), { code: "UNAVAILABLE", message: /is full \(2 messages\)/ });
    assert.equal(await gateway.runs.state("r3"), undefined);
    release();
    await allEnded(gateway, "r1", "r2");
  });

  it("push out the oldest, which says so", async (t) => {
    const { gateway, release } = await busy(t, full("old"));
    for (const runId of ["r1", "r2", "r3"]) await send(gateway, runId, "followup");
    assert.deepEqual(
      [(await ended(gateway, "r1")).abortReason, (await gateway.runs.state("r1"))?.status],
      ["dropped", "aborted"],
    );
    release();
    await allEnded(gateway, "r2", "r3");
  });

  it("leave a line of the oldest in the next turn", async (t) => {
    const { gateway, release } = await busy(t, full("summarize"));
    for (const runId of ["r1", "r2", "r3"]) await send(gateway, runId, "followup");
    assert.equal((await gateway.runs.state("r1"))?.status, "accepted", "its line is not used yet");
    release();
    await allEnded(gateway, "r1", "r2", "r3");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 aborted dropped r2", "r2 ok", "r3 ok"]);
    const [, second] = (await outline(gateway)).filter((line) => line.startsWith("user"));
    assert.match(second ?? "", /1 older message left out .*\n- hello from r1\n\n---\nQueued #1\nhello from r2$/s);
  });

  it("follow the options of the session", async (t) => {
    const { gateway, release } = await busy(t);
    await gateway.sessions.update(MAIN, { queueCap: 1, queueDrop: "new", queueDebounceMs: 0, queueMode: "queue" });
    assert.equal(await gateway.runs.queueMode(MAIN), "steer");
    await send(gateway, "r1", "followup");
    await assert.rejects(send(gateway, "r2", "followup"), { code: "UNAVAILABLE" });
    release();
    await ended(gateway, "r1");
  });

  it("can be stopped while they wait, without stopping those they would have gone with", async (t) => {
    const { gateway, release } = await busy(t, { messages: { queue: { debounceMs: 0 } } });
    for (const runId of ["r1", "r2", "r3"]) await send(gateway, runId, "collect");
    assert.equal(gateway.runs.abort("r2", "rpc"), true);
    release();
    await allEnded(gateway, "r1", "r2", "r3");
    assert.deepEqual(ends(gateway), ["r2 aborted rpc", "r0 ok", "r1 aborted collected r3", "r3 ok"]);
    assert.equal(gateway.clock.pending(), 0);
  });
});

describe("messages that wait without an active run", limited, () => {
  const rows: [what: string, queue: QueueMode, messages: object][] = [
    ["interrupts them", "interrupt", {}],
    ["pushes them out", "followup", { queue: { debounceMs: 0, cap: 1, drop: "old" } }],
  ];
  for (const [what, queue, messages] of rows) {
    it(`still take turns after one that ${what}`, async (t) => {
      let release = () => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      let now = 0;
      let most = 0;
      const answer: Answer = async function* ({ messages: asked }) {
        if (JSON.stringify(asked).includes("hello from o")) await released;
        else {
          most = Math.max(most, ++now);
          await new Promise((resolve) => setTimeout(resolve, 20));
          now--;
        }
        yield { type: "finish", reason: "stop" };
      };
      const config = { defaults: { maxConcurrent: 2 } };
      const gateway = await start(t, { answer, config, messages });
      for (const runId of ["o1", "o2"]) await send(gateway, runId, undefined, { sessionKey: `agent:main:${runId}` });
      await send(gateway, "r1", "followup");
      await send(gateway, "r2", queue);
      assert.equal((await ended(gateway, "r1")).status, "aborted");
      await send(gateway, "r3");
      release();
      await allEnded(gateway, "r2", "r3");
      assert.equal(most, 1);
    });
  }
});

describe("queued messages and a crash", limited, () => {
  const crash = async (t: TestContext, queue: QueueMode, messages: object = {}): Promise<Fixture> => {
    const { fixture, gateway } = await busy(t, { messages });
    for (const runId of ["r1", "r2", "r3"]) await send(gateway, runId, queue);
    return fixture;
  };

  it("are still put together at the next start", async (t) => {
    const fixture = await crash(t, "collect");
    const gateway = await fixture.start();
    await ended(gateway, "r0");
    gateway.clock.advance(1_000);
    await allEnded(gateway, "r1", "r2", "r3");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 aborted collected r3", "r2 aborted collected r3", "r3 ok"]);
  });

  it("still leave their lines in the next turn", async (t) => {
    const messages = { queue: { debounceMs: 0, cap: 2 } };
    const fixture = await crash(t, "followup", messages);
    const gateway = await fixture.start({ messages });
    await allEnded(gateway, "r1", "r2", "r3");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 aborted dropped r2", "r2 ok", "r3 ok"]);
  });

  it("wait again when their turn could not begin", async (t) => {
    let fails = 0;
    const storage = checkedStorage((statements) => {
      if (fails === 0 || statements.length <= 3) return;
      fails -= 1;
      throw new GatewayError("INVALID_REQUEST", "no");
    });
    const { gateway, release } = await busy(t, { storage, messages: { queue: { debounceMs: 0 } } });
    for (const runId of ["r1", "r2"]) await send(gateway, runId, "collect");
    fails = 1;
    release();
    await allEnded(gateway, "r1", "r2");
    assert.deepEqual(ends(gateway), ["r0 ok", "r2 error", "r1 ok"]);
  });
});

describe("steering", limited, () => {
  /** `r0` calls a tool, during which `r1` arrives, and is asked again; waits until both ended. */
  async function steered(
    t: TestContext,
    mode: QueueMode,
    changes: Partial<RunRequest> = {},
    options: FixtureOptions = {},
  ) {
    const { answer, asked } = watched(inTurn(says(calls("work")), says("fine")));
    const work = plainTool(async () => {
      await send(gateway, "r1", mode, changes);
      return "done";
    });
    const gateway: Gateway = await start(t, {
      answer,
      tools: { work },
      messages: { queue: { debounceMs: 0 } },
      ...options,
    });
    await send(gateway, "r0");
    await allEnded(gateway, "r0", "r1");
    return { gateway, asked: asked.map(({ messages }) => messages.map(({ role }) => role)) };
  }

  it("puts a message into the turn between its tools and its next question", async (t) => {
    const { gateway, asked } = await steered(t, "steer");
    assert.deepEqual(asked, [["user"], ["user", "assistant", "toolResult", "user"]]);
    assert.deepEqual(ends(gateway), ["r1 aborted steered r0", "r0 ok"]);
    assert.deepEqual(await outline(gateway), [
      "user: hello from r0",
      "assistant: ",
      "toolResult: done",
      "user: hello from r1",
      "assistant: fine",
    ]);
    const items = await gateway.sessions.transcript(MAIN, 9);
    const keys = items.flatMap(({ message }) => (message.role === "user" ? message.idempotencyKey : []));
    assert.deepEqual(keys, ["r0:user", "r1:user"]);
  });

  it("puts it in and gives it a turn of its own with a backlog", async (t) => {
    const { gateway, asked } = await steered(t, "steer-backlog");
    assert.equal(asked[1]?.at(-1), "user");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 ok"]);
    assert.equal((await outline(gateway)).filter((line) => line === "user: hello from r1").length, 2);
  });

  it("waits for the end of the run when there is no next question", async (t) => {
    const { gateway, release } = await busy(t, { messages: { queue: { debounceMs: 0 } } });
    await send(gateway, "r1", "steer");
    release();
    await ended(gateway, "r1");
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 ok"]);
  });

  it("never puts words of one caller into a run of another", async (t) => {
    const other = { ...principal, id: "device:x", scopes: ["operator.read"] };
    const { gateway, asked } = await steered(t, "steer", { principal: other });
    assert.deepEqual(asked[1], ["user", "assistant", "toolResult"]);
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 ok"]);
  });

  it("keeps the message waiting when it cannot be stored", async (t) => {
    const storage = checkedStorage((statements) => {
      if (!statements.some(({ params }) => JSON.stringify(params)?.includes("steered"))) return;
      throw new GatewayError("INVALID_REQUEST", "no");
    });
    const { gateway, asked } = await steered(t, "steer", {}, { storage });
    assert.deepEqual([asked.length, asked[1]?.at(-1)], [3, "toolResult"]);
    assert.deepEqual(ends(gateway), ["r0 ok", "r1 ok"]);
  });
});

describe("lanes of runs", limited, () => {
  it("let sub-runs through while all places of the main lane are taken", async (t) => {
    const gateway = await start(t, {
      config: { defaults: { maxConcurrent: 1 } },
      answer: inTurn(hangsAfter("Half"), says("fine")),
    });
    await send(gateway, "r0");
    await spoke(gateway);
    await send(gateway, "r1", undefined, { sessionKey: "agent:main:other" });
    await send(gateway, "r2", undefined, { sessionKey: "agent:main:third", lane: "subagent" });
    assert.equal((await ended(gateway, "r2")).status, "ok");
    assert.equal((await gateway.runs.state("r1"))?.status, "accepted");
    gateway.clock.advance(3_000);
    gateway.configure({ defaults: { maxConcurrent: 2 } });
    assert.equal((await ended(gateway, "r1")).status, "ok");
    assert.ok(gateway.logged.includes("a run started after a long wait"));
    gateway.runs.abort("r0", "rpc");
    await ended(gateway, "r0");
  });

  it("let a run through whose parent waits for it in the same lane", async (t) => {
    const ask = plainTool(async (_args, { call }) => {
      const inner = { sessionKey: "agent:main:inner", lane: "nested", parentRunId: call.runId };
      await gateway.runs.start(request("inner", inner));
      return (await gateway.runs.wait("inner"))?.text ?? "";
    });
    const answer = inTurn(says(calls("ask")), says("inner words"), says("outer words"));
    const gateway: Gateway = await start(t, { tools: { ask }, answer });
    await send(gateway, "outer", undefined, { lane: "nested" });
    assert.equal((await ended(gateway, "outer")).text, "outer words");
  });
});
