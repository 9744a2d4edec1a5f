/**
 * Undoes the effects of a clock that was ahead: records of future run times, and next runs too far in the future.
 *
 * A run that took place keeps its record, so it is not repeated when its time comes. Choice: jobs that run once are left
 * unchanged.
 */
import type { Clock, Logger } from "@svc/sdk";
import type { CronSchedule } from "@svc/sdk/cron";
import type { JobChanges } from "../store/job-changes.ts";
import type { StoredJob } from "../store/records.ts";
import type { CronStore, JobChange } from "../store/store.ts";
import { nextSlot, slotsBetween, zoned } from "../schedule/calendar.ts";
import { isCovered, type Span } from "../schedule/slots.ts";

export interface RewindSources {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
  /** The zone of schedules without `tz`, IANA name. */
  readonly timeZone: () => string;
}

/** Call this after the clock was set back. */
export async function rewind({ store, changes, clock, log, timeZone }: RewindSources): Promise<void> {
  const jobs = await store.dueAfter(clock.now());
  for (const { definition } of jobs) {
    const { id } = definition;
    const schedule = zoned(definition.schedule, timeZone());
    await changes.change(id, async (job) => {
      const now = clock.now();
      if (!job || job.definition.schedule.kind === "at") return { result: undefined };
      const { premature, kept } = await store.beyond(id, now);
      const shared = premature.find(({ dueAt }) => dueAt <= now);
      const beside = [
        ...(premature.length > 0 ? [store.retract(id, now)] : []),
        ...(shared ? [store.shorten(shared, now, slotsBetween(schedule, shared.dueAt, now + 1))] : []),
      ];
      const change = timesAt(job, schedule, kept, now);
      return { ...(change ? { job: change } : {}), beside, result: undefined };
    });
  }
  log.warn({ jobs: jobs.length }, "the clock was set back; the next runs of cron jobs were computed again");
}

/** The changed times of a job; `undefined`: none. @param recorded spans with a record after `now` */
function timesAt(
  { definition: { id }, facts, nextAt, heldUntil }: StoredJob,
  schedule: CronSchedule,
  recorded: readonly Span[],
  now: number,
): JobChange | undefined {
  let slot = nextSlot(schedule, id, now);
  while (slot !== undefined && isCovered(recorded, slot)) slot = nextSlot(schedule, id, slot);
  const isLate = nextAt !== undefined && slot !== undefined && slot < nextAt;
  const isHeld = heldUntil > 0 && (facts.lastRunAtMs ?? 0) > now; // set by a run while the clock was ahead
  return isLate || isHeld ? { nextAt: isLate ? slot : nextAt, heldUntil: isHeld ? 0 : heldUntil } : undefined;
}
