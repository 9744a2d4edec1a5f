import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deliverableReply, replySummary, SUMMARY_CHARS } from "@svc/kit/runs";
import { Turns } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import type { Message } from "@svc/sdk/models";
import type { TranscriptItem } from "@svc/sdk/sessions";
import { unlessStopping } from "../../../plugins/webhook-agent/stopping.ts";
import { runMessage } from "../../../plugins/webhook-agent/prompt.ts";
import { summaryText } from "../../../plugins/webhook-agent/report.ts";
import { judge, toolUse, type ToolUse } from "../../../plugins/webhook-agent/verdict.ts";
import { hookJob, hookParams } from "./surroundings.ts";

describe("the delivered part of a reply", () => {
  const long = "x".repeat(301);
  const cases: [reply: string, text: string | undefined][] = [
    [" All is well. ", "All is well."],
    ["", undefined],
    ["NO_REPLY", undefined],
    ["Done.\n\nNO_REPLY", "Done."],
    ["NO_REPLY is a word", "NO_REPLY is a word"],
    ["HEARTBEAT_OK", undefined],
    ["HEARTBEAT_OK.", undefined],
    ["**HEARTBEAT_OK**", undefined],
    ["<b>HEARTBEAT_OK</b>!", undefined],
    ["HEARTBEAT_OK nothing new", undefined],
    ["Nothing new. HEARTBEAT_OK", undefined],
    [`HEARTBEAT_OK ${long}`, long],
    [`${long}\nHEARTBEAT_OK`, long],
    ["Said HEARTBEAT_OK in the middle", "Said HEARTBEAT_OK in the middle"],
    ["HEARTBEAT_OKAY", "HEARTBEAT_OKAY"],
  ];
  for (const [reply, text] of cases) {
    const what = reply.length > 60 ? `${reply.slice(0, 20)}..${reply.slice(-20)}` : reply;
    it(`${JSON.stringify(what)}: ${text === undefined ? "nothing" : "text"}`, () =>
      assert.equal(deliverableReply(reply), text));
  }
});

describe("the summary", () => {
  it("is cut at 2000 characters", () => {
    assert.equal(replySummary("x".repeat(SUMMARY_CHARS)), "x".repeat(SUMMARY_CHARS));
    assert.equal(replySummary("x".repeat(SUMMARY_CHARS + 1)), `${"x".repeat(SUMMARY_CHARS - 1)}…`);
  });
  const base = { name: "Build", wakeMode: "now", status: "ok", text: "All green" } as const;
  const cases: [changes: object, text: string][] = [
    [{}, "Hook Build: All green"],
    [{ deliveredTo: "pigeon" }, "Hook Build: All green (delivered to pigeon)"],
    [{ status: "timeout", text: "the run timed out" }, "Hook Build (timeout): the run timed out"],
    [{ text: "NO_REPLY" }, "Hook Build: ok"],
    [{ status: "error", text: "" }, "Hook Build (error): error"],
  ];
  for (const [changes, text] of cases) {
    it(`reads "${text}"`, () => assert.equal(summaryText({ ...base, ...changes }), text));
  }
});

describe("the prompt for an agent", () => {
  const job = { ...hookJob, acceptedAt: Date.UTC(2026, 0, 3, 12) };
  const params = { ...hookParams, message: "<<<marked>>>", deliver: false };
  const time = /Current time: \w+day, 2026-01-0\d, \d\d:\d\d \(Asia\/Tokyo\)$/;

  it("has the context before the marked text and the time after it", () => {
    const [context, message, line, ...more] = runMessage(job, params, job.acceptedAt, "Asia/Tokyo").split("\n\n");
    assert.match(context ?? "", /^Task: Build \| Job ID: r1 \| Received: \w{3} 2026-01-0\d \d\d:\d\d .+$/);
    assert.equal(message, params.message);
    assert.match(line ?? "", time);
    assert.deepEqual(more, []);
  });
  it("begins differently if the text is not marked", () => {
    const [message, line] = runMessage({ ...job, wrapped: false }, params, job.acceptedAt, "Asia/Tokyo").split("\n");
    assert.equal(message, "[cron:r1 Build] <<<marked>>>");
    assert.match(line ?? "", time);
  });
});

describe("the verdict on the end of a run", () => {
  const ended: RunOutcome = { runId: "r1", sessionKey: "k", status: "ok", endedAt: 1, text: "" };
  const failed = { status: "error", errorMessage: "no server" } as const;
  const cases: [what: string, outcome: Partial<RunOutcome>, cutOff: boolean, tools: ToolUse, verdict: object][] = [
    ["well", {}, false, "some", { kind: "done" }],
    ["an error that stays", failed, false, "none", { kind: "failed", status: "error", reason: "no server" }],
    ["an error that may pass", { ...failed, retryable: true }, false, "none", { kind: "again", reason: "no server" }],
    ["cut off", failed, true, "none", { kind: "again", reason: "no server" }],
    [
      "its time is over",
      { status: "aborted", abortReason: "timeout" },
      false,
      "none",
      { kind: "failed", status: "timeout", reason: "the run timed out" },
    ],
    [
      "stopped",
      { status: "aborted", abortReason: "rpc" },
      false,
      "none",
      { kind: "failed", status: "aborted", reason: "the run was stopped (rpc)" },
    ],
  ];
  for (const [what, outcome, isInterrupted, tools, verdict] of cases) {
    it(what, () => assert.deepEqual(judge({ outcome: { ...ended, ...outcome }, isInterrupted }, tools, "r1"), verdict));
  }
  const effects: [tools: ToolUse, isInterrupted: boolean, status: string, why: RegExp][] = [
    ["some", true, "interrupted", /^no server; it had called tools, and it may have had effects.*svc hooks replay r1/],
    ["some", false, "error", /it had called tools/],
    ["unknown", true, "interrupted", /whether it had called tools is no longer known/],
  ];
  for (const [tools, isInterrupted, status, why] of effects) {
    it(`is final with tools ${tools}, ${status}`, () => {
      const verdict = judge({ outcome: { ...ended, ...failed, retryable: true }, isInterrupted }, tools, "r1");
      assert.ok(verdict.kind === "failed");
      assert.equal(verdict.status, status);
      assert.match(verdict.reason, why);
    });
  }
});

describe("tool calls of a run", () => {
  const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
  const author = { api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 1 } as const;
  const says: Message = { role: "assistant", content: [{ type: "text", text: "hi" }], ...author };
  const call = { type: "toolCall", id: "1", name: "x", arguments: {} } as const;
  const calls: Message = { role: "assistant", content: [call], ...author };
  const items = (...messages: Message[]): TranscriptItem[] => messages.map((message, id) => ({ id: `${id}`, message }));
  const cases: [what: string, transcript: TranscriptItem[], use: ToolUse][] = [
    ["it spoke", items(user("Job ID: r1"), says), "none"],
    ["it said nothing yet", items(user("Job ID: r1")), "none"],
    ["it called one", items(user("Job ID: r1"), calls, says), "some"],
    ["one before it did", items(user("Job ID: r0"), calls, user("Job ID: r1"), says), "none"],
    ["one after it did", items(user("Job ID: r1"), says, user("hello"), calls), "none"],
    ["its beginning is not there", items(user("hello"), says), "unknown"],
    ["nothing is there", [], "unknown"],
  ];
  for (const [what, transcript, use] of cases)
    it(`${what}: ${use}`, () => assert.equal(toolUse(transcript, "r1"), use));
});

describe("the lock", () => {
  const alive = new AbortController().signal;

  it("admits one webhook per key, in order, and continues after a failure", async () => {
    const lock = new Turns();
    const steps: string[] = [];
    const ends = new Map<string, () => void>();
    const work =
      (name: string, fails = false) =>
      async () => {
        steps.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        if (fails) throw new Error(name);
      };
    const one = lock.take("k", () => unlessStopping(alive, work("one", true)));
    const two = lock.take("k", () => unlessStopping(alive, work("two")));
    const other = lock.take("o", () => unlessStopping(alive, work("other")));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(steps, ["one", "other"]);
    ends.get("one")?.();
    await assert.rejects(one, /one/);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(steps, ["one", "other", "two"]);
    ends.get("two")?.();
    ends.get("other")?.();
    await Promise.all([two, other]);
  });

  it("starts no waiting webhook when the gateway stops", async () => {
    const lock = new Turns();
    const stop = new AbortController();
    let end = () => undefined as void;
    const one = lock.take("k", () =>
      unlessStopping(stop.signal, () => new Promise<void>((resolve) => (end = resolve))),
    );
    const two = lock.take("k", () => unlessStopping(stop.signal, () => Promise.reject(new Error("started"))));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    end();
    await one;
    await assert.rejects(two, { code: "UNAVAILABLE" });
  });
});
