/** What becomes of the times that came until now, by the job's policy. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { CronCatchUp, CronSchedule } from "@svc/sdk/cron";
import { loadCalendar, nextSlot } from "../../../../plugins/cron/schedule/calendar.ts";
import {
  BACKING_OFF,
  GRACE_MS,
  LATE,
  MAX_SINGLE,
  OUTSIDE_WINDOW,
  settleSlots,
  SUPERSEDED,
  TOO_MANY,
} from "../../../../plugins/cron/schedule/slots.ts";

before(loadCalendar);

const T = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const EVERY_MINUTE: CronSchedule = { kind: "every", everyMs: MINUTE, anchorMs: T };

/** Minutes after T, with what becomes of them; `until` in minutes. */
function fates(
  until: number,
  {
    catchUp,
    schedule = EVERY_MINUTE,
    heldUntil = 0,
  }: { catchUp?: CronCatchUp; schedule?: CronSchedule; heldUntil?: number } = {},
) {
  const { fates: all, nextAt } = settleSlots(
    { id: "job", schedule, catchUp, nextAt: T + MINUTE, heldUntil },
    T + until * MINUTE,
  );
  const minutes = (at: number) => (at - T) / MINUTE;
  return {
    nextAt: nextAt === undefined ? undefined : minutes(nextAt),
    told: all.map((fate) => {
      const at =
        "throughAt" in fate && fate.throughAt !== undefined
          ? `${minutes(fate.dueAt)}-${minutes(fate.throughAt).toFixed(2)}`
          : String(minutes(fate.dueAt));
      return fate.fate === "run"
        ? `${at} run`
        : `${at} ${fate.fate} ${fate.reason}${fate.slots === undefined ? "" : ` x${fate.slots}`}`;
    }),
  };
}

describe("slots until now", () => {
  const none = { mode: "none" } as const;
  const all = (windowMs?: number): CronCatchUp => ({ mode: "all", ...(windowMs ? { windowMs } : {}) });
  const cases: [what: string, until: number, options: Parameters<typeof fates>[1], told: string[]][] = [
    ["one, just now", 1, {}, ["1 run"]],
    ["one, a little late", 1.9, {}, ["1 run"]],
    ["three: the last is made up for", 3.5, {}, [`1 missed ${SUPERSEDED}`, `2 missed ${SUPERSEDED}`, "3 run"]],
    ["none is made up for", 3.5, { catchUp: none }, [`1 missed ${LATE}`, `2 missed ${LATE}`, "3 run"]],
    ["all are made up for", 3.5, { catchUp: all() }, ["1 run", "2 run", "3 run"]],
    ["all in the window", 3.5, { catchUp: all(2 * MINUTE) }, [`1 missed ${OUTSIDE_WINDOW}`, "2 run", "3 run"]],
    [
      "backing off: what came meanwhile is skipped",
      3,
      { heldUntil: T + 3 * MINUTE },
      [`1 skipped ${BACKING_OFF}`, `2 skipped ${BACKING_OFF}`, "3 run"],
    ],
    ["backing off ends between two", 2.5, { heldUntil: T + 2.5 * MINUTE }, [`1 skipped ${BACKING_OFF}`, "2 run"]],
  ];
  for (const [what, until, options, told] of cases) {
    it(what, () => {
      const settled = fates(until, options);
      assert.deepEqual(settled.told, told);
      assert.equal(settled.nextAt, Math.floor(until) + 1);
    });
  }

  it("a slot later than the grace is missed with catchUp: none", () => {
    const hourly: CronSchedule = { kind: "every", everyMs: 60 * MINUTE, anchorMs: T + MINUTE - 60 * MINUTE };
    const late = (ms: number) => fates(1 + ms / MINUTE, { catchUp: none, schedule: hourly }).told;
    assert.deepEqual(late(GRACE_MS), ["1 run"]);
    assert.deepEqual(late(GRACE_MS + 1), [`1 missed ${LATE}`]);
  });

  it("a schedule of one slot has no next one", () => {
    const at: CronSchedule = { kind: "at", at: new Date(T + MINUTE).toISOString() };
    assert.deepEqual(fates(500, { schedule: at }), { nextAt: undefined, told: ["1 run"] });
  });

  for (const schedule of [EVERY_MINUTE, { kind: "cron", expr: "* * * * *", tz: "UTC" }] satisfies CronSchedule[]) {
    it(`by the thousand share a record, but for the newest (${schedule.kind})`, () => {
      const { told, nextAt } = fates(100_000.5, { schedule });
      assert.ok(told.length > 1 && told.length <= MAX_SINGLE + 1, String(told.length));
      assert.equal(told.at(-1), "100000 run");
      const first = Number(told[1]?.split(" ")[0]);
      const count = schedule.kind === "every" ? ` x${first - 1}` : "";
      assert.equal(told[0], `1-${first.toFixed(2)} missed ${SUPERSEDED}${count}`);
      assert.equal(nextAt, 100_001);
      // What stands alone follows without a gap.
      assert.deepEqual(
        told.slice(1).map((line) => Number(line.split(" ")[0])),
        Array.from({ length: told.length - 1 }, (_, index) => first + index),
      );
    });
  }

  it("by the thousand are not all made up for", () => {
    const { told } = fates(1_000, { catchUp: all(30 * 24 * 60 * MINUTE) });
    assert.match(told[0] ?? "", new RegExp(TOO_MANY));
    assert.ok(told.filter((line) => line.endsWith("run")).length <= 100);
  });

  it("have exactly one record each, whenever they are checked", () => {
    const schedule: CronSchedule = { kind: "cron", expr: "*/3 2-4 * * *", tz: "Europe/Berlin" };
    const begin = Date.UTC(2026, 2, 28);
    let nextAt = nextSlot(schedule, "job", begin);
    const seen = new Set<number>();
    for (let now = begin; now < begin + 3 * 86_400_000 && nextAt !== undefined; now += 37 * MINUTE) {
      if (nextAt > now) continue;
      const settled = settleSlots({ id: "job", schedule, catchUp: undefined, nextAt, heldUntil: 0 }, now);
      for (const { dueAt } of settled.fates) {
        assert.ok(!seen.has(dueAt));
        seen.add(dueAt);
      }
      nextAt = settled.nextAt;
    }
    const end = nextAt ?? begin;
    let slot = nextSlot(schedule, "job", begin) ?? end;
    for (; slot < end; slot = nextSlot(schedule, "job", slot) ?? end)
      assert.ok(seen.has(slot), new Date(slot).toISOString());
    assert.ok(seen.size > 100);
  });
});
