import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { QueueMode, RunState } from "@svc/sdk/agents";
import { connection, openScene, principal } from "./chat-scene.ts";

const CANONICAL = "agent:main:main";
const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64");
const text = Buffer.from("text").toString("base64");
const running = (runId: string): RunState => ({ runId, sessionKey: CANONICAL, source: "chat", status: "running" });

describe("chat.send", () => {
  it("starts a run under the canonical key with the idempotency key as its id", async (t) => {
    const { send, started, sent } = await openScene(t);
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "started" });
    assert.deepEqual(started, [{ runId: "r1", sessionKey: CANONICAL, message: "hi", source: "chat", principal }]);
    assert.equal(sent.rawKey("r1"), "main");
  });

  it("passes images, thinking and timeout on, and the connection only if it accepts tool events", async (t) => {
    const { send, started, dropped } = await openScene(t);
    const params = { attachments: [{ content: png }, { content: text }], thinking: "low", timeoutMs: 0 };
    await send(params, connection(["tool-events"]));
    const { images, thinking, timeoutMs, connectionId } = started[0] ?? {};
    assert.deepEqual(images, [{ type: "image", data: png, mimeType: "image/png" }]);
    assert.deepEqual([thinking, timeoutMs, connectionId], ["low", 0, "c1"]);
    assert.deepEqual(dropped, ["attachment dropped: attachment 2 is not a png, jpeg, gif or webp image"]);
  });

  it("does not pass thinking on with a message that starts with a slash", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "/weather today", thinking: "high" });
    assert.equal(started[0]?.message, "/weather today");
    assert.equal(started[0]?.thinking, undefined);
  });

  it("accepts an image without text", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "", attachments: [{ content: png }] });
    assert.equal(started[0]?.images?.length, 1);
  });

  it("accepts thinking by any of its names", async (t) => {
    const { send, started } = await openScene(t);
    for (const thinking of ["MAX", "x-high", " "]) await send({ thinking });
    assert.deepEqual(
      started.map(({ thinking }) => thinking),
      ["high", "xhigh", undefined],
    );
  });

  it("names the levels when it refuses one", async (t) => {
    const { send } = await openScene(t);
    await assert.rejects(send({ thinking: "loud" }), {
      code: "INVALID_REQUEST",
      message: /levels: off, minimal, low, medium/,
    });
  });

  it("starts a stale session afresh, but not for commands, stop requests and busy sessions", async (t) => {
    const { send, freshened, states } = await openScene(t);
    await send();
    assert.deepEqual(freshened, ["agent:main:main webchat"]);
    for (const message of ["/help", "stop", "more"]) await send({ message });
    states.clear();
    await send();
    assert.equal(freshened.length, 2);
  });

  it("reads storage once before it starts a run", async (t) => {
    const { send, storage, gate } = await openScene(t);
    let reads = 0;
    const get = storage.get.bind(storage);
    storage.get = async (...args) => {
      reads += 1;
      return get(...args) as never;
    };
    let readsAtStart = 0;
    gate.open = async () => void (readsAtStart = reads);
    await send();
    assert.equal(readsAtStart, 1);
  });

  const refusals: [why: string, params: Parameters<Awaited<ReturnType<typeof openScene>>["send"]>[0]][] = [
    ["a NUL", { message: "a\0" }],
    ["a blank message", { message: " \n" }],
    ["a blank message with a file that is not an image", { message: "", attachments: [{ content: text }] }],
    ["an attachment that is not base64", { attachments: [{ content: "%" }] }],
    ["a malformed session key", { sessionKey: "agent:" }],
  ];
  for (const [why, params] of refusals) {
    it(`refuses ${why} and starts nothing`, async (t) => {
      const { send, started } = await openScene(t);
      await assert.rejects(send(params), { code: "INVALID_REQUEST" });
      assert.deepEqual(started, []);
    });
  }

  it("refuses when the session's send policy is deny, stop requests too", async (t) => {
    const { send, entries } = await openScene(t);
    entries.set(CANONICAL, { sessionId: "s1", updatedAt: 1, sendPolicy: "deny" });
    await assert.rejects(send(), { code: "INVALID_REQUEST", message: /sendPolicy/ });
    await assert.rejects(send({ message: "stop" }), { code: "INVALID_REQUEST" });
  });

  it("passes on the refusal of a run and frees the key", async (t) => {
    const { send, gate, sent } = await openScene(t);
    gate.open = () => Promise.reject(new Error("disk full"));
    await assert.rejects(send(), /disk full/);
    assert.equal(sent.size, 0);
  });
});

describe("chat.send with a key that was used before", () => {
  it("returns in_flight during the run and ok after its success", async (t) => {
    const { send, states, started } = await openScene(t);
    await send({ idempotencyKey: "r1" });
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "in_flight" });
    states.set("r1", { ...running("r1"), status: "ok" });
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "ok" });
    assert.equal(started.length, 1);
  });

  for (const [status, error, summary] of [
    ["error", "no model", "no model"],
    ["error", undefined, "the run failed"],
    ["aborted", undefined, "the run was aborted"],
    ["interrupted", undefined, "the run was interrupted"],
  ] as const) {
    it(`fails with UNAVAILABLE and a payload when the run ended as ${status} (${summary})`, async (t) => {
      const { send, states } = await openScene(t);
      states.set("r1", { ...running("r1"), status, ...(error === undefined ? {} : { error }) });
      const payload = { runId: "r1", status: "error", summary };
      await assert.rejects(send({ idempotencyKey: "r1" }), { code: "UNAVAILABLE", payload });
    });
  }

  for (const [what, change] of [
    ["another session", { sessionKey: "agent:main:other" }],
    ["another kind of run", { source: "agent" }],
  ] as const) {
    it(`refuses a key that belongs to ${what}, because the message would be lost`, async (t) => {
      const { send, states } = await openScene(t);
      states.set("r1", { ...running("r1"), ...change });
      await assert.rejects(send({ idempotencyKey: "r1" }), { code: "INVALID_REQUEST", message: /already used/ });
    });
  }

  it("starts one run for many equal requests at once", async (t) => {
    const { send, started } = await openScene(t);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send({ idempotencyKey: "r1" })));
    assert.equal(started.length, 1);
    assert.deepEqual(answers.map((answer) => ("status" in answer ? answer.status : "")).toSorted(), [
      ...Array.from({ length: 19 }, () => "in_flight"),
      "started",
    ]);
  });

  it("executes a command once", async (t) => {
    const { send, resets, transcript } = await openScene(t);
    const twice = await Promise.all([1, 2].map(() => send({ message: "/new", idempotencyKey: "r1" })));
    assert.deepEqual(twice, [
      { runId: "r1", status: "started" },
      { runId: "r1", status: "in_flight" },
    ]);
    assert.deepEqual(await send({ message: "/new", idempotencyKey: "r1" }), { runId: "r1", status: "ok" });
    assert.deepEqual([resets.length, transcript.length], [1, 1]);
  });
});

describe("chat.send and the queue", () => {
  async function queued(
    t: TestContext,
    mode: QueueMode | undefined,
    configured: QueueMode = "followup",
    message = "more",
  ) {
    const scene = await openScene(t);
    scene.modes.configured = configured;
    await scene.send();
    const entry = scene.entries.get(CANONICAL);
    if (entry && mode) scene.entries.set(CANONICAL, { ...entry, queueMode: mode });
    await scene.send({ message });
    return scene.started.map(({ queue }) => queue);
  }

  it("gives each message its own reply without a configured mode", async (t) => {
    assert.deepEqual(await queued(t, undefined), [undefined, undefined]);
  });

  it("passes the mode of the session on, also if it means one reply per message", async (t) => {
    assert.deepEqual(await queued(t, "steer"), [undefined, "steer"]);
    assert.deepEqual(await queued(t, "followup"), [undefined, "followup"]);
  });

  it("passes the configured mode on", async (t) => {
    assert.deepEqual(await queued(t, undefined, "collect"), ["collect", "collect"]);
  });

  it("counts a message merged into another run as answered", async (t) => {
    const { send, states, outcomes } = await openScene(t);
    states.set("r1", { ...running("r1"), status: "aborted" });
    const outcome = { runId: "r1", sessionKey: CANONICAL, status: "aborted", endedAt: 1, text: "" } as const;
    outcomes.set("r1", { ...outcome, abortReason: "collected", mergedInto: "r2" });
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "ok" });
  });
});

describe("chat.send with a command", () => {
  it("sets and returns the queue mode without a run, once", async (t) => {
    const { send, started, entries, events } = await openScene(t);
    const message = "/queue steer cap:3";
    await send({ message, idempotencyKey: "q1" });
    assert.deepEqual(await send({ message, idempotencyKey: "q1" }), { runId: "q1", status: "ok" });
    assert.deepEqual([entries.get(CANONICAL)?.["queueMode"], entries.get(CANONICAL)?.["queueCap"]], ["steer", 3]);
    assert.deepEqual(
      events.map(({ state, message: shown }) => [state, shown?.content[0]?.text]),
      [["final", "Queue mode of this session: steer (cap 3)."]],
    );
    assert.deepEqual(started, []);
    await assert.rejects(send({ message: "/queue loud" }), { code: "INVALID_REQUEST" });
  });

  it("passes /compact to the agents as a separate run", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "/compact keep names", thinking: "high" });
    assert.deepEqual([started[0]?.compact, started[0]?.thinking], ["keep names", undefined]);
  });

  for (const [message, reset, reply] of [
    ["/new", ["new agent:main:main"], "New session started."],
    [" /reset ", ["reset agent:main:main"], "Session reset."],
  ] as const) {
    it(`answers ${message} with one final under the raw key and stores the reply`, async (t) => {
      const { send, resets, started, events, transcript } = await openScene(t);
      assert.deepEqual(await send({ message, idempotencyKey: "r1" }), { runId: "r1", status: "started" });
      assert.deepEqual(resets, reset);
      assert.deepEqual(started, []);
      const content = [{ type: "text", text: reply }];
      const shown = { role: "assistant", content, timestamp: 1_000 };
      assert.deepEqual(events, [{ runId: "r1", sessionKey: "main", seq: 1, state: "final", message: shown }]);
      assert.deepEqual(
        transcript.map(({ content: kept }) => kept),
        [content],
      );
    });
  }

  it("resets first and then runs the text after /new", async (t) => {
    const { send, resets, started, events } = await openScene(t);
    await send({ message: "/new tell me", thinking: "low" });
    assert.deepEqual(resets, ["new agent:main:main"]);
    assert.deepEqual(
      started.map(({ message, thinking }) => [message, thinking]),
      [["tell me", undefined]],
    );
    assert.deepEqual(events, []);
  });

  it("resets nothing if the run of the text after /new is refused, and once if it is sent again", async (t) => {
    const { send, resets, started, gate } = await openScene(t);
    gate.open = () => Promise.reject(new Error("the gateway is stopping"));
    await assert.rejects(send({ message: "/new tell me" }), /the gateway is stopping/);
    assert.deepEqual([resets, started], [[], []]);
    gate.open = async () => undefined;
    for (const idempotencyKey of ["again", "again"]) await send({ message: "/new tell me", idempotencyKey });
    assert.deepEqual([resets.length, started.length], [1, 1]);
  });

  it("answers /help without a reset", async (t) => {
    const { send, resets, events } = await openScene(t);
    await send({ message: "/help" });
    assert.deepEqual(resets, []);
    assert.match(events[0]?.message?.content[0]?.text ?? "", /\/reset/);
  });
});
