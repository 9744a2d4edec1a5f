import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import type { RunEvent, RunOutcome } from "@svc/sdk/agents";
import { chatEvent } from "@svc/sdk/chat";
import { publishedViolations } from "../../published.ts";
import { noPeers } from "../no-peers.ts";
import { createSentRuns } from "../../../plugins/chat/sent-runs.ts";
import { type ChatPayload, createChatStream } from "../../../plugins/chat/stream.ts";

const CANONICAL = "agent:main:main";
const run = { runId: "r1", sessionKey: CANONICAL };
/** What every event of the run has. */
const source = { ...run, agentId: "main" };
const ended: RunOutcome = { ...run, status: "ok", startedAt: 1, endedAt: 9, text: "Hello you" };

function createScene() {
  const time = { elapsed: 0 };
  const sent = createSentRuns(noPeers());
  const events: (ChatPayload & { droppable?: boolean | undefined })[] = [];
  const onEvent = createChatStream({
    clock: { now: () => 5, elapsed: () => time.elapsed },
    sessions: { agentOf: () => "main" },
    sent,
    emit: (payload, audience) => events.push({ ...payload, droppable: audience?.droppable }),
  });
  let seq = 0;
  const step = (fields: Partial<RunEvent>): void =>
    onEvent({ ...run, seq: ++seq, stream: "lifecycle", ts: 5, data: {}, ...fields });
  return {
    sent,
    events,
    texts: () => events.map(({ message }) => message?.content[0]?.text),
    says: (text: string, afterMs = 1_000) => {
      time.elapsed += afterMs;
      step({ stream: "assistant", data: { text, delta: "" } });
    },
    step,
    ends: (outcome: Partial<RunOutcome> = {}) => step({ outcome: { ...ended, ...outcome } }),
  };
}

const FINAL = { state: "final" };
const aborted = (abortReason: string, text = "", mergedInto?: string): Partial<RunOutcome> => ({
  status: "aborted",
  abortReason,
  text,
  ...(mergedInto === undefined ? {} : { mergedInto }),
});
const message = (text: string, timestamp: number) => {
  const content = [{ type: "text", text }];
  return { role: "assistant", content, timestamp };
};

describe("the chat stream of a run", () => {
  it("sends a long text less often, since each delta carries all of it", () => {
    const { says, texts } = createScene();
    const long = "x".repeat(500_000);
    says(long);
    says(`${long}y`, 500);
    says(`${long}yz`, 600);
    const [first, second, ...more] = texts();
    assert.deepEqual([first?.length, second?.length, more], [500_000, 500_002, []]);
  });

  it("sends cumulative deltas and one final with the canonical key and the seq of the event", () => {
    const { events, says, step, ends } = createScene();
    step({ data: { phase: "start" } });
    says("Hello");
    says("Hello you");
    step({ stream: "tool", data: { phase: "start" } });
    ends();
    assert.deepEqual(events, [
      { ...source, seq: 2, state: "delta", message: message("Hello", 5), deltaText: "Hello", droppable: true },
      { ...source, seq: 3, state: "delta", message: message("Hello you", 5), deltaText: " you", droppable: true },
      { ...source, seq: 5, state: "final", message: message("Hello you", 9), droppable: false },
    ]);
  });

  it("says in each delta what is new since the last one that was sent, and when the text is another one", () => {
    const { events, says, step } = createScene();
    says("a");
    says("ab", 10);
    says("abc");
    step({ runId: "r2", stream: "assistant", data: { text: "other" } });
    says("x");
    says("xy");
    const shown = events.map(({ runId, deltaText, replace }) => [runId, deltaText, replace]);
    assert.deepEqual(shown, [
      ["r1", "a", undefined],
      ["r1", "bc", undefined],
      ["r2", "other", undefined],
      ["r1", "x", true],
      ["r1", "y", undefined],
    ]);
  });

  it("is as the newest clients expect it, with the usage and the kind of an error", () => {
    const { events, says, ends } = createScene();
    says("Hello");
    says("Other");
    ends({ usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 } });
    ends({ status: "error", errorMessage: "later", failure: "rate_limit" });
    ends({ status: "error", errorMessage: "no key", failure: "auth" });
    ends(aborted("stop", "Hel"));
    const definitions = { delta: "ChatDeltaEvent", final: "ChatFinalEvent", error: "ChatErrorEvent" };
    for (const { droppable: _own, ...payload } of events) {
      const name = payload.state === "aborted" ? "ChatAbortedEvent" : definitions[payload.state];
      assert.deepEqual(publishedViolations(name, payload), []);
      assert.ok(matches(chatEvent.payload, payload));
    }
    const rest = events.slice(2).map(({ state, usage, errorKind }) => [state, Object(usage).totalTokens, errorKind]);
    assert.deepEqual(rest, [
      ["final", 3, undefined],
      ["error", undefined, "rate_limit"],
      ["error", undefined, undefined],
      ["aborted", undefined, undefined],
    ]);
  });

  it("sends nothing about a quiet run before its end, and no text if it was withdrawn", () => {
    const { events, texts, step, ends } = createScene();
    step({ stream: "assistant", data: { text: "All is", delta: "" }, isQuiet: true });
    ends({ text: "All is well. HEARTBEAT_OK", takenBack: "token" });
    ends({ text: "The plants are dry." });
    assert.deepEqual(texts(), [undefined, "The plants are dry."]);
    assert.ok(events.every(({ state }) => state === "final"));
  });

  it("sends at most one delta in 150 ms for each run", () => {
    const { texts, says, step } = createScene();
    says("a");
    says("ab", 149);
    step({ runId: "r2", stream: "assistant", data: { text: "other" } });
    says("abc", 1);
    says("abcd", 149);
    assert.deepEqual(texts(), ["a", "other", "abc"]);
  });

  it("withholds text that may become the silent reply, and sends a final without message for it", () => {
    const { events, says, ends } = createScene();
    for (const text of ["", "N", "NO_", "NO_REPLY"]) says(text);
    ends({ text: "NO_REPLY" });
    assert.deepEqual(events, [{ ...source, seq: 5, state: "final", droppable: false }]);
  });

  it("shows a reply that only began like the silent one", () => {
    const { texts, says, ends } = createScene();
    says("NO");
    says("NO, not today");
    ends({ text: "NO" });
    assert.deepEqual(texts(), ["NO, not today", "NO"]);
  });

  it("removes directive tags from deltas and finals", () => {
    const { texts, says, ends } = createScene();
    says("[[reply_to_cur");
    says("[[reply_to_current]] Hi");
    ends({ text: "[[reply_to_current]] Hi" });
    assert.deepEqual(texts(), ["Hi", "Hi"]);
  });

  const stopped = (stopReason: string) => ({ state: "aborted", stopReason });
  const failed: Partial<RunOutcome> = { status: "error", errorMessage: "no" };
  const keys: [what: string, outcome: Partial<RunOutcome>, sessionKey: string, rest: object][] = [
    ["a final", {}, CANONICAL, { state: "final", message: message("Hello you", 9) }],
    ["a final without text", { text: " \n" }, CANONICAL, { state: "final" }],
    ["an error of the agent", failed, CANONICAL, { state: "error", errorMessage: "no" }],
    ["an abort", aborted("stop", "Hel"), "main", { ...stopped("stop"), message: message("Hel", 9) }],
    ["an abort without text", aborted("timeout"), "main", stopped("timeout")],
    ["a final without message when its words were collected", aborted("collected", "", "r2"), "main", FINAL],
    ["a final without message when its words were steered", aborted("steered", "", "r2"), "main", FINAL],
    ["an abort when it was left out of a full queue", aborted("dropped", "", "r2"), "main", stopped("dropped")],
    ["an abort half-way to silence", aborted("rpc", "NO_RE"), "main", stopped("rpc")],
  ];
  for (const [what, outcome, sessionKey, rest] of keys) {
    it(`ends with ${what} under the key "${sessionKey}" when it was sent to "main"`, () => {
      const { sent, events, ends } = createScene();
      sent.add("r1", "main", Promise.resolve());
      ends(outcome);
      assert.deepEqual(events, [{ ...source, sessionKey, seq: 1, droppable: false, ...rest }]);
    });
  }

  it("ends with an error under the raw key when the agent was never reached", () => {
    const { sent, events, step } = createScene();
    sent.add("r1", "main", Promise.resolve());
    const { startedAt: _never, ...unstarted } = ended;
    step({ outcome: { ...unstarted, status: "error", text: "", errorMessage: "no model" } });
    assert.deepEqual(events, [
      { ...source, sessionKey: "main", seq: 1, state: "error", errorMessage: "no model", droppable: false },
    ]);
  });

  it("ends runs not sent through chat under their canonical key", () => {
    const { events, ends } = createScene();
    ends({ status: "aborted", abortReason: "rpc", text: "" });
    assert.equal(events[0]?.sessionKey, CANONICAL);
  });

  it("keeps no state of an ended run", () => {
    const { sent, says, ends, texts } = createScene();
    sent.add("r1", "main", Promise.resolve());
    says("a");
    ends({ text: "a" });
    assert.equal(sent.size, 0);
    says("b", 1); // the throttle of the ended run is gone, too
    assert.deepEqual(texts(), ["a", "a", "b"]);
  });
});
