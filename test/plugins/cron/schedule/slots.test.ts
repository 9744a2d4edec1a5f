/** The decision about each slot until now, by the job's policy. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { CronCatchUp, CronSchedule } from "@svc/sdk/cron";
import { createRandom, SEED } from "../../../fault/workload.ts";
import { loadCalendar, nextSlot } from "../../../../plugins/cron/schedule/calendar.ts";
import {
  BACKING_OFF,
  GRACE_MS,
  LATE,
  MAX_SINGLE,
  OUTSIDE_WINDOW,
  settleSlots,
  type Span,
  SUPERSEDED,
  TOO_MANY,
} from "../../../../plugins/cron/schedule/slots.ts";

before(loadCalendar);

const T = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const EVERY_MINUTE: CronSchedule = { kind: "every", everyMs: MINUTE, anchorMs: T };

/** Minutes after T, with the decision about them; `until` in minutes. */
function decisions(
  until: number,
  {
    catchUp,
    schedule = EVERY_MINUTE,
    heldUntil = 0,
    recorded = [],
  }: { catchUp?: CronCatchUp; schedule?: CronSchedule; heldUntil?: number; recorded?: readonly Span[] } = {},
) {
  const { decisions: all, nextAt } = settleSlots(
    { id: "job", schedule, catchUp, nextAt: T + MINUTE, heldUntil, recorded },
    T + until * MINUTE,
  );
  const minutes = (at: number) => (at - T) / MINUTE;
  return {
    nextAt: nextAt === undefined ? undefined : minutes(nextAt),
    told: all.map((decision) => {
      const at =
        "throughAt" in decision && decision.throughAt !== undefined
          ? `${minutes(decision.dueAt)}-${minutes(decision.throughAt).toFixed(2)}`
          : String(minutes(decision.dueAt));
      return decision.decision === "run"
        ? `${at} run`
        : `${at} ${decision.decision} ${decision.reason}${decision.slots === undefined ? "" : ` x${decision.slots}`}`;
    }),
  };
}

describe("slots until now", () => {
  const none = { mode: "none" } as const;
  const all = (windowMs?: number): CronCatchUp => ({ mode: "all", ...(windowMs ? { windowMs } : {}) });
  const cases: [what: string, until: number, options: Parameters<typeof decisions>[1], told: string[]][] = [
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
      const settled = decisions(until, options);
      assert.deepEqual(settled.told, told);
      assert.equal(settled.nextAt, Math.floor(until) + 1);
    });
  }

  const at = (from: number, through = from) => ({ dueAt: T + from * MINUTE, throughAt: T + through * MINUTE });
  const known: [what: string, recorded: Span[], until: number, told: string[]][] = [
    ["a single one keeps its record", [at(2)], 3.5, [`1 missed ${SUPERSEDED}`, "3 run"]],
    ["the newest without a record is made up for", [at(2, 3)], 3.5, ["1 run"]],
    ["all have one", [at(0, 4)], 3.5, []],
  ];
  for (const [what, recorded, until, told] of known)
    it(`that have a record: ${what}`, () => assert.deepEqual(decisions(until, { recorded }).told, told));

  for (const schedule of [EVERY_MINUTE, { kind: "cron", expr: "* * * * *", tz: "UTC" }] satisfies CronSchedule[]) {
    it(`that have a record are not in a shared record (${schedule.kind})`, () => {
      const { told } = decisions(1_000, { schedule, recorded: [at(0.5, 2), at(10), at(11), at(500.5, 600)] });
      const counted = (count: number) => (schedule.kind === "every" ? ` x${count}` : "");
      assert.deepEqual(told.slice(0, 2), [
        `3-10.00 missed ${SUPERSEDED}${counted(7)}`,
        `12-500.50 missed ${SUPERSEDED}${counted(489)}`,
      ]);
      assert.match(told[2] ?? "", /^601-9\d\d\.00 missed/);
      assert.equal(told.at(-1), "1000 run");
    });
  }

  it("a slot later than the grace is missed with catchUp: none", () => {
    const hourly: CronSchedule = { kind: "every", everyMs: 60 * MINUTE, anchorMs: T + MINUTE - 60 * MINUTE };
    const late = (ms: number) => decisions(1 + ms / MINUTE, { catchUp: none, schedule: hourly }).told;
    assert.deepEqual(late(GRACE_MS), ["1 run"]);
    assert.deepEqual(late(GRACE_MS + 1), [`1 missed ${LATE}`]);
  });

  it("a schedule with a single slot has no next slot", () => {
    const at: CronSchedule = { kind: "at", at: new Date(T + MINUTE).toISOString() };
    assert.deepEqual(decisions(500, { schedule: at }), { nextAt: undefined, told: ["1 run"] });
  });

  for (const schedule of [EVERY_MINUTE, { kind: "cron", expr: "* * * * *", tz: "UTC" }] satisfies CronSchedule[]) {
    it(`by the thousand share a record, except for the newest (${schedule.kind})`, () => {
      const { told, nextAt } = decisions(100_000.5, { schedule });
      assert.ok(told.length > 1 && told.length <= MAX_SINGLE + 1, String(told.length));
      assert.equal(told.at(-1), "100000 run");
      const first = Number(told[1]?.split(" ")[0]);
      const count = schedule.kind === "every" ? ` x${first - 1}` : "";
      assert.equal(told[0], `1-${first.toFixed(2)} missed ${SUPERSEDED}${count}`);
      assert.equal(nextAt, 100_001);
      // The single slots follow without a gap.
      assert.deepEqual(
        told.slice(1).map((line) => Number(line.split(" ")[0])),
        Array.from({ length: told.length - 1 }, (_, index) => first + index),
      );
    });
  }

  it("by the thousand are not all made up for", () => {
    const { told } = decisions(1_000, { catchUp: all(30 * 24 * 60 * MINUTE) });
    assert.match(told[0] ?? "", new RegExp(TOO_MANY));
    assert.ok(told.filter((line) => line.endsWith("run")).length <= 100);
  });

  const berlin = (expr: string, staggerMs = 0): CronSchedule => ({
    kind: "cron",
    expr,
    tz: "Europe/Berlin",
    staggerMs,
  });
  const nights = [
    ["clocks go forward", Date.UTC(2027, 2, 28)],
    ["clocks go back", Date.UTC(2027, 9, 31)],
  ] as const;
  const schedules: CronSchedule[] = [
    berlin("* * * * * *"),
    berlin("*/7 * * * * *"),
    berlin("*/3 2-4 * * *"),
    berlin("0 * * * *", 300_000),
    { kind: "every", everyMs: 1_500, anchorMs: T },
  ];
  for (const [night, begin] of nights) {
    for (const schedule of schedules) {
      it(`have exactly one record each, across outages: ${JSON.stringify(schedule)} while ${night}`, () => {
        const random = createRandom(SEED);
        const modes = [undefined, ...(["none", "last", "all"] as const).map((mode) => ({ mode }))];
        const end = begin + 150 * MINUTE;
        const spans: Span[] = [];
        let due = nextSlot(schedule, "job", begin);
        for (let now = begin; now < end && due !== undefined;) {
          now += Math.round(random() < 0.9 ? random() * 5_000 : random() ** 3 * 60 * MINUTE);
          if (due > now) continue;
          const catchUp = modes[Math.floor(random() * modes.length)];
          const job = { id: "job", schedule, catchUp, nextAt: due, heldUntil: 0, recorded: [] };
          const settled = settleSlots(job, now);
          spans.push(...settled.decisions.map(({ dueAt, ...decision }) => ({ dueAt, throughAt: dueAt, ...decision })));
          due = settled.nextAt;
        }
        let covered = 0;
        for (let slot = nextSlot(schedule, "job", begin); slot !== due && slot !== undefined;) {
          const [span = assert.fail(`seed ${SEED}: no record of ${new Date(slot).toISOString()}`)] = spans;
          assert.ok(span.dueAt <= slot && slot <= span.throughAt, `seed ${SEED}: ${new Date(slot).toISOString()}`);
          const next = nextSlot(schedule, "job", slot);
          if (next === undefined || next > span.throughAt) spans.shift();
          slot = next;
          covered += 1;
        }
        assert.deepEqual(spans, [], `seed ${SEED}: records of times the schedule does not have`);
        assert.ok(covered > 1);
      });
    }
  }
});
