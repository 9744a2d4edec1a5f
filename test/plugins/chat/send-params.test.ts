import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isGatewayError, matches } from "@svc/sdk";
import { chat } from "@svc/sdk/chat";
import type { Message } from "@svc/sdk/models";
import { publishedViolations } from "../../published.ts";
import { openScene } from "./chat-scene.ts";

const said = (text: string): Message => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const answered = (text: string): Message => ({
  ...said(text),
  role: "assistant",
  api: "a",
  provider: "p",
  model: "m",
  stopReason: "stop",
  content: [{ type: "text", text }],
});

describe("the params of chat.send", () => {
  it("are accepted as the newest clients send them", async (t) => {
    const { send, started } = await openScene(t);
    const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1").toString("base64");
    const params = {
      sessionKey: "agent:main:main",
      sessionId: "s9",
      message: "hi",
      deliver: false,
      idempotencyKey: "r1",
      attachments: [{ type: "image", mimeType: "image/png", fileName: "a.png", content: png }],
    };
    assert.deepEqual(publishedViolations("ChatSendParams", params), []);
    assert.ok(matches(chat.send.params, { ...params, __controlUiReconnectResume: true }));
    assert.equal(matches(chat.send.params, { ...params, other: 1 }), false);
    assert.deepEqual(await send({ ...params, sessionId: "s1" }), { runId: "r1", status: "started" });
    assert.equal(started[0]?.images?.length, 1);
  });

  it("are refused by name for what the gateway does not have", async (t) => {
    const { send, started } = await openScene(t);
    const refused = [
      { fastMode: true },
      { fastMode: "auto" as const },
      { fastAutoOnSeconds: 5 },
      { intent: { kind: "session-goal-start" } },
      { mentions: [{}] },
      { toolBindings: {} },
      { systemInputProvenance: { kind: "external_user" } },
      { systemProvenanceReceipt: "x" },
      { originatingChannel: "pigeon" },
      { originatingTo: "ann" },
      { originatingAccountId: "default" },
      { originatingThreadId: "1" },
      { expectedSessionRoutingContract: "x" },
      { expectedPermissionMode: "full" },
      { expectedToolOverrides: { webSearch: false } },
    ];
    for (const param of refused) {
      const [name = ""] = Object.keys(param);
      const message = `chat.send: \`${name}\` is not supported by this gateway; send without it`;
      await assert.rejects(send(param), { code: "INVALID_REQUEST", message });
    }
    await assert.rejects(send({ agentId: "other" }), { code: "INVALID_REQUEST", message: /belongs to agent "main"/ });
    assert.equal(started.length, 0);
    await send({ fastMode: false, expectedPermissionMode: null, expectedToolOverrides: null, agentId: "MAIN" });
    assert.equal(started.length, 1);
  });

  it("let a message wait, join or interrupt as it asks", async (t) => {
    const { send, started, modes } = await openScene(t);
    modes.configured = "collect";
    for (const queueMode of ["steer", "followup", undefined] as const)
      await send(queueMode === undefined ? {} : { queueMode });
    assert.deepEqual(
      started.map(({ queue }) => queue),
      ["steer", "followup", "collect"],
    );
  });

  it("send a command or a stop request to the agent", async (t) => {
    const { send, started, aborted } = await openScene(t);
    for (const message of ["/new", "stop"])
      await send({ message, suppressCommandInterpretation: true, thinking: "low" });
    assert.deepEqual(
      started.map(({ message, thinking }) => [message, thinking]),
      [
        ["/new", "low"],
        ["stop", "low"],
      ],
    );
    assert.deepEqual(aborted, []);
  });

  it("quote the message that is replied to, with the authority of its author", async (t) => {
    const { send, started, replaceable } = await openScene(t);
    const origin = { kind: "channel", id: "stranger", scopes: [] } as const;
    replaceable
      .set("a1", answered("[[reply_to_current]] One\nTwo"))
      .set("m1", { ...said("x".repeat(600)), origin: { ...origin, scopes: [] } } as Message)
      .set("m2", said(""));
    for (const replyToId of ["a1", "m1", "m2"]) await send({ replyToId, message: "Yes" });
    assert.deepEqual(
      started.map(({ message }) => message),
      ["> One\n> Two\n\nYes", `> ${"x".repeat(500)}...\n\nYes`, "Yes"],
    );
    assert.deepEqual(
      started.map(({ origin: author }) => author?.scopes),
      [undefined, [], undefined],
    );
    await assert.rejects(send({ replyToId: "nothing" }), { code: "NOT_FOUND" });
    await assert.rejects(send({ replyToId: "a1", replaces: "m1" }), { code: "INVALID_REQUEST" });
  });

  it("tell the agent what the person has open", async (t) => {
    const { send, started } = await openScene(t);
    await send({ message: "Why?", workContext: { page: "logs", selection: 'a "b"' } });
    assert.equal(started[0]?.message, 'Why?\n\n[The sender has open: page: "logs", selection: "a \\"b\\""]');
  });
});

describe("a message written for a conversation that went on", () => {
  const conflict = (error: unknown) =>
    isGatewayError(error) &&
    error.code === "CONFLICT" &&
    (error.details as { reason?: string }).reason === "active-leaf-changed";

  it("is refused when the session has another one now, but not before the first and not after a reset by age", async (t) => {
    const { send, started, states, entries, ends } = await openScene(t);
    await assert.rejects(send({ sessionId: "s0" }), conflict);
    await assert.rejects(send({ sessionId: "s0", message: "/status" }), conflict);
    await send({ sessionId: "s0", message: "stop" });
    assert.equal(started.length, 0);
    await send({ sessionId: "s1" });
    states.clear();
    ends.isStale = true;
    await send({ sessionId: "s0" });
    entries.clear();
    await send({ sessionId: "s0", sessionKey: "new" });
    assert.equal(started.length, 3);
  });

  it("is refused when there is a newer message, unless it steers the reply", async (t) => {
    const { send, started, ends } = await openScene(t);
    await assert.rejects(send({ expectedLeafEntryId: "m1" }), conflict);
    await send({ expectedLeafEntryId: null });
    ends.last = "m2";
    await assert.rejects(send({ expectedLeafEntryId: "m1" }), conflict);
    await assert.rejects(send({ expectedLeafEntryId: null }), conflict);
    await send({ expectedLeafEntryId: "m2" });
    await send({ expectedLeafEntryId: "m1", queueMode: "steer" });
    assert.equal(started.length, 3);
  });

  it("is answered as before when it was accepted before", async (t) => {
    const { send, entries } = await openScene(t);
    await send({ idempotencyKey: "r1", sessionId: "s1" });
    entries.set("agent:main:main", { sessionId: "s2", updatedAt: 2 });
    assert.deepEqual(await send({ idempotencyKey: "r1", sessionId: "s1" }), { runId: "r1", status: "in_flight" });
  });
});
