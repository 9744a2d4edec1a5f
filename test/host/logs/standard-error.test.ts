/** Standard error with a reader that is slow, catches up, or has closed the pipe. */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { StandardError } from "../../../host/logs/standard-error.ts";

/** A reader that accepts `room` bytes, then is not ready. */
function reader(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const state = { room: Infinity, read: "", leftOut: [] as number[] };
  const error = new StandardError({
    onLeftOut: (lines) => void state.leftOut.push(lines),
    put(bytes) {
      if (state.room === 0) throw Object.assign(new Error("not ready"), { code: "EAGAIN" });
      const taken = bytes.subarray(0, state.room);
      state.room -= taken.length;
      state.read += taken.toString();
      return taken.length;
    },
  });
  return { error, state, later: () => t.mock.timers.tick(20) };
}

it("a line is written synchronously", (t) => {
  const { error, state } = reader(t);
  error.write("one\n");
  assert.equal(state.read, "one\n");
});

it("lines are buffered in order for a reader that accepts a part", (t) => {
  const { error, state, later } = reader(t);
  state.room = 6;
  for (const line of ["one\n", "two\n", "three\n"]) error.write(line);
  assert.equal(state.read, "one\ntw");
  state.room = 3;
  later();
  assert.equal(state.read, "one\ntwo\nt");
  error.write("four\n");
  state.room = Infinity;
  later();
  assert.equal(state.read, "one\ntwo\nthree\nfour\n");
  assert.deepEqual(state.leftOut, []);
});

it("lines above 1 MiB are dropped, and reported when the reader has caught up", (t) => {
  const { error, state, later } = reader(t);
  state.room = 0;
  const line = `${"x".repeat(1_023)}\n`;
  for (let count = 0; count < 1_030; count += 1) error.write(line);
  later();
  assert.deepEqual(state.leftOut, []);
  state.room = Infinity;
  later();
  assert.equal(state.read.length, 1_048_576);
  assert.deepEqual(state.leftOut, [6]);
  error.write("after\n");
  assert.ok(state.read.endsWith("\nafter\n"));
});

it("with a closed pipe only the lines are lost", () => {
  const error = new StandardError({
    onLeftOut: () => assert.fail("nobody reads it"),
    put() {
      throw Object.assign(new Error("gone"), { code: "EPIPE" });
    },
  });
  error.write("one\n");
  error.write("two\n");
});

it("the process exit waits for a slow reader, not for one that stopped reading", (t) => {
  const { error, state } = reader(t);
  state.room = 0;
  error.write("last\n");
  error.flush(40);
  assert.equal(state.read, "");
  state.room = Infinity;
  error.flush(40);
  assert.equal(state.read, "last\n");
});
