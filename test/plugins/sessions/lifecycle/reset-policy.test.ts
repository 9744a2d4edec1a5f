import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { machineZone } from "@svc/kit/time";
import { parseDuration, parseSize } from "@svc/kit/time";
import { matches, withDefaults } from "@svc/sdk";
import { SessionConfig } from "../../../../plugins/sessions/config.ts";
import {
  isStale,
  lastBoundary,
  type ResetContext,
  resetPolicyOf,
  resetTypeOf,
} from "../../../../plugins/sessions/lifecycle/reset-policy.ts";

const config = (value: object) => withDefaults(SessionConfig, value);

describe("the type of a session", () => {
  const rows: [key: string, context: ResetContext, type: string][] = [
    ["agent:a:main", {}, "direct"],
    ["agent:a:irc:direct:b", {}, "direct"],
    ["agent:a:irc:group:1", {}, "group"],
    ["agent:a:irc:channel:1", {}, "group"],
    ["agent:a:irc:group:1:topic:2", {}, "thread"],
    ["agent:a:main:thread:2", {}, "thread"],
    ["agent:a:main", { isGroup: true }, "group"],
    ["agent:a:irc:group:1", { isThread: true }, "thread"],
  ];
  for (const [key, context, type] of rows) {
    it(`is ${type} for ${key} ${JSON.stringify(context)}`, () => assert.equal(resetTypeOf(key, context), type));
  }
});

describe("the reset policy", () => {
  const daily = { mode: "daily", atHour: 4, idleMinutes: undefined };
  const limited = { ...daily, idleMinutes: 5 };
  const byType = { group: { mode: "idle" } };
  const rows: [what: string, config: object, expected: object][] = [
    ["daily at four by default", {}, daily],
    ["idle for the old key alone", { idleMinutes: 5 }, { ...daily, mode: "idle", idleMinutes: 5 }],
    ["daily with the old key as limit, once there is a reset", { idleMinutes: 5, reset: {} }, limited],
    ["daily with the old key as limit, once there is one by type", { idleMinutes: 5, resetByType: byType }, limited],
    ["60 minutes in mode idle", { reset: { mode: "idle" } }, { ...daily, mode: "idle", idleMinutes: 60 }],
    [
      "the fields of the type over those of reset",
      { reset: { atHour: 2, idleMinutes: 9 }, resetByType: { direct: { atHour: 6 } } },
      { ...daily, atHour: 6, idleMinutes: 9 },
    ],
    ["dm as the old word for direct", { resetByType: { dm: { atHour: 7 } } }, { ...daily, atHour: 7 }],
    ["direct over dm", { resetByType: { dm: { atHour: 7 }, direct: { atHour: 8 } } }, { ...daily, atHour: 8 }],
    [
      "the channel instead of all else",
      { reset: { idleMinutes: 9, atHour: 2 }, idleMinutes: 3, resetByChannel: { IRC: { atHour: 1 } } },
      { ...daily, atHour: 1 },
    ],
    ["unaffected by another channel", { resetByChannel: { sms: { mode: "idle" } } }, daily],
  ];
  for (const [what, given, expected] of rows) {
    it(`is ${what}`, () => assert.deepEqual(resetPolicyOf(config(given), "direct", "irc"), expected));
  }

  it("refuses an hour outside the day and minutes below one", () => {
    for (const reset of [{ atHour: 24 }, { atHour: -1 }, { idleMinutes: 0 }, { mode: "weekly" }]) {
      assert.ok(!matches(SessionConfig, config({ reset })), JSON.stringify(reset));
    }
  });
});

describe("a session grows stale", () => {
  const at = (text: string) => new Date(text).getTime(); // local time
  const daily = { mode: "daily", atHour: 4, idleMinutes: undefined } as const;
  const limited = { ...daily, idleMinutes: 10 };
  const idle = { mode: "idle", atHour: 4, idleMinutes: 60 } as const;
  const rows: [what: string, policy: Parameters<typeof isStale>[0], updatedAt: string, now: string, stale: boolean][] =
    [
      ["daily, used before the hour", daily, "2026-03-02T03:59:59", "2026-03-02T04:00:00", true],
      ["daily, used at the hour", daily, "2026-03-02T04:00:00", "2026-03-02T23:00:00", false],
      ["daily, not yet the hour", daily, "2026-03-01T05:00:00", "2026-03-02T03:59:59", false],
      ["daily, used the day before yesterday", daily, "2026-02-28T12:00:00", "2026-03-02T03:00:00", true],
      ["idle, just in time", idle, "2026-03-02T12:00:00", "2026-03-02T13:00:00", false],
      ["idle, too late", idle, "2026-03-02T12:00:00", "2026-03-02T13:00:01", true],
      ["idle, over the hour", idle, "2026-03-02T03:59:00", "2026-03-02T04:01:00", false],
      ["daily with an earlier limit", limited, "2026-03-02T12:00:00", "2026-03-02T12:11:00", true],
    ];
  for (const [what, policy, updatedAt, now, stale] of rows) {
    it(`${stale ? "yes" : "no"}: ${what}`, () =>
      assert.equal(isStale(policy, at(updatedAt), at(now), machineZone()), stale));
  }

  const utc = (text: string) => Date.parse(`${text}Z`);
  const boundaries: [what: string, zone: string, atHour: number, now: string, boundary: string][] = [
    ["before four o'clock", "Europe/Berlin", 4, "2026-03-29T01:59:59", "2026-03-28T03:00:00"],
    ["the clock went forward: an hour earlier", "Europe/Berlin", 4, "2026-03-29T02:00:00", "2026-03-29T02:00:00"],
    ["there is no two o'clock: where the gap ends", "Europe/Berlin", 2, "2026-03-29T03:00:00", "2026-03-29T01:00:00"],
    ["two o'clock twice: before the second", "Europe/Berlin", 2, "2026-10-25T00:30:00", "2026-10-25T00:00:00"],
    ["two o'clock twice: after the second", "Europe/Berlin", 2, "2026-10-25T01:30:00", "2026-10-25T00:00:00"],
    ["the clock went back", "Europe/Berlin", 4, "2026-10-25T03:00:00", "2026-10-25T03:00:00"],
    ["the first of a month", "Asia/Tokyo", 4, "2026-02-28T18:59:59", "2026-02-27T19:00:00"],
    ["another day than in UTC", "Asia/Tokyo", 4, "2026-02-28T19:00:00", "2026-02-28T19:00:00"],
    ["forward, west of Greenwich", "America/New_York", 2, "2026-03-08T12:00:00", "2026-03-08T07:00:00"],
    ["back, west of Greenwich", "America/New_York", 1, "2026-11-01T12:00:00", "2026-11-01T05:00:00"],
    ["a clock that changes at midnight", "America/Santiago", 0, "2026-09-06T12:00:00", "2026-09-06T04:00:00"],
  ];
  for (const [what, zone, atHour, now, boundary] of boundaries)
    it(`by the wall clock of ${zone}: ${what}`, () =>
      assert.equal(lastBoundary(atHour, utc(now), zone), utc(boundary)));
});

describe("durations and sizes", () => {
  it("are read with and without a unit", () => {
    const DAY = 86_400_000;
    const durations = ["30d", 2, "2", "12h", "1.5m", "1w", "90 s"].map((value) => parseDuration(value));
    assert.deepEqual(durations, [30 * DAY, 2 * DAY, 2 * DAY, DAY / 2, 90_000, 7 * DAY, 90_000]);
    const sizes = [10_485_760, "10mb", "10M", "1.5k", "7b"].map((value) => parseSize(value));
    assert.deepEqual(sizes, [10_485_760, 10_485_760, 10_485_760, 1536, 7]);
  });

  it("are refused when they are none", () => {
    for (const maintenance of [{ pruneAfter: "soon" }, { pruneAfter: "0d" }, { maxDiskBytes: "much" }]) {
      assert.ok(!matches(SessionConfig, config({ maintenance })), JSON.stringify(maintenance));
    }
  });
});
