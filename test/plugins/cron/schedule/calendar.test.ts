/** Run times, compared with another calendar library and around clock changes. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { CronExpressionParser } from "cron-parser";
import type { CronSchedule } from "@svc/sdk/cron";
import { checkSchedule, loadCalendar, nextSlot, staggerOf } from "../../../../plugins/cron/schedule/calendar.ts";

before(loadCalendar);

const by = (expr: string, tz: string, staggerMs?: number): CronSchedule => ({
  kind: "cron",
  expr,
  tz,
  ...(staggerMs ? { staggerMs } : {}),
});

/** The next `count` run times after `from`, in UTC. */
function times(schedule: CronSchedule, from: string, count: number): string[] {
  const found: string[] = [];
  let slot = nextSlot(schedule, "job", Date.parse(from));
  while (slot !== undefined && found.length < count) {
    found.push(new Date(slot).toISOString());
    slot = nextSlot(schedule, "job", slot);
  }
  return found;
}

describe("expressions", () => {
  const zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"];
  const expressions = ["0 9 * * 1-5", "*/7 * * * *", "15 6,18 1 * *", "30 4 29 2 *", "5 0 * * 0", "0 12 L * *"];
  // Days without a clock change in these zones: libraries differ in how they read a time that does not exist.
  const starts = ["2026-01-15T00:00:00Z", "2027-06-10T13:31:07Z", "2028-02-27T22:10:00Z"];
  for (const tz of zones) {
    it(`agree with the reference in ${tz}`, () => {
      for (const expr of expressions) {
        for (const start of starts) {
          const reference = CronExpressionParser.parse(expr, { currentDate: start, tz });
          const expected = [1, 2, 3].map(() => reference.next().toDate().toISOString());
          assert.deepEqual(times(by(expr, tz), start, 3), expected, `${expr} from ${start}`);
        }
      }
    });
  }

  const shifts: [what: string, schedule: CronSchedule, from: string, expected: string[]][] = [
    // Spec: design/dependencies.md §4: a time that does not exist runs at the clock change.
    [
      "a time that does not exist runs at the clock change",
      by("30 2 * * *", "Europe/Berlin"),
      "2027-03-27T12:00:00Z",
      ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"],
    ],
    [
      "a time that occurs twice runs once",
      by("30 2 * * *", "Europe/Berlin"),
      "2027-10-30T12:00:00Z",
      ["2027-10-31T00:30:00.000Z", "2027-11-01T01:30:00.000Z"],
    ],
    [
      "every hour stays every hour in spring",
      by("0 * * * *", "America/New_York"),
      "2027-03-14T05:30:00Z",
      ["2027-03-14T06:00:00.000Z", "2027-03-14T07:00:00.000Z", "2027-03-14T08:00:00.000Z"],
    ],
    [
      "a change of half an hour",
      by("0 12 * * *", "Australia/Lord_Howe"),
      "2027-04-03T00:00:00Z",
      ["2027-04-03T01:00:00.000Z", "2027-04-04T01:30:00.000Z"],
    ],
    [
      "a day that was left out of the calendar",
      by("0 12 30 12 *", "Pacific/Apia"),
      "2011-12-01T00:00:00Z",
      ["2012-12-29T22:00:00.000Z"],
    ],
  ];
  for (const [what, schedule, from, expected] of shifts) {
    it(what, () => assert.deepEqual(times(schedule, from, expected.length), expected));
  }

  it("may name each second", () => {
    assert.deepEqual(times(by("* * * * * *", "UTC"), "2026-01-01T00:00:00Z", 2), [
      "2026-01-01T00:00:01.000Z",
      "2026-01-01T00:00:02.000Z",
    ]);
  });

  it("are delayed by the job's own offset", () => {
    const offset = staggerOf(300_000, "job");
    assert.ok(offset > 0 && offset < 300_000);
    const [plain = "", put = ""] = [by("0 * * * *", "UTC"), by("0 * * * *", "UTC", 300_000)].map(
      (schedule) => times(schedule, "2026-01-01T00:30:00Z", 1)[0],
    );
    assert.equal(Date.parse(put) - Date.parse(plain), offset);
    assert.notEqual(staggerOf(300_000, "another"), offset);
  });

  for (const [expr, tz] of [
    ["not a time", undefined],
    ["61 * * * *", undefined],
    ["0 0 * * *", "Mars/Olympus"],
    ["* * * * * * 2099", undefined],
  ] as const) {
    it(`refuse ${expr} ${tz ?? ""}`, () =>
      assert.throws(() => checkSchedule({ kind: "cron", expr, ...(tz ? { tz } : {}) }), {
        code: "UNAVAILABLE",
        message: /^Error: cron expression/,
      }));
  }
});

describe("intervals", () => {
  const every = (everyMs: number, anchorMs: number): CronSchedule => ({ kind: "every", everyMs, anchorMs });
  for (const [anchor, after, expected] of [
    [1_000, 0, 1_000],
    [1_000, 1_000, 11_000],
    [1_000, 11_000, 21_000],
    [0, 99_999_999, 100_000_000],
  ] as const) {
    it(`of 10 s from ${anchor}: after ${after} comes ${expected}`, () =>
      assert.equal(nextSlot(every(10_000, anchor), "job", after), expected));
  }

  it("below a second are refused", () => {
    assert.throws(() => checkSchedule(every(999, 0)), { code: "UNAVAILABLE", message: /at least 1000/ });
  });
});

describe("single times", () => {
  it("come once", () => {
    const at: CronSchedule = { kind: "at", at: "2026-01-01T00:00:00.000Z" };
    assert.equal(nextSlot(at, "job", 0), Date.UTC(2026, 0, 1));
    assert.equal(nextSlot(at, "job", Date.UTC(2026, 0, 1)), undefined);
    assert.equal(nextSlot({ kind: "at", at: "1700000000000" }, "job", 0), 1_700_000_000_000);
  });
});
