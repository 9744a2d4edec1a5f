import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerDays, costRange } from "../../../plugins/usage/cost-range.ts";
import { usageRange } from "../../../plugins/usage/range.ts";

const NOON = Date.UTC(2026, 2, 2, 12);

const minute = (at: number) => new Date(at).toISOString().replace(":00.000Z", "");
/** The first moment of a range, and the first moment after it. */
const span = ({ from, to }: { from: number; to: number }) => `${minute(from)} to ${minute(to + 1)}`;

const FEBRUARY = "2026-02-01T00:00 to 2026-03-03T00:00";
const TODAY = "2026-03-02T00:00 to 2026-03-03T00:00";
const TWO_DAYS = "2026-01-05T00:00 to 2026-01-07T00:00";
const offset = (utcOffset: string) => ({ mode: "specific", utcOffset }) as const;

describe("the range of a report", () => {
  const oneDay = { startDate: "2026-01-05", endDate: "2026-01-05" };
  const rows: [params: Parameters<typeof usageRange>[0], is: string][] = [
    [{}, FEBRUARY],
    [{ startDate: "2026-03-01" }, FEBRUARY],
    [{ startDate: "2026-01-05", endDate: "2026-01-06" }, TWO_DAYS],
    [{ ...oneDay, ...offset("UTC-5:30") }, "2026-01-05T05:30 to 2026-01-06T05:30"],
    [offset("UTC+13"), "2026-02-01T11:00 to 2026-03-03T11:00"],
    [offset("UTC+15"), FEBRUARY],
  ];
  for (const [params, is] of rows)
    it(`of ${JSON.stringify(params)} is ${is}`, () => assert.equal(span(usageRange(params, NOON, "UTC")), is));

  const days: [what: string, date: string | undefined, is: string][] = [
    ["today", undefined, "2026-03-01T23:00 to 2026-03-02T23:00"],
    ["23 hours long", "2026-03-29", "2026-03-28T23:00 to 2026-03-29T22:00"],
    ["25 hours long", "2026-10-25", "2026-10-24T22:00 to 2026-10-25T23:00"],
  ];
  for (const [what, date, is] of days) {
    it(`of the gateway's days is in the user's zone: a day ${what}`, () => {
      const dates = date === undefined ? { days: 1 } : { startDate: date, endDate: date };
      assert.equal(span(usageRange({ mode: "gateway", ...dates }, NOON, "Europe/Berlin")), is);
    });
  }

  for (const [startDate, endDate] of [
    ["2026-02-30", "2026-03-01"],
    ["2026-03-02", "2026-03-01"],
  ] as const) {
    it(`refuses ${startDate} to ${endDate}`, () =>
      assert.throws(() => usageRange({ startDate, endDate }, NOON, "UTC"), { code: "INVALID_REQUEST" }));
  }
});

describe("the range of usage.cost", () => {
  const rows: [params: Parameters<typeof costRange>[0], is: string, days: number][] = [
    [{}, FEBRUARY, 31],
    [{ days: 1 }, TODAY, 2],
    [{ days: "2" }, "2026-03-01T00:00 to 2026-03-03T00:00", 3],
    [{ days: 0 }, TODAY, 2],
    [{ days: "many" }, FEBRUARY, 31],
    [{ startDate: "2026-01-05", endDate: "2026-01-06" }, TWO_DAYS, 3],
    [{ startDate: "2026-01-05", days: 1 }, TODAY, 2],
    [{ startDate: "2026-02-30", endDate: "2026-03-01", days: 1 }, TODAY, 2],
    [{ startDate: 5, endDate: [], mode: "odd", utcOffset: {} }, FEBRUARY, 31],
    [{ days: 1, ...offset("UTC+5:30") }, "2026-03-01T18:30 to 2026-03-02T18:30", 2],
  ];
  for (const [params, is, days] of rows) {
    it(`of ${JSON.stringify(params)} is ${is}`, () => {
      const range = costRange(params, NOON, "UTC");
      assert.deepEqual([span(range), answerDays(range)], [is, days]);
    });
  }

  it("has a maximum length", () => assert.equal(answerDays(costRange({ days: 1e12 }, NOON, "UTC")), 36_501));
});
