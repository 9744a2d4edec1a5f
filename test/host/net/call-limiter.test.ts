/** Spec: protocol/authorization.md §4; http/auth.md §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CONTROL_PLANE_WRITES } from "@svc/sdk";
import { CallLimiter, limitKey, limitRefusal } from "../../../host/net/ws/call-limiter.ts";

const LIMIT = { bucket: "control-plane-write", calls: 3, windowMs: 60_000 };

function scene(maxKeys?: number) {
  const clock = { now: 0, elapsed: () => clock.now };
  const limiter = new CallLimiter(clock, maxKeys);
  return { clock, limiter, take: (key = "a", limit = LIMIT) => limiter.take(limit, key)?.retryAfterMs };
}

describe("a budget of calls", () => {
  it("is 3 per 60 s for methods that may restart the gateway", () =>
    assert.deepEqual({ ...CONTROL_PLANE_WRITES }, LIMIT));

  it("is a fixed window that starts at the first call in it [H9.3]", () => {
    const { clock, take } = scene();
    clock.now = 59_000;
    assert.deepEqual([take(), take(), take(), take()], [undefined, undefined, undefined, 60_000]);
    clock.now = 118_999;
    assert.equal(take(), 1);
    clock.now = 119_000;
    assert.deepEqual([take(), take(), take(), take()], [undefined, undefined, undefined, 60_000]);
  });

  it("is not reduced further by refused calls", () => {
    const { clock, take } = scene();
    for (let n = 0; n < 100; n++) take();
    clock.now = 60_000;
    assert.equal(take(), undefined);
  });

  it("belongs to a key and a bucket", () => {
    const { take } = scene();
    for (let n = 0; n < 3; n++) take("a");
    assert.deepEqual([take("a"), take("b"), take("a", { ...LIMIT, bucket: "other" })], [60_000, undefined, undefined]);
  });

  it("of zero calls allows none", () => assert.equal(scene().take("a", { ...LIMIT, calls: 0 }), 60_000));

  it("is stored for a bounded number of keys: ended windows are dropped first, then the oldest", () => {
    const { clock, limiter, take } = scene(3);
    take("ended", { ...LIMIT, windowMs: 10 });
    clock.now = 5;
    for (const key of ["a", "a", "a", "b"]) take(key);
    clock.now = 10;
    take("c");
    assert.equal(limiter.size, 3);
    assert.ok(take("a"));
    take("d");
    assert.deepEqual([limiter.size, take("b"), take("a")], [3, undefined, undefined]); // `a` was the oldest
    for (let n = 0; n < 1_000; n++) take(String(n));
    assert.equal(limiter.size, 3);
  });
});

describe("the oldest window", () => {
  it("is the one that began first, not the key that came first", () => {
    const { clock, take } = scene(3);
    take("a", { ...LIMIT, windowMs: 10 });
    for (const key of ["b", "b", "b"]) take(key);
    clock.now = 10;
    for (const key of ["a", "a", "a"]) take(key); // its second window
    for (const key of ["c", "d"]) take(key);
    assert.ok(take("a"));
    assert.equal(take("b"), undefined); // forgotten
  });
});

describe("the key of a budget [H9.2]", () => {
  const connectionId = "c1";
  const rows: [why: string, origin: Parameters<typeof limitKey>[0], key: string][] = [
    ["device and address", { deviceId: "d", clientAddress: "10.0.0.1", local: false, connectionId }, "d|10.0.0.1"],
    [
      "a device on this machine",
      { deviceId: "d", clientAddress: "127.0.0.1", local: true, connectionId },
      "d|unknown-ip",
    ],
    [
      "an address without device",
      { deviceId: undefined, clientAddress: "10.0.0.1", local: false, connectionId },
      "unknown-device|10.0.0.1",
    ],
    [
      "neither: the connection",
      { deviceId: undefined, clientAddress: "127.0.0.1", local: true, connectionId },
      "unknown-device|unknown-ip|conn=c1",
    ],
    [
      "an unnamed address behind a proxy: the connection",
      { deviceId: undefined, clientAddress: undefined, local: false, connectionId },
      "unknown-device|unknown-ip|conn=c1",
    ],
    ["an empty address", { deviceId: "d", clientAddress: "", local: false, connectionId }, "d|unknown-ip"],
  ];
  for (const [why, origin, key] of rows) it(why, () => assert.equal(limitKey(origin), key));
});

it("a call over its budget is never asked to retry after 0 seconds", () =>
  assert.match(limitRefusal("x", LIMIT, 0.4).message, /retry after 1s$/));
