/** The events stored for clients that lost their socket, and for how long. Spec: spec/README.md "seq". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineEvent, Type } from "@svc/sdk";
import { type ReplayEntry, ReplayLog } from "../../../host/net/ws/replay.ts";

const event = defineEvent({ name: "demo", summary: "-", payload: Type.Unknown() });
const add = (log: ReplayLog, text = "1"): ReplayEntry => {
  const emission = { event, text, isForAll: true, connections: undefined, isDroppable: false };
  const entry = { n: log.cursor.n + 1, seq: undefined, emission };
  log.append(entry);
  return entry;
};
const fill = (log: ReplayLog, times: number, text?: string) => {
  for (let turn = 0; turn < times; turn++) add(log, text);
};

describe("the replay log", () => {
  it("returns the events after a cursor, oldest first", () => {
    const log = new ReplayLog();
    fill(log, 2);
    const { cursor } = log;
    fill(log, 3);
    assert.deepEqual(
      log.since(cursor)?.map(({ n }) => n),
      [3, 4, 5],
    );
    assert.deepEqual(log.since(log.cursor), []);
    assert.deepEqual(log.since({ epoch: log.epoch, n: 0 })?.length, 5);
  });

  const unknown: [why: string, cursor: (log: ReplayLog) => { epoch: string; n: number }][] = [
    ["of another process", ({ cursor: { n } }) => ({ epoch: "other", n })],
    ["in the future", ({ cursor: { epoch, n } }) => ({ epoch, n: n + 1 })],
  ];
  for (const [why, cursor] of unknown) {
    it(`returns undefined for a cursor ${why}`, () => {
      const log = new ReplayLog();
      fill(log, 3);
      assert.equal(log.since(cursor(log)), undefined);
    });
  }

  it("of gateways that share a state knows cursors that another one gave, up to 10,000 positions ahead", () => {
    const log = new ReplayLog({ epoch: "e", n: 500, isShared: true });
    fill(log, 2);
    log.reach(510); // an event for named connections is not stored
    assert.deepEqual(log.cursor, { epoch: "e", n: 510 });
    assert.deepEqual(
      [500, 501, 510, 10_510, 499, 10_511].map((n) => log.since({ epoch: "e", n })?.length),
      [2, 1, 0, 0, undefined, undefined],
    );
  });

  it("stores 1000 events: one more drops only the oldest", () => {
    const log = new ReplayLog();
    const first = log.cursor;
    fill(log, 1_000);
    assert.equal(log.since(first)?.length, 1_000);
    fill(log, 1);
    assert.equal(log.since(first), undefined);
    assert.equal(log.since({ ...first, n: 1 })?.length, 1_000);
  });

  it("is correct at every cursor, over many times its size", () => {
    const log = new ReplayLog();
    for (let n = 1; n <= 3_500; n++) {
      add(log);
      const oldest = Math.max(0, n - 1_000);
      assert.equal(log.since({ epoch: log.epoch, n: oldest })?.[0]?.n, oldest + 1);
      if (oldest > 0) assert.equal(log.since({ epoch: log.epoch, n: oldest - 1 }), undefined);
    }
  });

  it("stores 8 MiB, and no event that is larger", () => {
    const log = new ReplayLog();
    const first = log.cursor;
    const mib = "x".repeat(1_048_576);
    fill(log, 8, mib);
    assert.equal(log.since(first)?.length, 8);
    fill(log, 1, mib);
    assert.equal(log.since(first), undefined);
    assert.equal(log.since({ ...first, n: 1 })?.length, 8);
    fill(log, 1, "x".repeat(8_388_609));
    assert.deepEqual([log.since({ ...first, n: 9 }), log.since(log.cursor)], [undefined, []]);
    fill(log, 1);
    assert.equal(log.since({ ...first, n: 10 })?.length, 1);
  });

  it("frees the memory of dropped events", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const log = new ReplayLog();
    const went = Array.from({ length: 20 }, () => new WeakRef(add(log, "x".repeat(1_048_576))));
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.equal(went.filter((ref) => ref.deref() !== undefined).length, 8);
  });
});
