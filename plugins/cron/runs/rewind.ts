/**
 * Undoes what a clock that was ahead has left: records of times that have not come, and next runs that are far away.
 *
 * A run that took place keeps its record, so its time does not run again when it comes. Choice: a job of a single time is left
 * alone; what was decided of it stands.
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

/** The times of a job where they change. @param recorded what has a record after `now` */
function timesAt(
  { definition: { id }, facts, nextAt, heldUntil }: StoredJob,
  schedule: CronSchedule,
  recorded: readonly Span[],
  now: number,
): JobChange | undefined {
  let slot = nextSlot(schedule, id, now);
  while (slot !== undefined && isCovered(recorded, slot)) slot = nextSlot(schedule, id, slot);
  const isLate = nextAt !== undefined && slot !== undefined && slot < nextAt;
  const isHeld = heldUntil > 0 && (facts.lastRunAtMs ?? 0) > now; // by a run of the clock that was ahead
  return isLate || isHeld ? { nextAt: isLate ? slot : nextAt, heldUntil: isHeld ? 0 : heldUntil } : undefined;
}
