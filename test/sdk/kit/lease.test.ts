/** Leases between gateways whose wall clocks jump. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { LEASE_MS, Leases, newOwner, RENEW_MS } from "@svc/kit/lease";

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;

/** Two gateways; time goes by for both, and each has a wall clock of its own. */
function open(owner = newOwner()) {
  let elapsed = 0;
  const wall = { holder: NOON, watcher: NOON };
  const clockOf = (name: keyof typeof wall, startedAt: number) => ({
    now: () => wall[name] + elapsed,
    elapsed: () => elapsed - startedAt,
  });
  const holder = new Leases(clockOf("holder", -5 * HOUR));
  const watcher = new Leases(clockOf("watcher", -1_000));
  let until = holder.until();
  return {
    wall,
    pass: (ms: number) => void (elapsed += ms),
    renew: () => void (until = holder.until()),
    release: () => void (until = 0),
    left: () => watcher.left({ owner, until }),
  };
}

describe("a lease", () => {
  for (const jumpMs of [0, HOUR, -HOUR]) {
    for (const who of ["holder", "watcher"] as const) {
      it(`stays its owner's while that renews it: the clock of the ${who} is set by ${jumpMs / HOUR} h`, () => {
        const { wall, pass, renew, left } = open();
        assert.equal(left(), LEASE_MS);
        for (let renewals = 0; renewals < 10; renewals += 1) {
          if (renewals === 3) wall[who] += jumpMs;
          assert.ok(left() > 0);
          pass(RENEW_MS);
          assert.ok(left() > 0, "before the renewal");
          renew();
        }
        assert.equal(left(), LEASE_MS);
      });

      it(`may be taken 10 s after the last renewal: the clock of the ${who} is set by ${jumpMs / HOUR} h`, () => {
        const { wall, pass, renew, left } = open();
        left();
        pass(RENEW_MS);
        renew();
        left();
        wall[who] += jumpMs;
        pass(LEASE_MS - 1);
        assert.equal(left(), 1);
        pass(1);
        assert.equal(left(), 0);
      });
    }
  }

  it("may be taken at once when it is released, or when the process of its owner has ended", () => {
    const released = open();
    assert.equal(released.left(), LEASE_MS);
    released.release();
    assert.equal(released.left(), 0);
    assert.equal(open(`${hostname()}/${2 ** 30}/0/id`).left(), 0);
    assert.equal(open(`${hostname()}/${process.pid}/0/id`).left(), 0, "an earlier process of the same number");
    assert.equal(open(`elsewhere/${process.pid}/0/id`).left(), LEASE_MS, "nothing is known of another machine");
  });

  it("is that of the owner, whichever of its rows is read", () => {
    const clock = { now: () => NOON, elapsed: () => 0 };
    const leases = new Leases(clock);
    for (const until of [NOON + 3, NOON + 9, NOON + 1]) assert.equal(leases.left({ owner: "a", until }), LEASE_MS);
  });
});
