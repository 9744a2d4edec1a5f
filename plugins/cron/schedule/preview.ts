/** The next run times of a schedule that is not saved, for people who write one. Choice: not part of the protocol of other clients. */
import { invalidRequest, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { cron, CronSchedule } from "@svc/sdk/cron";
import { atOf, checkSchedule, completed, loadCalendar, nextSlot, zoned } from "./calendar.ts";
import { refusedMoment } from "./moment.ts";

/** Choice: run times without `count`. */
const COUNT = 5;

/**
 * The times at which a job with this schedule would run, from now on.
 * @param at.now epoch ms
 * @param at.timeZone the zone of expressions without `tz`, IANA name
 * @throws GatewayError `UNAVAILABLE` or `INVALID_REQUEST` with the reason for which `cron.add` refuses the schedule
 */
export async function preview(
  { schedule, id, count = COUNT }: ParamsOf<typeof cron.preview>,
  { now, timeZone }: { readonly now: number; readonly timeZone: string },
): Promise<ResultOf<typeof cron.preview>> {
  await loadCalendar();
  const wrong = refusedMoment(schedule, now);
  if (wrong !== undefined) return invalidRequest(`invalid cron.preview params: at /schedule/at: ${wrong}`);
  const wanted = zoned(completed(schedule, now), timeZone);
  checkSchedule(wanted);
  if (wanted.kind === "at") {
    const at = atOf(wanted);
    return { times: at === undefined ? [] : [at] };
  }
  if (wanted.kind === "every") return { times: timesOf(wanted, "", now, count) };
  const { staggerMs = 0, ...exact } = wanted;
  const zone = exact.tz === undefined ? {} : { timeZone: exact.tz };
  if (id !== undefined || staggerMs === 0) return { times: timesOf(wanted, id ?? "", now, count), ...zone };
  return { times: timesOf(exact, "", now, count), ...zone, spreadMs: staggerMs };
}

function timesOf(schedule: CronSchedule, id: string, now: number, count: number): number[] {
  const times: number[] = [];
  for (let after = now; times.length < count;) {
    const next = nextSlot(schedule, id, after);
    if (next === undefined) break;
    times.push(next);
    after = next;
  }
  return times;
}
