/** Spec: protocol/authorization.md §5; http/auth.md §6. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, it } from "node:test";
import { array, assert as check, constantFrom, integer, property, tuple } from "fast-check";
import { proxyPolicy, resolvePeer } from "../../../host/auth/client-address.ts";
import {
  FailureLimiter,
  HOOK_LIMITER,
  LIMITER_DEFAULTS,
  limiterKey,
  type LimiterSettings,
  type Reservation,
} from "../../../host/auth/failure-limiter.ts";

const FAR = "203.0.113.7";

function scene(settings: Partial<LimiterSettings> = {}) {
  const clock = { now: 0, elapsed: () => clock.now };
  const limiter = new FailureLimiter(settings, clock);
  const reserve = (address: string | undefined = FAR): Reservation => {
    const attempt = limiter.reserve("shared-secret", address);
    assert.ok(!attempt.locked, "it is locked");
    return attempt;
  };
  const fail = (times: number, address: string | undefined = FAR) => {
    for (let n = 0; n < times; n++) reserve(address).failed();
  };
  const retryAfter = (address: string | undefined = FAR) => {
    const attempt = limiter.reserve("shared-secret", address);
    if (!attempt.locked) attempt.release();
    return attempt.locked ? attempt.retryAfterMs : 0;
  };
  return { clock, limiter, reserve, fail, retryAfter };
}

describe("failed attempts", () => {
  it("of webhooks have separate limits", () => {
    assert.deepEqual(
      { ...LIMITER_DEFAULTS, ...HOOK_LIMITER },
      { maxAttempts: 20, windowMs: 60_000, lockoutMs: 60_000, exemptLoopback: false, maxKeys: 10_000 },
    );
  });

  it("lock after the default number for the default time, and no earlier [H1.6 H1.8]", () => {
    const { clock, fail, retryAfter } = scene();
    fail(9);
    assert.equal(retryAfter(), 0);
    fail(1); // gets its own error; the next one is locked
    assert.equal(retryAfter(), 300_000);
    clock.now = 299_999;
    assert.equal(retryAfter(), 1);
    clock.now = 300_000;
    assert.equal(retryAfter(), 0);
  });

  it("with maxAttempts 3: three attempts are allowed, the fourth is locked [H6.6]", () => {
    const { fail, retryAfter } = scene({ maxAttempts: 3 });
    fail(3);
    assert.equal(retryAfter(), 300_000);
  });

  it("slide out of the window one by one [H1.7]", () => {
    const { clock, fail, retryAfter } = scene({ maxAttempts: 2, windowMs: 1_000 });
    fail(1);
    clock.now = 999;
    fail(1); // both within the window
    assert.ok(retryAfter() > 0);
    const other = scene({ maxAttempts: 2, windowMs: 1_000 });
    other.fail(1);
    other.clock.now = 1_000;
    other.fail(1); // the first has left it
    assert.equal(other.retryAfter(), 0);
  });

  it("are counted afresh after a lock", () => {
    const { clock, fail, retryAfter } = scene({ maxAttempts: 2, windowMs: 10_000, lockoutMs: 1_000 });
    fail(2);
    clock.now = 1_000;
    fail(1);
    assert.equal(retryAfter(), 0);
    fail(1);
    assert.equal(retryAfter(), 1_000);
  });

  it("during a lock do not extend it", () => {
    const { clock, limiter, reserve, retryAfter } = scene({ maxAttempts: 3, lockoutMs: 1_000 });
    const [first, second, third] = [reserve(), reserve(), reserve()];
    limiter.configure({ maxAttempts: 2, lockoutMs: 1_000 });
    first?.failed();
    second?.failed();
    clock.now = 600;
    assert.equal(retryAfter(), 400);
    third?.failed();
    assert.equal(retryAfter(), 400);
  });

  it("are cleared by a success, a lock included", () => {
    const { reserve, fail, retryAfter, limiter } = scene({ maxAttempts: 3 });
    fail(2);
    reserve().succeeded();
    assert.equal(limiter.size, 0);
    fail(2);
    assert.equal(retryAfter(), 0);
    fail(1);
    limiter.clear("shared-secret", FAR); // a hook token is compared even while it is locked
    assert.deepEqual([retryAfter(), limiter.size], [0, 0]);
  });

  it("are not counted when no secret was tried", () => {
    const { reserve, retryAfter, limiter } = scene({ maxAttempts: 1 });
    for (let n = 0; n < 5; n++) reserve().release();
    assert.deepEqual([retryAfter(), limiter.size], [0, 0]);
  });

  it("count once, regardless of later calls", () => {
    const { reserve, retryAfter } = scene({ maxAttempts: 2 });
    const attempt = reserve();
    attempt.failed();
    attempt.failed();
    attempt.succeeded();
    attempt.release();
    reserve().failed();
    assert.ok(retryAfter() > 0);
  });

  it("are counted separately for each scope [H6.2]", () => {
    const { limiter, fail } = scene({ maxAttempts: 1 });
    fail(1);
    for (const scope of ["default", "device-token", "hook-auth"] as const)
      assert.equal(limiter.reserve(scope, FAR).locked, false);
    assert.equal(limiter.reserve("shared-secret", FAR).locked, true);
  });

  it("are counted separately for each address, in all its spellings [H6.1]", () => {
    const { fail, retryAfter } = scene({ maxAttempts: 1 });
    fail(1, "::ffff:10.0.0.1");
    for (const spelling of ["10.0.0.1", "::FFFF:a00:1", "[::ffff:10.0.0.1]:80", "10.0.0.1:9"])
      assert.ok(retryAfter(spelling) > 0, spelling);
    assert.equal(retryAfter("10.0.0.2"), 0);
  });

  it("of unknown addresses are counted together [H6.1]", () => {
    const { limiter } = scene({ maxAttempts: 1 });
    const attempt = limiter.reserve("default", undefined);
    assert.ok(!attempt.locked);
    attempt.failed();
    for (const address of [undefined, "", "unknown", "junk"]) assert.ok(limiter.reserve("default", address).locked);
  });

  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"]) {
    it(`of ${address} are exempt, unless exemptLoopback is false [H1.9 H6.7]`, () => {
      const exempt = scene({ maxAttempts: 1 });
      exempt.fail(5, address);
      assert.deepEqual([exempt.retryAfter(address), exempt.limiter.size], [0, 0]);
      const counted = scene({ maxAttempts: 1, exemptLoopback: false });
      counted.fail(1, address);
      assert.ok(counted.retryAfter(address) > 0);
    });
  }
});

describe("parallel attempts", () => {
  it("gain nothing over sequential attempts", () => {
    const { limiter } = scene({ maxAttempts: 3 });
    const attempts = Array.from({ length: 100 }, () => limiter.reserve("shared-secret", FAR));
    assert.equal(attempts.filter(({ locked }) => !locked).length, 3);
  });

  it("are allowed again as soon as one succeeds", () => {
    const { reserve, retryAfter } = scene({ maxAttempts: 2 });
    const [first] = [reserve(), reserve()];
    assert.equal(retryAfter(), 1_000); // undecided: no lock
    first?.succeeded();
    assert.equal(retryAfter(), 0);
  });

  it("that take long still count", () => {
    const { clock, reserve, retryAfter } = scene({ maxAttempts: 1, windowMs: 1_000 });
    reserve();
    clock.now = 50_000;
    assert.ok(retryAfter() > 0);
  });

  it("never allow more failures than the limit, in any order of events", () => {
    const event = tuple(constantFrom("reserve", "fail", "release", "tick"), integer({ min: 0, max: 9 }));
    check(
      property(integer({ min: 1, max: 4 }), array(event, { maxLength: 120 }), (maxAttempts, events) => {
        const { clock, limiter } = scene({ maxAttempts, windowMs: 1_000, lockoutMs: 1_000 });
        const open: { at: number; attempt: Reservation }[] = [];
        const failed: number[] = [];
        for (const [what, n] of events) {
          if (what === "tick") clock.now += n * 90;
          else if (what === "reserve") {
            const attempt = limiter.reserve("default", n % 2 ? "10.0.0.1" : "::ffff:a00:1");
            if (!attempt.locked) open.push({ at: clock.now, attempt });
          } else if (open.length > 0) {
            const [{ at, attempt }] = open.splice(n % open.length, 1) as [{ at: number; attempt: Reservation }];
            if (what === "fail") failed.push(at);
            if (what === "fail") attempt.failed();
            else attempt.release();
          }
        }
        const guesses = [...failed, ...open.map(({ at }) => at)].sort((a, b) => a - b);
        for (const start of guesses)
          assert.ok(guesses.filter((at) => at >= start && at < start + 1_000).length <= maxAttempts);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the stored addresses", () => {
  const address = (n: number) => `10.0.${n >> 8}.${n & 255}`;

  it("are limited: the oldest address that is not locked is dropped", () => {
    const { limiter, fail, retryAfter } = scene({ maxKeys: 3, maxAttempts: 2 });
    fail(2, address(0)); // locked
    for (const n of [1, 2]) fail(1, address(n));
    fail(1, address(3));
    assert.equal(limiter.size, 3);
    assert.ok(retryAfter(address(0)) > 0);
    fail(1, address(2));
    assert.ok(retryAfter(address(2)) > 0); // stored: this was its second
    fail(1, address(1));
    assert.equal(retryAfter(address(1)), 0); // dropped: this was its first again
  });

  it("do not lose an undecided attempt", () => {
    const { limiter, reserve, fail, retryAfter } = scene({ maxKeys: 2, maxAttempts: 2 });
    const attempt = reserve(address(0));
    for (let n = 1; n < 20; n++) fail(1, address(n));
    attempt.failed();
    fail(1, address(0)); // the second
    assert.ok(retryAfter(address(0)) > 0);
    assert.equal(limiter.size, 2);
  });

  it("are the most recently tried ones", () => {
    const { fail, retryAfter } = scene({ maxKeys: 2, maxAttempts: 3 });
    for (const n of [0, 1, 0, 2, 0]) fail(1, address(n)); // 1 was dropped for 2
    assert.ok(retryAfter(address(0)) > 0);
  });

  it("share one entry per scope for new addresses while all are locked", () => {
    const { clock, limiter, fail, retryAfter } = scene({
      maxKeys: 2,
      maxAttempts: 2,
      windowMs: 1_000,
      lockoutMs: 1_000,
    });
    for (const n of [0, 1]) fail(2, address(n));
    clock.now = 500;
    fail(1, address(2));
    fail(1, address(3));
    assert.equal(retryAfter(address(4)), 1_000);
    assert.equal(limiter.reserve("device-token", address(4)).locked, false);
    assert.equal(limiter.size, 2);
    clock.now = 1_000; // the first locks end, which makes room
    assert.equal(retryAfter(address(4)), 0);
  });

  it("stay limited under any number of addresses", () => {
    const { limiter, clock } = scene({ maxKeys: 50, maxAttempts: 2 });
    for (let n = 0; n < 5_000; n++) {
      clock.now += 7;
      const attempt = limiter.reserve("default", address(n % 997));
      if (!attempt.locked) attempt.failed();
      assert.ok(limiter.size <= 50);
    }
  });

  it("are dropped when they no longer matter [H6.8]", () => {
    const { clock, limiter, fail } = scene({ maxAttempts: 2 });
    fail(1, address(1));
    fail(2, address(2));
    clock.now = 60_000;
    limiter.prune();
    assert.equal(limiter.size, 1); // the lock
    clock.now = 300_000;
    limiter.reserve("default", address(3)); // prunes by itself
    assert.equal(limiter.size, 1);
  });
});

describe("new limits", () => {
  it("apply at once, also to earlier failures", () => {
    const { limiter, fail, retryAfter, clock } = scene({ maxAttempts: 10, windowMs: 1_000 });
    fail(4);
    clock.now = 400;
    limiter.configure({ maxAttempts: 3, windowMs: 1_000 });
    assert.equal(retryAfter(), 600);
    limiter.configure({ maxAttempts: 5, windowMs: 1_000 });
    assert.equal(retryAfter(), 0);
    fail(1);
    assert.equal(retryAfter(), 300_000);
  });

  it("do not change the end of a lock", () => {
    const { limiter, fail, retryAfter } = scene({ maxAttempts: 1, lockoutMs: 5_000 });
    fail(1);
    limiter.configure({ maxAttempts: 100, lockoutMs: 10 });
    assert.equal(retryAfter(), 5_000);
  });
});

describe("the address under which an attempt is counted", () => {
  interface Row {
    readonly from: string;
    readonly headers?: IncomingHttpHeaders;
    readonly trusted?: string[];
    readonly browser?: boolean;
  }
  const key = ({ from, headers = {}, trusted = [], browser = false }: Row) =>
    limiterKey(resolvePeer(from, headers, proxyPolicy({ trustedProxies: trusted })), browser);
  const forwarded = { "x-forwarded-for": "203.0.113.9" };

  const rows: [why: string, row: Row, expected: string][] = [
    ["the peer", { from: FAR }, FAR],
    ["the peer, canonical", { from: "::ffff:203.0.113.7" }, FAR],
    ["loopback", { from: "127.0.0.1" }, "127.0.0.1"],
    ["a page on loopback: pooled [H6.5]", { from: "127.0.0.1", browser: true }, "198.18.0.1"],
    ["a page on IPv6 loopback: pooled", { from: "::1", browser: true }, "198.18.0.1"],
    ["a page elsewhere", { from: FAR, browser: true }, FAR],
    ["the client behind a proxy", { from: "10.0.0.1", headers: forwarded, trusted: ["10.0.0.1"] }, "203.0.113.9"],
    ["a proxy that does not name its client: its own", { from: "10.0.0.1", trusted: ["10.0.0.1"] }, "10.0.0.1"],
    ["such a proxy on loopback: pooled, so not exempt", { from: "127.0.0.1", trusted: ["127.0.0.1"] }, "198.18.0.1"],
    ["an undeclared proxy on loopback: pooled", { from: "127.0.0.1", headers: forwarded }, "198.18.0.1"],
    [
      "a local client behind a local proxy",
      { from: "::1", headers: { "x-forwarded-for": "127.0.0.1" }, trusted: ["::1"] },
      "127.0.0.1",
    ],
    ["the network of an IPv6 peer", { from: "2001:db8:1:2:3:4:5:6" }, "2001:db8:1:2::"],
    ["the network of an IPv6 peer, regardless of its host part", { from: "2001:db8:1:2::99" }, "2001:db8:1:2::"],
    ["a closed socket", { from: "" }, "unknown"],
  ];
  for (const [why, row, expected] of rows) it(`is ${why}`, () => assert.equal(key(row), expected));
});
