import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createConversation } from "../../../plugins/chat/conversation.ts";
import { createFakeClient, settle } from "./chat-client.ts";

function open(
  answers?: Parameters<typeof createFakeClient>[0],
  options: { thinking?: string; timeoutMs?: number } = {},
) {
  const fake = createFakeClient(answers);
  let ids = 0;
  const conversation = createConversation({
    client: fake.client,
    sessionKey: "main",
    newId: () => `r${++ids}`,
    ...options,
  });
  const texts: string[] = [];
  const tools: unknown[] = [];
  const watcher = { text: (text: string) => void texts.push(text), tool: (data: object) => void tools.push(data) };
  return { ...fake, conversation, texts, tools, send: (message: string) => conversation.send(message, watcher) };
}

describe("a conversation", () => {
  it("sends, receives only the progress of its own run, and resolves with the final event", async () => {
    const { send, says, usesTool, calls, texts, tools, conversation, listeners } = open(
      {},
      { thinking: "low", timeoutMs: 0 },
    );
    assert.equal(await conversation.abort(), false, "there is no reply yet");
    const reply = send("hi");
    assert.equal(conversation.replying, true);
    says("other", "delta", "not mine");
    says("r1", "delta", "Hel");
    usesTool("other", { phase: "start", name: "x" });
    usesTool("r1", { phase: "start", name: "read" });
    says("r1", "final", "Hello");
    assert.deepEqual(await reply, { runId: "r1", status: "ok", text: "Hello" });
    assert.deepEqual(texts, ["Hel"]);
    assert.deepEqual(tools, [{ phase: "start", name: "read" }]);
    const params = { sessionKey: "main", message: "hi", idempotencyKey: "r1", thinking: "low", timeoutMs: 0 };
    assert.deepEqual(calls, [["chat.send", params]]);
    assert.equal(conversation.replying, false);
    assert.equal(listeners.size, 0);
  });

  it("handles the response to a stop request", async () => {
    const { send } = open({ "chat.send": () => ({ ok: true, aborted: true, runIds: ["x"] }) });
    assert.deepEqual(await send("stop"), { runId: "r1", status: "ok", text: "Stopped 1 run." });
  });

  it("passes a refusal on and can send again", async () => {
    const { send, conversation, listeners } = open({ "chat.send": () => Promise.reject(new Error("refused")) });
    await assert.rejects(send("hi"), /refused/);
    assert.equal(conversation.replying, false);
    assert.equal(listeners.size, 0);
  });

  it("rejects a reply in progress when the connection is lost, and calls back", async () => {
    const { send, breaks, conversation } = open();
    let told = 0;
    conversation.onLost(() => told++);
    const reply = send("hi");
    await settle();
    breaks();
    await assert.rejects(reply, { code: "UNAVAILABLE", message: /1012 service restart/ });
    assert.equal(told, 1);
    assert.equal(conversation.lost?.code, "UNAVAILABLE");
  });
});
