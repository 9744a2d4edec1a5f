/** The run times that people see while they write a schedule. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { preview } from "../../../../plugins/cron/schedule/preview.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const at = { now: NOON, timeZone: "Europe/Berlin" };

describe("a preview", () => {
  it("lists the next times of an expression in the zone of the gateway, or its own", async () => {
    const mine = await preview({ schedule: { kind: "cron", expr: "0 8 * * 1-5" }, count: 3 }, at);
    assert.deepEqual(mine, {
      times: [Date.UTC(2026, 0, 2, 7), Date.UTC(2026, 0, 5, 7), Date.UTC(2026, 0, 6, 7)],
      timeZone: "Europe/Berlin",
    });
    const own = await preview({ schedule: { kind: "cron", expr: "0 8 * * *", tz: "Asia/Tokyo" }, count: 1 }, at);
    assert.deepEqual(own, { times: [Date.UTC(2026, 0, 1, 23)], timeZone: "Asia/Tokyo" });
  });

  it("says by how much a new job may be later, and shows the exact times of a known job", async () => {
    const schedule = { kind: "cron", expr: "0 * * * *", tz: "UTC" } as const;
    const fresh = await preview({ schedule, count: 1 }, at);
    assert.deepEqual(fresh, { times: [NOON + 60 * MINUTE], timeZone: "UTC", spreadMs: 5 * MINUTE });
    const { times, spreadMs } = await preview({ schedule, id: "job-1", count: 1 }, at);
    const [time = 0] = times;
    assert.equal(spreadMs, undefined);
    assert.ok(time >= NOON && time < NOON + 65 * MINUTE && time % (60 * MINUTE) < 5 * MINUTE, String(time));
  });

  it("counts an interval from now or from its anchor", async () => {
    const { times } = await preview({ schedule: { kind: "every", everyMs: 10 * MINUTE }, count: 2 }, at);
    assert.deepEqual(times, [NOON + 10 * MINUTE, NOON + 20 * MINUTE]);
    const anchored = { kind: "every", everyMs: 10 * MINUTE, anchorMs: NOON - 13 * MINUTE } as const;
    assert.deepEqual((await preview({ schedule: anchored, count: 1 }, at)).times, [NOON + 7 * MINUTE]);
  });

  it("shows a moment once", async () => {
    const { times } = await preview({ schedule: { kind: "at", at: "2026-01-01T13:00:00Z" } }, at);
    assert.deepEqual(times, [NOON + 60 * MINUTE]);
  });

  it("has no times for a day that does not exist", async () => {
    assert.deepEqual((await preview({ schedule: { kind: "cron", expr: "0 0 30 2 *" } }, at)).times, []);
  });

  const refused = [
    [{ kind: "cron", expr: "61 * * * *" }, "UNAVAILABLE", /cron expression "61 \* \* \* \*"/],
    [{ kind: "cron", expr: "0 8 * * *", tz: "Mars/Olympus" }, "UNAVAILABLE", /zone "Mars\/Olympus"/],
    [{ kind: "every", everyMs: 10 }, "UNAVAILABLE", /at least 1000/],
    [{ kind: "at", at: "2020-01-01" }, "INVALID_REQUEST", /must not be in the past/],
    [{ kind: "at", at: "soon" }, "INVALID_REQUEST", /ISO 8601/],
  ] as const;
  for (const [schedule, code, message] of refused)
    it(`refuses ${JSON.stringify(schedule)} as cron.add does`, async () => {
      await assert.rejects(preview({ schedule }, at), { code, message });
    });
});
