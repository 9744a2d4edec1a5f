import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProviderFailure } from "@svc/sdk/models";
import { Cooldowns } from "../../../plugins/models/asking/cooldown.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function setup() {
  const clock = createFakeClock();
  const cooldowns = new Cooldowns(clock);
  const waits = (kind: ProviderFailure["kind"], times: number, retryAfterMs?: number) =>
    Array.from({ length: times }, () => {
      cooldowns.failed("a", { kind }, { retryAfterMs });
      return (cooldowns.until("a") ?? clock.now()) - clock.now();
    });
  return { clock, cooldowns, waits };
}

describe("cooldowns", () => {
  const rows: [kind: ProviderFailure["kind"], first: number, second: number, longest: number][] = [
    ["rate_limit", MINUTE, 2 * MINUTE, HOUR],
    ["auth", 5 * MINUTE, 10 * MINUTE, 5 * HOUR],
    ["billing", 5 * MINUTE, 10 * MINUTE, 5 * HOUR],
    ["timeout", 30_000, MINUTE, 10 * MINUTE],
    ["network", 30_000, MINUTE, 10 * MINUTE],
    ["server_error", 30_000, MINUTE, 10 * MINUTE],
    ["request", 0, 0, 0],
  ];
  for (const [kind, first, second, longest] of rows) {
    it(`double for each ${kind}, up to a limit`, () => {
      const waits = setup().waits(kind, 60);
      assert.deepEqual([waits[0], waits[1], waits.at(-1)], [first, second, longest]);
    });
  }

  it("count concurrent failed requests once", async () => {
    const { clock, cooldowns } = setup();
    const askedAt = clock.now();
    await clock.advance(100);
    for (let question = 0; question < 4; question++) {
      cooldowns.failed("a", { kind: "rate_limit" }, { askedAt });
      assert.equal(cooldowns.until("a"), clock.now() + MINUTE);
      await clock.advance(10);
    }
    cooldowns.failed("a", { kind: "rate_limit" }, { askedAt: clock.now() });
    assert.equal(cooldowns.until("a"), clock.now() + 2 * MINUTE);
  });

  it("last as long as the server's rate limit demands, up to the maximum", () => {
    assert.deepEqual(setup().waits("rate_limit", 1, 7_000), [7_000]);
    assert.deepEqual(setup().waits("rate_limit", 1, 9 * HOUR), [HOUR]);
    assert.deepEqual(setup().waits("server_error", 1, 7_000), [30_000]);
  });

  it("restart with another kind of failure, and after a success", () => {
    const { cooldowns, waits } = setup();
    waits("auth", 3);
    assert.deepEqual(waits("network", 1), [30_000]);
    cooldowns.succeeded("a");
    assert.equal(cooldowns.failureOf("a"), undefined);
    assert.deepEqual(waits("network", 1), [30_000]);
  });

  it("end after their time, and the failure is remembered", async () => {
    const { clock, cooldowns } = setup();
    cooldowns.failed("a", { kind: "server_error", status: 529 });
    await clock.advance(29_999);
    assert.notEqual(cooldowns.until("a"), undefined);
    await clock.advance(1);
    assert.equal(cooldowns.until("a"), undefined);
    const { kind, status, count } = cooldowns.failureOf("a") ?? {};
    assert.deepEqual([kind, status, count], ["server_error", 529, 1]);
  });

  it("order accounts: available ones as configured, then by the end of the cooldown", () => {
    const { cooldowns } = setup();
    cooldowns.failed("a", { kind: "auth" });
    cooldowns.failed("b", { kind: "network" });
    const names = (...all: string[]) => cooldowns.inOrder(all.map((name) => ({ name }))).map(({ name }) => name);
    assert.deepEqual(names("a", "d", "b", "c"), ["d", "c", "b", "a"]);
    assert.deepEqual(names("a", "b"), ["b", "a"]);
  });

  it("forget removed accounts", () => {
    const { cooldowns } = setup();
    cooldowns.failed("a", { kind: "auth" });
    cooldowns.failed("b", { kind: "auth" });
    cooldowns.keepOnly(new Set(["b"]));
    assert.deepEqual([cooldowns.failureOf("a"), cooldowns.failureOf("b")?.kind], [undefined, "auth"]);
  });
});
