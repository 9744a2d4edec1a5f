/** Scheduled restarts, and the clock they wait with. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createFakeClock, type FakeClock } from "@svc/sdk/testing";
import { settled, systemClock, within } from "../../host/clock.ts";
import { createRestarts, type HostRestarts } from "../../host/restarts.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };

interface Scene {
  readonly clock: FakeClock;
  readonly restarts: HostRestarts;
  /** Milliseconds since the start of the test, and the reason. */
  readonly performed: [number, string][];
  busy: boolean;
}

function scene(lastPerformed?: number): Scene {
  const clock = createFakeClock();
  const begun = clock.now();
  const performed: [number, string][] = [];
  const restarts = createRestarts({
    clock,
    log,
    isIdle: () => !made.busy,
    perform: (reason) => void performed.push([clock.now() - begun, reason]),
    ...(lastPerformed === undefined ? {} : { lastPerformedAt: begun + lastPerformed }),
  });
  const made = { clock, restarts, performed, busy: false };
  return made;
}

describe("a scheduled restart", () => {
  const rows: [why: string, delayMs: number | undefined, ms: number][] = [
    ["waits 2000 ms by default", undefined, 2_000],
    ["waits for the given delay", 500, 500],
    ["begins at once with 0", 0, 0],
    ["waits 60000 ms at most", 3_600_000, 60_000],
    ["is never in the past", -5, 0],
  ];
  for (const [why, delayMs, ms] of rows) {
    it(why, async () => {
      const { clock, restarts, performed } = scene();
      const asked = restarts.schedule({ reason: "x", ...(delayMs === undefined ? {} : { delayMs }) });
      assert.deepEqual(asked, { delayMs: ms, coalesced: false, cooldownMsApplied: 0 });
      if (ms > 0) await clock.advance(ms - 1);
      assert.deepEqual(performed, []);
      await clock.advance(1);
      assert.deepEqual(performed, [[ms, "x"]]);
      assert.equal(clock.pending, 0);
    });
  }
});

describe("a restart by a new process", () => {
  function kinds() {
    const clock = createFakeClock();
    const performed: [string, string | undefined][] = [];
    const perform = (reason: string, kind?: string) => void performed.push([reason, kind]);
    return { clock, performed, restarts: createRestarts({ clock, log, isIdle: () => true, perform, renews: true }) };
  }

  it("is performed if any request for the same restart needs it", async () => {
    const { clock, performed, restarts } = kinds();
    restarts.schedule({ reason: "config.patch" });
    restarts.schedule({ reason: "update.run", kind: "process", delayMs: 5_000 });
    await clock.advance(2_000);
    assert.deepEqual(performed, [["config.patch, update.run", "process"]]);
  });

  it("is refused if the gateway is part of another program", () => {
    const { restarts } = scene();
    assert.deepEqual([restarts.possible, restarts.renewable], [true, false]);
    assert.throws(() => restarts.schedule({ reason: "x", kind: "process" }), { code: "UNAVAILABLE" });
  });

  it("is still accepted by a gateway that stops for a weaker kind", async () => {
    const { clock, performed, restarts } = kinds();
    restarts.schedule({ reason: "config.patch", delayMs: 0 });
    await clock.advance(0);
    const late = restarts.schedule({ reason: "update.run", kind: "process" });
    assert.deepEqual(late, { delayMs: 0, coalesced: true, cooldownMsApplied: 0 });
    restarts.schedule({ reason: "once more", kind: "process" });
    assert.deepEqual(performed, [
      ["config.patch", "gateway"],
      ["update.run", "process"],
    ]);
  });
});

describe("the cooldown", () => {
  const rows: [why: string, last: number | undefined, cooldownMsApplied: number][] = [
    ["none after a fresh start", undefined, 0],
    ["the rest of 30000 ms is added", -10_000, 20_000],
    ["all of it right after a restart", 0, 30_000],
    ["nothing after its end", -30_000, 0],
    ["never more than 30000 ms, whatever the clock was set to", 3_600_000, 30_000],
  ];
  for (const [why, last, cooldownMsApplied] of rows) {
    it(`${why}: ${cooldownMsApplied}`, () => {
      const asked = scene(last).restarts.schedule({ reason: "x", delayMs: 1_000 });
      assert.deepEqual(asked, { delayMs: 1_000 + cooldownMsApplied, coalesced: false, cooldownMsApplied });
    });
  }

  it("can be passed to the next gateway", async () => {
    const { clock, restarts } = scene();
    const begun = clock.now();
    assert.equal(restarts.lastPerformedAt, undefined);
    restarts.schedule({ reason: "x" });
    await clock.advance(2_000);
    assert.equal(restarts.lastPerformedAt, begun + 2_000);
  });
});

describe("requests while one is pending", () => {
  it("a later request joins it", async () => {
    const { clock, restarts, performed } = scene();
    restarts.schedule({ reason: "first", delayMs: 5_000 });
    await clock.advance(1_000);
    const second = restarts.schedule({ reason: "second", delayMs: 10_000 });
    assert.deepEqual(second, { delayMs: 4_000, coalesced: true, cooldownMsApplied: 0 });
    await clock.advance(60_000);
    assert.deepEqual(performed, [[5_000, "first, second"]]);
  });

  it("an earlier request moves it forward", async () => {
    const { clock, restarts, performed } = scene();
    restarts.schedule({ reason: "first", delayMs: 5_000 });
    const second = restarts.schedule({ reason: "second", delayMs: 1_000 });
    assert.deepEqual(second, { delayMs: 1_000, coalesced: false, cooldownMsApplied: 0 });
    await clock.advance(60_000);
    assert.deepEqual(performed, [[1_000, "first, second"]]);
  });

  it("a restart under way absorbs all of them, without delay", async () => {
    const made = scene();
    made.busy = true;
    made.restarts.schedule({ reason: "first", delayMs: 0 });
    await made.clock.advance(100);
    const joined = { delayMs: 0, coalesced: true, cooldownMsApplied: 0 };
    assert.deepEqual(made.restarts.schedule({ reason: "second" }), joined);
    made.busy = false;
    await made.clock.advance(500);
    assert.deepEqual(made.performed, [[500, "first, second"]]);
    assert.deepEqual(made.restarts.schedule({ reason: "third" }), joined, "it is being performed");
    await made.clock.advance(60_000);
    assert.equal(made.performed.length, 1);
  });
});

describe("a restart that is due", () => {
  it("waits for work in progress, checked every 500 ms", async () => {
    const made = scene();
    made.busy = true;
    made.restarts.schedule({ reason: "x", delayMs: 1_000 });
    await made.clock.advance(1_100);
    made.busy = false;
    await made.clock.advance(399);
    assert.deepEqual(made.performed, []);
    await made.clock.advance(1);
    assert.deepEqual(made.performed, [[1_500, "x"]]);
    assert.equal(made.clock.pending, 0);
  });

  it("waits 30000 ms at most [W12.12]", async () => {
    const made = scene();
    made.busy = true;
    made.restarts.schedule({ reason: "x", delayMs: 0 });
    await made.clock.advance(29_999);
    assert.deepEqual(made.performed, []);
    await made.clock.advance(1);
    assert.deepEqual(made.performed, [[30_000, "x"]]);
  });

  it("treats a failing idle check as work in progress", async () => {
    const clock = createFakeClock();
    const performed: string[] = [];
    const restarts = createRestarts({
      clock,
      log,
      isIdle: () => {
        throw new Error("no");
      },
      perform: (reason) => void performed.push(reason),
    });
    restarts.schedule({ reason: "x", delayMs: 0 });
    await clock.advance(29_000);
    assert.deepEqual(performed, []);
    await clock.advance(1_000);
    assert.deepEqual(performed, ["x"]);
  });
});

describe("an impossible restart", () => {
  it("is refused without `perform`, with the next step", () => {
    const restarts = createRestarts({ clock: createFakeClock(), log, isIdle: () => true });
    assert.equal(restarts.possible, false);
    assert.throws(() => restarts.schedule({ reason: "x" }), {
      code: "UNAVAILABLE",
      message: /restart the program that runs it/,
    });
  });

  it("can be requested again when starting it failed", async () => {
    const clock = createFakeClock();
    let attempts = 0;
    const perform = () => {
      attempts += 1;
      throw new Error("no");
    };
    const restarts = createRestarts({ clock, log, isIdle: () => true, perform });
    restarts.schedule({ reason: "x", delayMs: 0 });
    await clock.advance(0);
    assert.equal(restarts.schedule({ reason: "x", delayMs: 0 }).coalesced, false);
    await clock.advance(60_000);
    assert.equal(attempts, 2);
  });

  it("is cancelled when the gateway stops, and later requests are refused", async () => {
    const { clock, restarts, performed } = scene();
    assert.equal(restarts.possible, true);
    restarts.schedule({ reason: "x" });
    restarts.stop();
    restarts.stop();
    assert.equal(clock.pending, 0);
    await clock.advance(60_000);
    assert.deepEqual(performed, []);
    assert.throws(() => restarts.schedule({ reason: "x" }), { code: "UNAVAILABLE" });
  });

  it("that has begun absorbs requests while the gateway stops for it", async () => {
    const { clock, restarts, performed } = scene();
    restarts.schedule({ reason: "x" });
    await clock.advance(2_000);
    restarts.stop();
    const late = restarts.schedule({ reason: "late" });
    assert.deepEqual([late, performed.length], [{ delayMs: 0, coalesced: true, cooldownMsApplied: 0 }, 1]);
  });
});

describe("the clock", () => {
  it("does not fire immediately for a wait longer than the maximum timer", async () => {
    let isOver = false;
    const cancel = systemClock.setTimeout(() => (isOver = true), 2 ** 31 + 5);
    await pause(20);
    cancel();
    assert.equal(isOver, false);
  });

  it("limits waits: `within` throws on timeout, `settled` continues", async () => {
    const clock = createFakeClock();
    const never = new Promise<never>(() => {});
    const late = assert.rejects(within(5, clock, never), /not done within 5 ms/);
    const over = settled(5, clock, never);
    await clock.advance(5);
    await late;
    await over;
    assert.equal(await within(5, clock, Promise.resolve(1)), 1);
    await settled(5, clock, Promise.resolve());
    assert.equal(clock.pending, 0, "no timer is left");
  });

  it("passes rejections on", async () => {
    const clock = createFakeClock();
    for (const wait of [within, settled])
      await assert.rejects(wait(5, clock, Promise.reject(new Error("no"))), { message: "no" });
    assert.equal(clock.pending, 0);
  });
});
