import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { publishedViolations } from "../../published.ts";
import { openScene } from "./chat-scene.ts";

describe("chat.abort", () => {
  it("aborts one run by its id, or every run of exactly this raw key", async (t) => {
    const { send, abort, aborted } = await openScene(t);
    await send({ idempotencyKey: "r1" });
    await send({ idempotencyKey: "r2" });
    await send({ idempotencyKey: "r3", sessionKey: "agent:main:main" });
    assert.deepEqual(await abort({ sessionKey: "main", runId: "r2" }), { ok: true, aborted: true, runIds: ["r2"] });
    assert.deepEqual(aborted.splice(0), ["r2 rpc"]);
    assert.deepEqual(await abort({ sessionKey: "main" }), { ok: true, aborted: true, runIds: ["r1", "r2"] });
    assert.deepEqual(aborted, ["r1 rpc", "r2 rpc"]);
  });

  for (const other of ["agent:main:main", "other"]) {
    it(`refuses a run of "main" asked for as "${other}", and still finds it when its id was sent again so`, async (t) => {
      const { send, abort, aborted } = await openScene(t);
      await send({ idempotencyKey: "r1" });
      await assert.rejects(abort({ sessionKey: other, runId: "r1" }), { code: "INVALID_REQUEST" });
      await send({ idempotencyKey: "r1", sessionKey: other }).catch(() => undefined);
      assert.deepEqual(aborted, []);
      assert.deepEqual(await abort({ sessionKey: "main", runId: "r1" }), { ok: true, aborted: true, runIds: ["r1"] });
      assert.deepEqual(aborted, ["r1 rpc"]);
    });
  }

  it("takes what the newest clients send, and refuses another agent", async (t) => {
    const { send, abort, aborted } = await openScene(t);
    await send({ idempotencyKey: "r1" });
    await assert.rejects(abort({ sessionKey: "main", agentId: "other" }), { code: "INVALID_REQUEST" });
    const params = { sessionKey: "main", agentId: "main", preserveSideRuns: true };
    assert.deepEqual(publishedViolations("ChatAbortParams", params), []);
    await abort(params);
    assert.deepEqual(aborted, ["r1 rpc"]);
  });

  it("returns that nothing was aborted for an unknown run, a finished one and an idle session", async (t) => {
    const { send, abort, states, sent } = await openScene(t);
    await send({ idempotencyKey: "r1" });
    states.set("r1", { runId: "r1", sessionKey: "agent:main:main", source: "chat", status: "ok" });
    sent.delete("r1");
    const nothing = { ok: true, aborted: false, runIds: [] };
    assert.deepEqual(await abort({ sessionKey: "main", runId: "r0" }), nothing);
    assert.deepEqual(await abort({ sessionKey: "main", runId: "r1" }), nothing);
    assert.deepEqual(await abort({ sessionKey: "main" }), nothing);
  });

  it("does not abort runs that chat.send did not start", async (t) => {
    const { abort, states, aborted } = await openScene(t);
    states.set("a1", { runId: "a1", sessionKey: "agent:main:main", source: "agent", status: "running" });
    for (const params of [{ sessionKey: "agent:main:main" }, { sessionKey: "agent:main:main", runId: "a1" }]) {
      assert.deepEqual(await abort(params), { ok: true, aborted: false, runIds: [] });
    }
    assert.deepEqual(aborted, []);
  });

  it("uses the canonical key for a run sent before the plugin was loaded", async (t) => {
    const { abort, states } = await openScene(t);
    states.set("r1", { runId: "r1", sessionKey: "agent:main:main", source: "chat", status: "running" });
    assert.deepEqual(await abort({ sessionKey: "agent:main:main" }), { ok: true, aborted: true, runIds: ["r1"] });
    await assert.rejects(abort({ sessionKey: "main", runId: "r1" }), { code: "INVALID_REQUEST" });
  });

  it("waits for a run that is being accepted", async (t) => {
    const { send, abort, gate } = await openScene(t);
    let accept = () => undefined as void;
    const accepted = new Promise<void>((resolve) => (accept = resolve));
    gate.open = () => accepted;
    const sending = send({ idempotencyKey: "r1" });
    await new Promise((resolve) => setTimeout(resolve, 50)); // after the reads from storage
    const aborting = abort({ sessionKey: "main" });
    accept();
    assert.deepEqual(await aborting, { ok: true, aborted: true, runIds: ["r1"] });
    assert.deepEqual(await sending, { runId: "r1", status: "started" });
  });
});

describe("a stop request", () => {
  it("aborts the runs of the same raw key and starts none", async (t) => {
    const { send, aborted, started } = await openScene(t);
    assert.deepEqual(await send({ message: "/stop" }), { ok: true, aborted: false, runIds: [] }, "nothing to stop");
    await send({ idempotencyKey: "r1" });
    assert.deepEqual(await send({ message: "Stop!" }), { ok: true, aborted: true, runIds: ["r1"] });
    assert.deepEqual(aborted, ["r1 stop"]);
    assert.equal(started.length, 1);
  });
});

describe("chat.inject", () => {
  it("appends an assistant message and sends it as a separate final event", async (t) => {
    const { inject, transcript, events } = await openScene(t);
    const answer = await inject({ sessionKey: "main", message: "done", label: "cron" });
    assert.deepEqual(answer, { ok: true, messageId: "0000abcd" });
    const content = [{ type: "text", text: "[cron]\n\ndone" }];
    assert.deepEqual(transcript, [
      {
        role: "assistant",
        content,
        api: "openai-responses",
        provider: "svc",
        model: "gateway-injected",
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
        stopReason: "stop",
        timestamp: 1_000,
      },
    ]);
    const message = { role: "assistant", content, timestamp: 1_000 };
    const source = { runId: "inject-0000abcd", sessionKey: "main", agentId: "main" };
    assert.deepEqual(events, [{ ...source, seq: 0, state: "final", message }]);
  });

  it("refuses a session that does not exist", async (t) => {
    const { inject, transcript } = await openScene(t);
    await assert.rejects(inject({ sessionKey: "nobody", message: "x" }), { code: "NOT_FOUND" });
    assert.deepEqual(transcript, []);
  });
});
