/** Parses a moment as people and older clients write it. Pure. Spec: methods-cron.md §1, §2. */
import type { CronSchedule } from "@svc/sdk/cron";

/** The last moment a `Date` can hold. */
const LAST_MS = 8.64e15;
/** Spec: §2: how far a job's moment may lie in the past or future when it is set. */
export const PAST_MS = 60_000;
const AHEAD_MS = 10 * 365.25 * 86_400_000;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/**
 * Reads ISO 8601, or epoch ms as digits. UTC without a zone; a date alone is its first moment.
 * @returns epoch ms; `undefined` for anything else, and for dates that do not exist (`2030-02-30`)
 */
export function parseMoment(text: string): number | undefined {
  const wanted = text.trim();
  if (/^\d{1,16}$/.test(wanted)) return Number(wanted) <= LAST_MS ? Number(wanted) : undefined;
  const [whole, year, month, day, hour = "0", minute = "0", second = "0", fraction = "", zone = "Z"] =
    ISO.exec(wanted) ?? [];
  if (whole === undefined) return undefined;
  const fields = [year, month, day, hour, minute, second].map(Number);
  const [y = 0, mon = 0, d = 0, h = 0, min = 0, s = 0] = fields;
  const date = new Date(Date.UTC(y, mon - 1, d, h, min, s));
  date.setUTCFullYear(y, mon - 1, d); // `Date.UTC` takes the year 50 for 1950
  const read = [date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()];
  const offsetMs = zoneOffsetMs(zone);
  if ([mon, d, h, min].some((part, at) => part !== read[at]) || s > 59 || offsetMs === undefined) return undefined;
  return date.getTime() + Number(fraction.slice(0, 3).padEnd(3, "0")) - offsetMs;
}

function zoneOffsetMs(zone: string): number | undefined {
  if (zone.toUpperCase() === "Z") return 0;
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Why a schedule's moment is refused; `undefined`: it is valid. @param now epoch ms; absent: only the format is checked */
export function refusedMoment(schedule: CronSchedule | undefined, now?: number): string | undefined {
  if (schedule?.kind !== "at") return undefined;
  const at = parseMoment(schedule.at);
  if (at === undefined) return "must be ISO 8601 or epoch ms, e.g. 2030-01-31T09:00:00Z";
  if (now === undefined) return undefined;
  if (at < now - PAST_MS) return `must not be in the past; it is ${new Date(now).toISOString()} now`;
  return at > now + AHEAD_MS ? "must not be more than 10 years ahead" : undefined;
}
