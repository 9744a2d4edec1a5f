/** Work that has to end in time. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { withDeadline } from "@svc/kit/time";
import { untilAborted } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";

describe("withDeadline", () => {
  const never = new Promise<never>(() => {});
  /** Does nothing but end with its signal, or fail in words of its own. */
  const obedient = (signal: AbortSignal) => untilAborted(never, signal);
  const rewording = (signal: AbortSignal) => obedient(signal).catch(() => Promise.reject(new Error("it broke off")));
  const leaving = new Error("the caller left");

  type Work = (signal: AbortSignal) => Promise<unknown>;
  const rows: [name: string, work: Work, end: "late" | "left" | "none", outcome: object][] = [
    ["gives what the work gives", () => Promise.resolve(7), "none", { value: 7 }],
    ["throws what the work throws", () => Promise.reject(new Error("no")), "none", { message: "no" }],
    ["refuses at the deadline", obedient, "late", { code: "UNAVAILABLE", message: "no answer within 5 s" }],
    ["whatever the work makes of it", rewording, "late", { code: "UNAVAILABLE", message: "no answer within 5 s" }],
    ["throws the reason of its signal", obedient, "left", { message: "the caller left" }],
    ["whatever the work makes of that", rewording, "left", { message: "the caller left" }],
  ];
  for (const [name, work, end, outcome] of rows) {
    it(name, async () => {
      const clock = createFakeClock();
      const [caller, stopping] = [new AbortController(), new AbortController()];
      const signals = [stopping.signal, caller.signal];
      const late = () => "no answer within 5 s";
      const done = withDeadline({ ms: 5_000, clock, signals, late }, work);
      const settled = done.then(
        (value) => ({ value }),
        ({ code, message }) => ({ ...(code && { code }), message }),
      );
      if (end === "late") await clock.advance(5_000);
      if (end === "left") caller.abort(leaving);
      assert.deepEqual(await settled, outcome);
      assert.equal(clock.pending, 0);
      for (const signal of signals) assert.equal(getEventListeners(signal, "abort").length, 0);
    });
  }

  it("begins nothing for a caller that has left", async () => {
    const begun: unknown[] = [];
    const limits = { ms: 1, clock: createFakeClock(), signals: [AbortSignal.abort(leaving)], late: () => "" };
    await assert.rejects(
      withDeadline(limits, async (signal) => begun.push(signal)),
      leaving,
    );
    assert.deepEqual(begun, []);
  });
});
