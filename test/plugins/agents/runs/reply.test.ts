import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "../fake-clock.ts";
import { Pieces } from "../../../../plugins/agents/runs/reply.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("pieces of a stream", () => {
  it("are told at once, and together where they come faster than the loop turns", async () => {
    const told: string[] = [];
    const pieces = new Pieces(
      (delta) => told.push(delta),
      () => 499,
      createFakeClock(),
    );
    for (const delta of ["a", "b", "c"]) pieces.add(delta);
    assert.deepEqual(told, ["a"]);
    await turn();
    assert.deepEqual(told, ["a", "bc"]);
    await turn();
    pieces.add("d");
    assert.deepEqual(told, ["a", "bc", "d"]);
  });

  it("are told the more seldom the longer the text is, so that what is sent of it is bounded", () => {
    const clock = createFakeClock();
    let chars = 0;
    let sent = 0;
    const pieces = new Pieces(
      () => (sent += chars),
      () => chars,
      clock,
    );
    for (let ms = 0; ms < 10_000; ms += 1) {
      chars += 200; // 2,000,000 in 10 s
      pieces.add("x".repeat(200));
      clock.advance(1);
    }
    pieces.flush();
    assert.ok(sent >= chars && sent < 4 * chars, `${sent} characters were sent of ${chars}`);
    assert.equal(clock.pending(), 0);
  });

  it("are told before something else is, each once", async () => {
    const told: string[] = [];
    const pieces = new Pieces(
      (delta) => told.push(delta),
      () => 0,
      createFakeClock(),
    );
    for (const delta of ["a", "b"]) pieces.add(delta);
    pieces.flush();
    pieces.flush();
    assert.deepEqual(told, ["a", "b"]);
    await turn();
    await turn();
    assert.deepEqual(told, ["a", "b"]);
  });
});
