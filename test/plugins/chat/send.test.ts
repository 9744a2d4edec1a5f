import assert from "node:assert/strict";
import { describe, it } from "node:test";
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

  it("passes images, thinking and timeout on, and the connection only if it accepts tool events [W4.4]", async (t) => {
    const { send, started, dropped } = await openScene(t);
    const attachments = [{ content: png }, { content: text }];
    const params = { message: "", attachments, thinking: "low", timeoutMs: 0 };
    await send(params, connection(["tool-events"]));
    const { images, thinking, timeoutMs, connectionId } = started[0] ?? {};
    assert.deepEqual(images, [{ type: "image", data: png, mimeType: "image/png" }]);
    assert.deepEqual([thinking, timeoutMs, connectionId], ["low", 0, "c1"]);
    assert.deepEqual(dropped, ["attachment dropped: attachment 2 is not a png, jpeg, gif or webp image"]);
  });

  it("does not pass thinking on with a message that starts with a slash", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "//weather today", thinking: "high" });
    assert.equal(started[0]?.message, "/weather today");
    assert.equal(started[0]?.thinking, undefined);
  });

  it("accepts thinking by any of its names, and names the levels when it refuses one", async (t) => {
    const { send, started } = await openScene(t);
    for (const thinking of ["MAX", "x-high", " "]) await send({ thinking });
    const levels = started.map(({ thinking }) => thinking);
    assert.deepEqual(levels, ["high", "xhigh", undefined]);
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

  it("refuses what is no message, and starts nothing", async (t) => {
    const { send, started } = await openScene(t);
    const refusals = [
      { message: "a\0" },
      { message: " \n" },
      { message: "", attachments: [{ content: text }] },
      { attachments: [{ content: "%" }] },
      { sessionKey: "agent:" },
    ];
    for (const params of refusals) await assert.rejects(send(params), { code: "INVALID_REQUEST" });
    assert.deepEqual(started, []);
  });

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
  it("returns in_flight during the run and ok after its success [W14.2]", async (t) => {
    const { send, states, started } = await openScene(t);
    await send({ idempotencyKey: "r1" });
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "in_flight" });
    states.set("r1", { ...running("r1"), status: "ok" });
    assert.deepEqual(await send({ idempotencyKey: "r1" }), { runId: "r1", status: "ok" });
    assert.equal(started.length, 1);
  });

  it("fails with UNAVAILABLE and a payload when the run did not end well", async (t) => {
    const { send, states } = await openScene(t);
    const rows = [
      ["error", "no model", "no model"],
      ["error", undefined, "the run failed"],
      ["aborted", undefined, "the run was aborted"],
      ["interrupted", undefined, "the run was interrupted"],
    ] as const;
    for (const [status, error, summary] of rows) {
      states.set("r1", { ...running("r1"), status, ...(error === undefined ? {} : { error }) });
      const payload = { runId: "r1", status: "error", summary };
      await assert.rejects(send({ idempotencyKey: "r1" }), { code: "UNAVAILABLE", payload });
    }
  });

  it("refuses a key of another session or kind of run, because the message would be lost", async (t) => {
    const { send, states } = await openScene(t);
    for (const change of [{ sessionKey: "agent:main:other" }, { source: "agent" }]) {
      states.set("r1", { ...running("r1"), ...change });
      await assert.rejects(send({ idempotencyKey: "r1" }), { code: "INVALID_REQUEST", message: /already used/ });
    }
  });

  it("starts one run for many equal requests at once [W14.2]", async (t) => {
    const { send, started } = await openScene(t);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send({ idempotencyKey: "r1" })));
    assert.equal(started.length, 1);
    const statuses = answers.map((answer) => ("status" in answer ? answer.status : ""));
    assert.equal(statuses.filter((status) => status === "in_flight").length, 19);
    assert.ok(statuses.includes("started"));
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
  it("passes on the mode of the session, else the configured one", async (t) => {
    const rows: [mode: QueueMode | undefined, configured: QueueMode, queues: (QueueMode | undefined)[]][] = [
      [undefined, "followup", [undefined, undefined]],
      ["steer", "followup", [undefined, "steer"]],
      ["followup", "followup", [undefined, "followup"]],
      [undefined, "collect", ["collect", "collect"]],
    ];
    for (const [queueMode, configured, queues] of rows) {
      const { send, modes, entries, started } = await openScene(t);
      modes.configured = configured;
      await send();
      if (queueMode) entries.set(CANONICAL, { sessionId: "s1", updatedAt: 1, queueMode });
      await send({ message: "more" });
      assert.deepEqual([started[0]?.queue, started[1]?.queue], queues);
    }
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
  it("answers an unknown command instead of passing it to the agent", async (t) => {
    const { send, started, events, freshened } = await openScene(t);
    assert.deepEqual(await send({ message: "/stauts", idempotencyKey: "r1" }), { runId: "r1", status: "started" });
    assert.match(events[0]?.message?.content[0]?.text ?? "", /^Unknown command \/stauts\. Did you mean \/status\?/);
    assert.deepEqual([started, freshened], [[], []]);
  });

  it("passes every text to the agent without the plugin commands, except stop requests", async (t) => {
    const { send, plugins, started, events, resets } = await openScene(t);
    plugins.chatCommands = undefined;
    for (const message of ["/new", "/nope", "//new", "/queue loud"]) await send({ message });
    assert.deepEqual(
      started.map(({ message }) => message),
      ["/new", "/nope", "//new", "/queue loud"],
    );
    assert.deepEqual([events, resets], [[], []]);
    assert.equal("ok" in (await send({ message: "please stop" })), true);
  });

  it("resets first and then runs images without text", async (t) => {
    const { send, resets, started } = await openScene(t);
    await send({ message: "/new", attachments: [{ content: png }] });
    assert.deepEqual([resets.length, started[0]?.message, started[0]?.images?.length], [1, "", 1]);
  });

  it("sets and returns the queue mode without a run, once", async (t) => {
    const { send, started, entries, events } = await openScene(t);
    const message = "/queue steer cap:3";
    await send({ message, idempotencyKey: "q1" });
    assert.deepEqual(await send({ message, idempotencyKey: "q1" }), { runId: "q1", status: "ok" });
    assert.deepEqual([entries.get(CANONICAL)?.["queueMode"], entries.get(CANONICAL)?.["queueCap"]], ["steer", 3]);
    const [{ state, message: shown } = assert.fail(), ...more] = events;
    assert.deepEqual([state, more], ["final", []]);
    assert.equal(shown?.content[0]?.text, "Queue mode of this session: steer (cap 3).");
    assert.deepEqual(started, []);
    await assert.rejects(send({ message: "/queue loud" }), { code: "INVALID_REQUEST" });
  });

  it("passes /compact to the agents as a separate run", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "/compact keep names", thinking: "high" });
    assert.deepEqual([started[0]?.compact, started[0]?.thinking], ["keep names", undefined]);
  });

  it("answers a reset with one final under the raw key and stores the reply", async (t) => {
    const rows = [
      ["/new", "new agent:main:main", "New session started."],
      [" /reset ", "reset agent:main:main", "Session reset."],
    ] as const;
    for (const [message, reset, reply] of rows) {
      const { send, resets, started, events, transcript } = await openScene(t);
      assert.deepEqual(await send({ message, idempotencyKey: "r1" }), { runId: "r1", status: "started" });
      assert.deepEqual([resets, started], [[reset], []]);
      const content = [{ type: "text", text: reply }];
      const shown = { role: "assistant", content, timestamp: 1_000 };
      const source = { runId: "r1", sessionKey: "main", agentId: "main" };
      assert.deepEqual(events, [{ ...source, seq: 1, state: "final", message: shown }]);
      assert.deepEqual([transcript.length, transcript[0]?.content], [1, content]);
    }
  });

  it("resets first and then runs the text after /new", async (t) => {
    const { send, resets, started, events } = await openScene(t);
    await send({ message: "/new tell me", thinking: "low" });
    assert.deepEqual(resets, ["new agent:main:main"]);
    assert.deepEqual([started.length, started[0]?.message, started[0]?.thinking], [1, "tell me", undefined]);
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

describe("chat.send that replaces a message", () => {
  const stored = { role: "user", content: [{ type: "text", text: "old" }], timestamp: 1 } as const;
  const picture = { type: "image", data: png, mimeType: "image/png" } as const;

  it("goes back to it once, and keeps its images unless there are others", async (t) => {
    const { send, started, rewound, replaceable, freshened, states } = await openScene(t);
    replaceable.set("m1", { ...stored, content: [picture] });
    const again = { idempotencyKey: "r1", message: "new", replaces: "m1" };
    assert.deepEqual(await send(again), { runId: "r1", status: "started" });
    assert.deepEqual(rewound, [`${CANONICAL} m1`]);
    assert.deepEqual([started[0]?.message, started[0]?.images], ["new", [picture]]);
    assert.deepEqual(freshened, [], "an edit goes on with an expired conversation");
    assert.deepEqual(await send(again), { runId: "r1", status: "in_flight" });
    assert.equal(rewound.length, 1, "a repeated request changes nothing");

    states.clear();
    replaceable.set("m2", { ...stored, content: [picture] });
    await send({ message: "bare", replaces: "m2", attachments: [] });
    assert.equal(started[1]?.images, undefined);
  });

  it("keeps the authority of the replaced message", async (t) => {
    const { send, started, replaceable } = await openScene(t);
    const origin = { kind: "channel", id: "stranger", scopes: [] } as const;
    replaceable.set("m1", { ...stored, origin: { ...origin, scopes: [] } });
    await send({ replaces: "m1" });
    assert.deepEqual(started[0]?.origin, origin);
  });

  it("is refused while a reply is in progress, for commands and for anything but a message of the user", async (t) => {
    const { send, started, rewound, replaceable, states } = await openScene(t);
    replaceable
      .set("m1", stored)
      .set("a1", { ...stored, role: "toolResult", toolCallId: "", toolName: "", isError: false });
    await assert.rejects(send({ replaces: "a1" }), { code: "NOT_FOUND" });
    await assert.rejects(send({ replaces: "nothing" }), { code: "NOT_FOUND" });
    await assert.rejects(send({ replaces: "m1", message: "/new" }), { code: "INVALID_REQUEST", message: /command/ });
    await assert.rejects(send({ replaces: "m1", message: " " }), { code: "INVALID_REQUEST", message: /empty/ });
    states.set("r0", running("r0"));
    await assert.rejects(send({ replaces: "m1" }), { code: "CONFLICT", message: /chat\.abort/ });
    assert.deepEqual([started.length, rewound.length], [0, 0]);
  });
});
