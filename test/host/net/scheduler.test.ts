/** Which connection is served while some keep the event loop busy. Work is counted in real milliseconds, so the tests check only the order. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { type Share, shareOf } from "../../../host/net/scheduler.ts";

/** Longer than a turn. */
const LONG_MS = 7;

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function newShare(remoteAddress?: string): Share {
  return shareOf(Object.assign(new PassThrough(), { remoteAddress }));
}

/** A socket whose reader is busy with each chunk, and the chunks that were read. */
function busyReader() {
  const socket = new PassThrough();
  const share = shareOf(socket);
  const seen: string[] = [];
  socket.on("data", (chunk: Buffer) => {
    seen.push(String(chunk));
    busy(LONG_MS);
  });
  share.watch(socket);
  return { socket, share, seen };
}

/** A share that has kept the loop busy. Others have had their turn since. */
async function greedyShare(): Promise<Share> {
  const share = newShare();
  share.run(() => busy(LONG_MS));
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  return share;
}

describe("turns at the event loop", () => {
  it("are not needed by a connection that causes little work", () => {
    let done = 0;
    const share = newShare();
    for (let index = 0; index < 10; index++) share.run(() => done++);
    assert.equal(done, 10);
  });

  it("keep the order of a connection's work", async () => {
    const share = newShare();
    const order: number[] = [];
    for (let index = 0; index < 4; index++)
      share.run(() => {
        busy(2);
        order.push(index);
      });
    assert.notEqual(order.length, 4);
    await new Promise<void>((resolve) => share.run(resolve));
    assert.deepEqual(order, [0, 1, 2, 3]);
  });

  it("go first to the connection with the least recent work", async () => {
    const [greedy, modest] = [await greedyShare(), newShare()];
    const order: string[] = [];
    const both = new Promise<void>((resolve) => {
      for (let index = 0; index < 3; index++)
        greedy.run(() => {
          busy(2);
          order.push("greedy");
        });
      greedy.run(resolve);
      greedy.measure(() => busy(LONG_MS)); // the loop is busy, so the next share waits, too
      modest.run(() => order.push("modest"));
    });
    await both;
    assert.deepEqual(order, ["modest", "greedy", "greedy", "greedy"]);
  });

  it("are passed at once by a light connection, and waited for by a greedy one", async () => {
    assert.equal(newShare().pass(), undefined);
    const greedy = await greedyShare();
    newShare().measure(() => busy(LONG_MS)); // the loop is busy
    const turn = greedy.pass();
    assert.ok(turn);
    await turn;
  });

  it("are given to a connection that keeps the loop busy, however many others there are", async () => {
    const greedy = await greedyShare();
    newShare().measure(() => busy(LONG_MS)); // the loop is busy, so all wait
    let isServed = false;
    let before = 0;
    const others = Array.from(
      { length: 200 },
      (_, index) =>
        new Promise<void>((resolve) =>
          newShare(`2001:db8:${index}::1`).run(() => {
            resolve();
            if (isServed) return;
            before += 1;
            busy(3); // longer than a turn
          }),
        ),
    );
    await new Promise<void>((resolve) => greedy.run(resolve));
    isServed = true;
    await Promise.all(others);
    assert.ok(before < 100, `${before} others were served before it`);
  });

  it("are given to each network, regardless of the number of its connections", async () => {
    const order: string[] = [];
    const flood = Array.from({ length: 50 }, (_, index) => newShare(`2001:db8::${index}`));
    const other = newShare("2001:db8:1::1");
    newShare().measure(() => busy(LONG_MS)); // the loop is busy, so all wait
    for (const share of flood) share.run(() => order.push("flood"));
    await new Promise<void>((resolve) =>
      other.run(() => {
        order.push("other");
        resolve();
      }),
    );
    assert.deepEqual(order, ["flood", "other"]);
  });

  it("pause the reading of a waiting connection, and resume it", async () => {
    const { socket, seen } = busyReader();
    await new Promise(setImmediate); // the turn of the test before is over
    socket.write("first");
    await new Promise(process.nextTick);
    assert.deepEqual([seen, socket.isPaused()], [["first"], true]);
    socket.write("second");
    while (seen.length < 2) await new Promise(setImmediate);
    assert.deepEqual(seen, ["first", "second"]);
  });

  it("continue after work that throws", async (t) => {
    const thrown: unknown[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => thrown.push(error));
    t.after(() => {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
    });
    const share = await greedyShare();
    const failure = new Error("broken");
    share.run(() => {
      throw failure;
    });
    await new Promise<void>((resolve) => share.run(resolve));
    assert.deepEqual(thrown, [failure]);
  });

  it("delay what a connection sent after work that takes several turns", async () => {
    const share = newShare();
    const order: string[] = [];
    const held = share.hold(
      (async () => {
        await share.turn();
        order.push("part");
        await share.turn();
        order.push("part");
      })(),
    );
    await new Promise<void>((resolve) =>
      share.run(() => {
        order.push("next");
        resolve();
      }),
    );
    await held;
    assert.deepEqual(order, ["part", "part", "next"]);
  });

  it("drop what a connection sent when it leaves", async () => {
    const share = await greedyShare();
    share.run(() => assert.fail("it has left"));
    share.leave();
    await share.turn();
  });

  it("do not resume a stopped connection", async () => {
    const { socket, share, seen } = busyReader();
    socket.on("data", () => share.stop());
    socket.write("first");
    socket.write("second");
    await share.turn();
    await share.turn();
    await new Promise(setImmediate);
    assert.deepEqual([seen, socket.isPaused()], [["first"], true]);
  });
});
