/** One signal of several, which leaves nothing on them. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { AnySignal } from "@svc/kit/time";

describe("AnySignal", () => {
  const leaving = new Error("the caller left");
  const rows: [name: string, end: (any: AnySignal, source: AbortController) => void, reason: unknown][] = [
    ["aborts with a source, for its reason", (_, source) => source.abort(leaving), leaving],
    ["aborts by itself", (any) => any.abort(leaving), leaving],
    ["keeps its first reason", (any, source) => (any.abort(leaving), source.abort(new Error("late"))), leaving],
    ["hears nothing once it is released", (any, source) => (any.release(), source.abort(leaving)), undefined],
  ];
  for (const [name, end, reason] of rows) {
    it(name, () => {
      const [first, second] = [new AbortController(), new AbortController()];
      const any = new AnySignal(first.signal, undefined, second.signal);
      assert.equal(any.signal.aborted, false);
      end(any, second);
      assert.equal(any.signal.reason, reason);
      for (const { signal } of [first, second]) assert.equal(getEventListeners(signal, "abort").length, 0);
    });
  }

  it("is aborted from the beginning by a source that is", () => {
    const source = new AbortController();
    assert.equal(new AnySignal(source.signal, AbortSignal.abort(leaving)).signal.reason, leaving);
    assert.equal(getEventListeners(source.signal, "abort").length, 0);
  });
});
