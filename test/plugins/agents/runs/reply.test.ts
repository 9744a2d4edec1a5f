import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Pieces } from "../../../../plugins/agents/runs/reply.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("pieces of a stream", () => {
  it("are told at once, and together where they come faster than the loop turns", async () => {
    const told: string[] = [];
    const pieces = new Pieces((delta) => told.push(delta));
    for (const delta of ["a", "b", "c"]) pieces.add(delta);
    assert.deepEqual(told, ["a"]);
    await turn();
    assert.deepEqual(told, ["a", "bc"]);
    await turn();
    pieces.add("d");
    assert.deepEqual(told, ["a", "bc", "d"]);
  });

  it("are told before something else is, each once", async () => {
    const told: string[] = [];
    const pieces = new Pieces((delta) => told.push(delta));
    for (const delta of ["a", "b"]) pieces.add(delta);
    pieces.flush();
    pieces.flush();
    assert.deepEqual(told, ["a", "b"]);
    await turn();
    await turn();
    assert.deepEqual(told, ["a", "b"]);
  });
});
