/** Decides which run times ("slots") since the last check are run, skipped or missed. Pure. */
import type { CronCatchUp, CronSchedule } from "@svc/sdk/cron";
import { nextSlot, slotsBetween } from "./calendar.ts";

/** Choice: milliseconds a run may be late with `catchUp: none`. */
export const GRACE_MS = 60_000;
/** Choice: slots of one check with a record each; older ones share one record. */
export const MAX_SINGLE = 100;
/** Choice: missed slots that `catchUp: all` runs at once. */
export const MAX_MADE_UP = 100;
const DEFAULT_WINDOW_MS = 24 * 3_600_000;

/** Run times that share one record, both ends included; epoch ms. */
export interface Span {
  readonly dueAt: number;
  readonly throughAt: number;
}

/** A job that is due. All times epoch ms. */
export interface DueJob {
  readonly id: string;
  readonly schedule: CronSchedule;
  readonly catchUp: CronCatchUp | undefined;
  /** The first slot without a record. */
  readonly nextAt: number;
  /** End of the back-off after errors. 0: none. */
  readonly heldUntil: number;
  /** Spans from `nextAt` on that already have a record, oldest first. Not empty only after the clock was set back. */
  readonly recorded: readonly Span[];
}

/** The decision about a slot, as recorded. */
export type SlotDecision =
  | { readonly dueAt: number; readonly decision: "run" }
  | {
      readonly dueAt: number;
      readonly decision: "skipped" | "missed";
      readonly reason: string;
      /** The record stands for all slots from `dueAt` to this one. */
      readonly throughAt?: number;
      /** Number of slots the record stands for, where known. */
      readonly slots?: number;
    };

export interface Settlement {
  /** In order of time, each slot without a record once. */
  readonly decisions: readonly SlotDecision[];
  /** The first slot after `now`; `undefined`: there is none. */
  readonly nextAt: number | undefined;
}

/** @param now epoch ms, at least `nextAt` and `heldUntil` */
export function settleSlots(job: DueJob, now: number): Settlement {
  const { crowds, single } = slotsUntil(job, now);
  const newest = single.at(-1);
  const mode = job.catchUp?.mode ?? "last";
  const from = now - (job.catchUp?.windowMs ?? DEFAULT_WINDOW_MS);
  const [firstMadeUp = now] = single.filter((slot) => slot >= from).slice(-MAX_MADE_UP);
  const decisionFor = (slot: number): SlotDecision => {
    if (slot < job.heldUntil && slot !== newest) return { dueAt: slot, decision: "skipped", reason: BACKING_OFF };
    if (mode === "all") {
      if (slot >= from && slot >= firstMadeUp) return { dueAt: slot, decision: "run" };
      return { dueAt: slot, decision: "missed", reason: slot < from ? OUTSIDE_WINDOW : TOO_MANY };
    }
    if (slot !== newest) return { dueAt: slot, decision: "missed", reason: mode === "none" ? LATE : SUPERSEDED };
    // A job in back-off is late on purpose.
    const lateBy = now - Math.max(slot, job.heldUntil);
    return mode === "none" && lateBy > GRACE_MS
      ? { dueAt: slot, decision: "missed", reason: LATE }
      : { dueAt: slot, decision: "run" };
  };
  const reason = mode === "all" ? TOO_MANY : mode === "none" ? LATE : SUPERSEDED;
  const crowded = crowds.map((crowd): SlotDecision => ({ ...crowd, decision: "missed", reason }));
  return { decisions: [...crowded, ...single.map(decisionFor)], nextAt: nextSlot(job.schedule, job.id, now) };
}

/** Recorded reasons. */
export const LATE = "the gateway was not running in time";
export const SUPERSEDED = "a later run was made up for instead";
export const OUTSIDE_WINDOW = "older than the catch-up window";
export const TOO_MANY = "more runs than are made up for at once";
export const BACKING_OFF = "backing off after errors";

interface Crowd extends Span {
  readonly slots?: number;
}

interface Slots {
  /** The oldest slots, which share records because there are too many: one for each stretch without a record. */
  readonly crowds: readonly Crowd[];
  readonly single: readonly number[];
}

function slotsUntil(job: DueJob, now: number): Slots {
  const { id, schedule, nextAt, recorded } = job;
  const { slots: all, isCut } = collect(schedule, id, nextAt, now);
  const single = isCut ? newestSlots(schedule, id, all.at(-1) ?? nextAt, now) : all;
  const [first] = single;
  return {
    crowds: isCut && first !== undefined ? crowdsUntil(job, first) : [],
    single: single.filter((slot) => !isCovered(recorded, slot)),
  };
}

/** Whether a time has a record. */
export function isCovered(recorded: readonly Span[], at: number): boolean {
  return recorded.some(({ dueAt, throughAt }) => dueAt <= at && at <= throughAt);
}

/** The slots from `nextAt` to before `end`, without those that have a record. */
function crowdsUntil({ id, schedule, nextAt, recorded }: DueJob, end: number): readonly Crowd[] {
  const crowds: Crowd[] = [];
  let slot = nextAt;
  for (const { dueAt, throughAt } of [...recorded, { dueAt: end, throughAt: end }]) {
    const until = Math.min(dueAt, end);
    if (slot < until) {
      const slots = slotsBetween(schedule, slot, until);
      crowds.push({ dueAt: slot, throughAt: until - 1, ...(slots === undefined ? {} : { slots }) });
    }
    if (slot <= throughAt) slot = nextSlot(schedule, id, throughAt) ?? end;
  }
  return crowds;
}

/** Slots from `first` on, at most `MAX_SINGLE`. */
function collect(schedule: CronSchedule, id: string, first: number, now: number) {
  const slots: number[] = [];
  for (let slot: number | undefined = first; slot !== undefined && slot <= now;) {
    if (slots.length === MAX_SINGLE) return { slots, isCut: true };
    slots.push(slot);
    slot = nextSlot(schedule, id, slot);
  }
  return { slots, isCut: false };
}

/** The newest slots between `after` and `now`, at most `MAX_SINGLE`. Searches ever further back, since schedules only list forwards. */
function newestSlots(schedule: CronSchedule, id: string, after: number, now: number): readonly number[] {
  let best: readonly number[] = [];
  for (let backMs = 2_000; ; backMs *= 2) {
    const from = Math.max(after, now - backMs);
    const start = nextSlot(schedule, id, from);
    const { slots, isCut } = start === undefined ? { slots: [], isCut: false } : collect(schedule, id, start, now);
    if (isCut) return best;
    best = slots;
    if (from === after) return best;
  }
}
