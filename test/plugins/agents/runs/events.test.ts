import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunEvent, RunOutcome } from "@svc/sdk/agents";
import type { SessionEntry } from "@svc/sdk/sessions";
import { RunEvents, visibilityOf } from "../../../../plugins/agents/runs/events.ts";
import { publishedViolations } from "../../../published.ts";
import { MAIN } from "../script.ts";

function open() {
  const traced: RunEvent[] = [];
  const sent: { event: RunEvent; to: readonly string[] | undefined }[] = [];
  const events = new RunEvents(
    { runId: "r1", sessionKey: MAIN },
    {
      passOn: () => undefined,
      trace: (event) => void traced.push(event),
      broadcast: (event, audience) => void sent.push({ event: event as RunEvent, to: audience?.connections }),
      agentOf: () => "main",
      now: () => 5,
    },
  );
  return { events, traced, sent };
}

const result = { phase: "result", name: "read", toolCallId: "c1", isError: false, result: { content: [] } };
const outcome: RunOutcome = { runId: "r1", sessionKey: MAIN, status: "ok", startedAt: 1, endedAt: 4, text: "hi" };

describe("run events", () => {
  it("are numbered from 1 and broadcast to everybody", () => {
    const { events, traced, sent } = open();
    events.emit("lifecycle", { phase: "start", startedAt: 1 });
    events.emit("assistant", { text: "hi", delta: "hi" });
    assert.deepEqual(traced[1], {
      runId: "r1",
      seq: 2,
      stream: "assistant",
      ts: 5,
      data: { text: "hi", delta: "hi" },
      sessionKey: MAIN,
      agentId: "main",
    });
    assert.deepEqual(
      sent.map(({ event, to }) => [event.seq, to]),
      [
        [1, undefined],
        [2, undefined],
      ],
    );
  });

  it("are as the newest clients expect them, with the id of the session once it is known", () => {
    const { events, sent } = open();
    events.emit("lifecycle", { phase: "start", startedAt: 1 });
    events.sessionId = "s1";
    events.end({ ...outcome, stopReason: "length" });
    assert.deepEqual(
      sent.map(({ event }) => event.sessionId),
      [undefined, "s1"],
    );
    assert.deepEqual(sent[1]?.event.data, { phase: "end", startedAt: 1, endedAt: 4, stopReason: "length" });
    for (const { event } of sent) assert.deepEqual(publishedViolations("AgentEvent", event), []);
  });

  it("go to hooks with the outcome on the last one, and to clients without", () => {
    const { events, traced, sent } = open();
    events.end(outcome);
    assert.deepEqual(traced[0]?.outcome, outcome);
    assert.deepEqual(traced[0]?.data, { phase: "end", startedAt: 1, endedAt: 4 });
    assert.equal(sent[0] && "outcome" in sent[0].event, false);
  });

  const ends: [string, RunOutcome, object][] = [
    ["an error", { ...outcome, status: "error", errorMessage: "no" }, { phase: "error", error: "no" }],
    ["an abort", { ...outcome, status: "aborted", abortReason: "rpc" }, { phase: "end", aborted: true }],
  ];
  for (const [what, ended, data] of ends) {
    it(`tell ${what} as it was`, () => {
      const { events, sent } = open();
      events.end(ended);
      assert.deepEqual(sent[0]?.event.data, { startedAt: 1, endedAt: 4, ...data });
    });
  }

  it("about tools go only to connections that take part, without results", () => {
    const { events, traced, sent } = open();
    events.emit("tool", result);
    assert.equal(sent.length, 0);
    events.join("ws-1");
    events.join(undefined);
    events.emit("tool", result);
    const { result: _hidden, ...shown } = result;
    assert.deepEqual([sent[0]?.to, sent[0]?.event.data], [["ws-1"], shown]);
    assert.deepEqual(traced[1]?.data, result);
  });

  it("show results and thinking to clients that want them", () => {
    const { events, sent } = open();
    events.join("ws-1");
    events.emit("thinking", { text: "hm", delta: "hm" });
    events.visibility = { toolResults: true, thinking: true };
    events.emit("thinking", { text: "hm", delta: "hm" });
    events.emit("tool", result);
    assert.deepEqual(
      sent.map(({ event }) => event.data),
      [{ text: "hm", delta: "hm" }, result],
    );
  });

  it("are as verbose as the session says, then `agents.defaults.verboseDefault`, then not", () => {
    const entry = (fields: object): SessionEntry => ({ sessionId: "s", updatedAt: 1, ...fields });
    assert.equal(visibilityOf(entry({ verboseLevel: "full" }), "off").toolResults, true);
    assert.equal(visibilityOf(entry({ verboseLevel: "on" }), "full").toolResults, false);
    assert.equal(visibilityOf(entry({}), "full").toolResults, true);
    assert.equal(visibilityOf(undefined, undefined).toolResults, false);
    assert.equal(visibilityOf(entry({ reasoningLevel: "stream" }), undefined).thinking, true);
  });
});
