import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { withDefaults } from "@svc/sdk";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import { laneLimit, Lanes } from "../../../../plugins/agents/runs/queue.ts";

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

  function open(limit: number | ((lane: string) => number)): Lanes {
    const lanes = new Lanes(typeof limit === "number" ? () => limit : limit);
    lanes.open();
    return lanes;
  }

  it("run the jobs of a lane in order, at most as many as it has places", async () => {
    const lanes = open(2);
    for (const name of ["a", "b", "c", "d"]) lanes.enter("main", job(name));
    assert.deepEqual(started, ["a", "b"]);
    await end("b");
    assert.deepEqual(started, ["a", "b", "c"]);
  });

  it("do not hold each other up", () => {
    const lanes = open((lane) => (lane === "main" ? 1 : 2));
    for (const name of ["a", "b"]) lanes.enter("main", job(name));
    for (const name of ["x", "y", "z"]) lanes.enter("subagent", job(name));
    assert.deepEqual(started, ["a", "x", "y"]);
  });

  it("take a raised limit at once and a lowered one with the next place", async () => {
    let limit = 1;
    const lanes = open(() => limit);
    for (const name of ["a", "b", "c"]) lanes.enter("main", job(name));
    limit = 3;
    lanes.refill();
    assert.deepEqual(started, ["a", "b", "c"]);
    limit = 1;
    lanes.enter("main", job("d"));
    await end("a");
    await end("b");
    assert.deepEqual(started, ["a", "b", "c"]);
    await end("c");
    assert.deepEqual(started, ["a", "b", "c", "d"]);
  });

  it("let a job through beyond their places whose end somebody inside waits for", async () => {
    const lanes = open(1);
    lanes.enter("nested", job("outer"));
    lanes.enter("nested", job("other"));
    lanes.enter("nested", job("inner"), true);
    assert.deepEqual(started, ["outer", "inner"]);
    await end("inner");
    assert.deepEqual(started, ["outer", "inner"], "its end frees no place");
    await end("outer");
    assert.deepEqual(started, ["outer", "inner", "other"]);
  });

  it("go on after a job that rejects", async () => {
    const lanes = open(1);
    lanes.enter("a", () => Promise.reject(new Error("no")));
    lanes.enter("a", job("a2"));
    await tick();
    assert.deepEqual(started, ["a2"]);
  });

  it("take out a job that waits, once, and none that runs", async () => {
    const lanes = open(1);
    const leaveFirst = lanes.enter("a", job("a1"));
    const leave = lanes.enter("a", job("a2"));
    lanes.enter("a", job("a3"));
    assert.deepEqual([leaveFirst(), leave(), leave()], [false, true, false]);
    await end("a1");
    assert.deepEqual(started, ["a1", "a3"]);
  });

  it("start nothing before they are open and nothing after they closed", async () => {
    const lanes = new Lanes(() => 1);
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

  it("have the places the configuration gives them", () => {
    const { defaults } = withDefaults(AgentsConfig, {
      defaults: { maxConcurrent: 7, subagents: { maxConcurrent: 3 } },
    });
    const limits = ["main", "hook", "subagent", "cron", "nested", "mine"].map((lane) => laneLimit(lane, defaults));
    assert.deepEqual(limits, [7, 7, 3, 1_000, 1, 1]);
  });
});
