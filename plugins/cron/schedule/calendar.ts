/** The run times of a schedule. Pure, except for the calendar library, which is loaded first. */
import { createHash } from "node:crypto";
import { lazy, messageOf, unavailable } from "@svc/sdk";
import type { CronSchedule } from "@svc/sdk/cron";
import type { Cron } from "croner";

type CronClass = typeof Cron;

/** Spec: protocol/methods-cron.md §2: jobs due on the hour are spread over its first minutes. */
const FULL_HOUR_STAGGER_MS = 300_000;
/** Choice: cache size; parsing an expression takes about 0.1 ms. */
const MAX_PARSED = 1_000;
/** Choice: least interval of `every`. The protocol allows 1 ms, which would keep the gateway busy with one job. */
export const SHORTEST_EVERY_MS = 1_000;

const library = lazy(() => import("croner"));
let calendar: CronClass | undefined;
const parsed = new Map<string, Cron>();

/** Await this before calling anything else here. The library is imported on first use: a gateway without jobs does not load it. */
export async function loadCalendar(): Promise<void> {
  calendar ??= (await library()).Cron;
}

/** @throws GatewayError `UNAVAILABLE` for an invalid expression or zone, and for an interval that is too short */
export function checkSchedule(schedule: CronSchedule): void {
  if (schedule.kind === "every" && schedule.everyMs < SHORTEST_EVERY_MS)
    unavailable(`Error: everyMs must be at least ${SHORTEST_EVERY_MS}, one second`);
  if (schedule.kind === "at" && atOf(schedule) === undefined)
    unavailable(`Error: at "${schedule.at}" is not a valid time`);
  if (schedule.kind !== "cron") return;
  try {
    expression(schedule);
  } catch (error) {
    unavailable(`Error: cron expression "${schedule.expr}"${zoneText(schedule)}: ${messageOf(error)}`);
  }
}

function zoneText({ tz }: { readonly tz?: string }): string {
  return tz === undefined ? "" : ` in zone "${tz}"`;
}

/** The schedule with its zone: an expression without `tz` uses `timeZone` (IANA name). The stored job keeps no `tz`. */
export function zoned(schedule: CronSchedule, timeZone: string): CronSchedule {
  return schedule.kind === "cron" && !schedule.tz ? { ...schedule, tz: timeZone } : schedule;
}

/**
 * The first run time after `after` (epoch ms); `undefined`: there is none.
 * Choice: an expression may name every second. The least gap of 2 s in protocol/methods-cron.md §10 guards a scheduler that
 * could repeat a run time; here each run time has one record.
 * Choice: `every` counts from its anchor, not from the last run, so that run times do not drift.
 */
export function nextSlot(schedule: CronSchedule, jobId: string, after: number): number | undefined {
  if (schedule.kind === "at") {
    const at = atOf(schedule);
    return at !== undefined && at > after ? at : undefined;
  }
  if (schedule.kind === "every") {
    const { everyMs, anchorMs = 0 } = schedule;
    return anchorMs > after ? anchorMs : anchorMs + (Math.floor((after - anchorMs) / everyMs) + 1) * everyMs;
  }
  const offset = staggerOf(schedule.staggerMs, jobId);
  const next = expression(schedule).nextRun(new Date(after - offset));
  return next ? next.getTime() + offset : undefined;
}

/** The number of run times from `first`, a run time itself, to before `end`; `undefined`: unknown without counting. */
export function slotsBetween(schedule: CronSchedule, first: number, end: number): number | undefined {
  return schedule.kind === "every" ? Math.ceil((end - first) / schedule.everyMs) : undefined;
}

/** epoch ms; `undefined`: not a valid time. */
export function atOf({ at }: { readonly at: string }): number | undefined {
  const time = /^\d+$/.test(at) ? Number(at) : Date.parse(at);
  return Number.isFinite(time) ? time : undefined;
}

/** Spec: §2: for minute 0 of every hour, or of every n-th hour, so that such jobs do not all run at once. @returns milliseconds; `undefined`: none */
export function defaultStaggerMs(expr: string): number | undefined {
  const fields = expr.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) return undefined;
  const [hour = "", minute = "", second = "0"] = fields.slice(0, fields.length - 3).reverse();
  const isFullHour = /^0+$/.test(minute) && /^0+$/.test(second) && hour.includes("*");
  return isFullHour ? FULL_HOUR_STAGGER_MS : undefined;
}

/** The schedule of a new job, with its defaults. @param now epoch ms */
export function completed(schedule: CronSchedule, now: number): CronSchedule {
  if (schedule.kind === "every") return { anchorMs: now, ...schedule };
  if (schedule.kind === "at") return schedule;
  const staggerMs = defaultStaggerMs(schedule.expr);
  return { ...(staggerMs === undefined ? {} : { staggerMs }), ...schedule };
}

/** Spec: §10: the fixed offset of a job, below `staggerMs` and different per job. */
export function staggerOf(staggerMs: number | undefined, jobId: string): number {
  if (!staggerMs) return 0;
  return createHash("sha256").update(jobId).digest().readUInt32BE(0) % staggerMs;
}

function expression({ expr, tz }: Extract<CronSchedule, { kind: "cron" }>): Cron {
  if (!calendar) throw new Error("loadCalendar was not awaited");
  const key = JSON.stringify([expr, tz]);
  let cron = parsed.get(key);
  if (!cron) {
    cron = new calendar(expr, { mode: "5-or-6-parts", paused: true, ...(tz ? { timezone: tz } : {}) });
    cron.nextRun(); // throws for an unknown zone; the constructor does not
    if (parsed.size >= MAX_PARSED) parsed.clear();
    parsed.set(key, cron);
  }
  return cron;
}
