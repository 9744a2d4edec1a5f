import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { Lanes } from "../../../plugins/agents/lanes.ts";

describe("lanes", () => {
  let started: string[];
  let finish: Map<string, () => void>;

  beforeEach(() => {
    started = [];
    finish = new Map();
  });

  const job = (name: string) => () =>
    new Promise<void>((resolve) => {
      started.push(name);
      finish.set(name, resolve);
    });

  async function end(name: string): Promise<void> {
    finish.get(name)?.();
    await tick();
  }

  function open(limit: number): Lanes {
    const lanes = new Lanes(limit);
    lanes.open();
    return lanes;
  }

  it("runs the jobs of one lane one after the other, in order", async () => {
    const lanes = open(4);
    for (const name of ["a1", "a2", "a3"]) lanes.enter("a", job(name));
    assert.deepEqual(started, ["a1"]);
    await end("a1");
    assert.deepEqual(started, ["a1", "a2"]);
    await end("a2");
    assert.deepEqual(started, ["a1", "a2", "a3"]);
  });

  it("runs lanes beside each other up to the limit, first come first served", async () => {
    const lanes = open(2);
    for (const name of ["a", "b", "c", "d"]) lanes.enter(name, job(name));
    assert.deepEqual(started, ["a", "b"]);
    await end("b");
    assert.deepEqual(started, ["a", "b", "c"]);
  });

  it("goes on after a job that rejects", async () => {
    const lanes = open(1);
    lanes.enter("a", () => Promise.reject(new Error("no")));
    lanes.enter("a", job("a2"));
    await tick();
    assert.deepEqual(started, ["a2"]);
  });

  it("takes out a job that waits, and the next of its lane moves up", async () => {
    const lanes = open(1);
    lanes.enter("a", job("a"));
    const leave = lanes.enter("b", job("b1"));
    lanes.enter("b", job("b2"));
    assert.equal(leave(), true);
    assert.equal(leave(), false);
    await end("a");
    assert.deepEqual(started, ["a", "b2"]);
  });

  it("does not take out a job that runs", () => {
    const lanes = open(1);
    assert.equal(lanes.enter("a", job("a"))(), false);
  });

  it("starts nothing before it is open and nothing after it closed", async () => {
    const lanes = new Lanes(1);
    lanes.enter("a", job("a1"));
    lanes.enter("a", job("a2"));
    assert.deepEqual(started, []);
    lanes.open();
    let idle = false;
    const closed = lanes.close().then(() => (idle = true));
    await tick();
    assert.equal(idle, false);
    await end("a1");
    await closed;
    assert.deepEqual(started, ["a1"]);
  });
});
