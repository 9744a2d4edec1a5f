/** When jobs are due. Pure, but for the zone of this machine and the library that knows calendars, which is loaded first. */
import { createHash } from "node:crypto";
import { messageOf, unavailable } from "@svc/sdk";
import type { CronSchedule } from "@svc/sdk/cron";
import type { Cron } from "croner";

type CronClass = typeof Cron;

/** Spec: protocol/methods-cron.md §10: milliseconds between two times of one expression. */
const MIN_GAP_MS = 2_000;
/** Choice: expressions that are kept parsed; reading one takes a tenth of a millisecond. */
const MAX_PARSED = 1_000;
/** Choice: milliseconds between two times of `every`, which the protocol lets be 1: more than one a second keeps a gateway busy with nothing else. */
export const SHORTEST_EVERY_MS = 1_000;

let calendar: CronClass | undefined;
const parsed = new Map<string, Cron>();

/** To be awaited before anything else here is called; the library is imported once somebody has a job. */
export async function loadCalendar(): Promise<void> {
  calendar ??= (await import("croner")).Cron;
}

/** @throws GatewayError `UNAVAILABLE` for an expression or a zone nobody can read, and for times too close together */
export function checkSchedule(schedule: CronSchedule): void {
  if (schedule.kind === "every" && schedule.everyMs < SHORTEST_EVERY_MS)
    unavailable(`Error: everyMs must be at least ${SHORTEST_EVERY_MS}, one second`);
  if (schedule.kind === "at" && atOf(schedule) === undefined) unavailable(`Error: at "${schedule.at}" is no time`);
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

/**
 * The first time after `after` (epoch ms) a job is due; `undefined`: there is none.
 * Choice: times of `every` lie on the grid of its anchor, whenever the job really ran, so that they do not drift.
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

/** The time after `slot`, which is one itself. */
export function followingSlot(schedule: CronSchedule, jobId: string, slot: number): number | undefined {
  return nextSlot(schedule, jobId, schedule.kind === "cron" ? slot + MIN_GAP_MS - 1 : slot);
}

/** How many times there are from `first` on, before `next`, both such times; `undefined`: only counting would tell. */
export function slotsBetween(schedule: CronSchedule, first: number, next: number): number | undefined {
  return schedule.kind === "every" ? (next - first) / schedule.everyMs : undefined;
}

/** epoch ms; `undefined`: it is no time. */
export function atOf({ at }: { readonly at: string }): number | undefined {
  const time = /^\d+$/.test(at) ? Number(at) : Date.parse(at);
  return Number.isFinite(time) ? time : undefined;
}

/** Spec: §10: the job's own part of `staggerMs`. */
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
    cron.nextRun(); // a zone nobody knows is only noticed here
    if (parsed.size >= MAX_PARSED) parsed.clear();
    parsed.set(key, cron);
  }
  return cron;
}
