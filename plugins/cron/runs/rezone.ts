/**
 * Recomputes the next runs of jobs without `tz` after the user's zone changed.
 *
 * Choice: existing jobs use the new zone from their next run on, also those whose next run was set by hand. A run that is
 * already due still takes place.
 */
import { machineZone } from "@svc/kit/time";
import type { Clock } from "@svc/sdk";
import type { JobChanges } from "../store/job-changes.ts";
import type { CronStore } from "../store/store.ts";
import { nextSlot, zoned } from "../schedule/calendar.ts";

export interface RezoneSources {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly clock: Pick<Clock, "now">;
  /** `agents.defaults.userTimezone`, else the zone of this machine; IANA name. */
  readonly timeZone: () => string;
}

/** Call this at the start and after a change of the configuration. Does nothing while the zone is the same. */
export async function rezone({ store, changes, clock, timeZone }: RezoneSources): Promise<void> {
  const zone = timeZone();
  const stored = await store.zone();
  if (stored === zone) return;
  // Earlier versions stored no zone; they used the zone of the machine.
  if ((stored ?? machineZone()) !== zone)
    for (const { definition } of await store.dueAfter(clock.now()))
      await changes.change(definition.id, (job) => {
        const now = clock.now();
        if (!job?.nextAt || job.nextAt <= now) return { result: undefined };
        const { schedule, id } = job.definition;
        if (schedule.kind !== "cron" || schedule.tz) return { result: undefined };
        return { job: { nextAt: nextSlot(zoned(schedule, zone), id, now) }, result: undefined };
      });
  await store.write([store.setZone(zone)]);
}
