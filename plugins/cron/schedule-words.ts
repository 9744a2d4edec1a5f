/** Schedules in the words of older clients, and moments as people write them. Pure. Spec: methods-cron.md §1, §2. */
import type { CronSchedule } from "@svc/sdk/cron";
import { defined, type Fields, isBlank, isFields, trimmed, wordOf } from "./fields.ts";

const KINDS = ["at", "every", "cron"];
/** Jobs of the full hour are spread over its first minutes. Spec: §2. */
const FULL_HOUR_STAGGER_MS = 300_000;
const PAST_MS = 60_000;
const AHEAD_MS = 10 * 365.25 * 86_400_000;
/** Last moment a date can stand for. */
const LAST_MS = 8.64e15;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/**
 * ISO 8601 or epoch ms as digits; without a zone it is UTC, a date is its first moment.
 * @returns epoch ms; `undefined` for anything else, days that are in no calendar included. Spec: §1.
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

/** What is wrong with the moment of a schedule as it was given; `undefined`: nothing. @param now epoch ms. Spec: §2 */
export function refusedMoment(schedule: CronSchedule | undefined, now?: number): string | undefined {
  if (schedule?.kind !== "at") return undefined;
  const at = parseMoment(schedule.at);
  if (at === undefined) return "must be ISO 8601 or epoch ms, e.g. 2030-01-31T09:00:00Z";
  if (now === undefined) return undefined;
  if (at < now - PAST_MS) return `must not be in the past; it is ${iso(now)} now`;
  return at > now + AHEAD_MS ? "must not be more than 10 years ahead" : undefined;
}

/** A schedule put right as far as it can be; nothing is refused here. */
export function plainSchedule(given: unknown): unknown {
  if (!isFields(given)) return given;
  const { atMs, cron, ...rest } = given;
  const at = isBlank(rest["at"]) ? (atMs ?? rest["at"]) : rest["at"];
  const expr = isBlank(rest["expr"]) ? (cron ?? rest["expr"]) : rest["expr"];
  const kind = isBlank(rest["kind"]) ? impliedKind({ at, expr, everyMs: rest["everyMs"] }) : rest["kind"];
  return defined<Fields>({
    ...rest,
    kind: wordOf(KINDS, kind),
    at: plainMoment(at),
    expr: trimmed(expr),
    tz: isBlank(rest["tz"]) ? undefined : trimmed(rest["tz"]),
  });
}

/** What a new schedule has where nothing is said. @param now epoch ms */
export function withScheduleDefaults(schedule: unknown, now: number): unknown {
  if (!isFields(schedule)) return schedule;
  const { kind, expr, staggerMs, anchorMs } = schedule;
  if (kind === "every" && anchorMs === undefined) return { ...schedule, anchorMs: now };
  if (kind !== "cron" || staggerMs !== undefined || typeof expr !== "string") return schedule;
  return defined<Fields>({ ...schedule, staggerMs: defaultStaggerMs(expr) });
}

/** For minute 0 of every hour, or of every so many. @returns milliseconds; `undefined`: none */
export function defaultStaggerMs(expr: string): number | undefined {
  const fields = expr.trim().split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) return undefined;
  const [hour = "", minute = "", second = "0"] = fields.slice(0, fields.length - 3).reverse();
  const isFullHour = /^0+$/.test(minute) && /^0+$/.test(second) && hour.includes("*");
  return isFullHour ? FULL_HOUR_STAGGER_MS : undefined;
}

function impliedKind({ at, everyMs, expr }: Fields): string | undefined {
  if (at !== undefined) return "at";
  if (everyMs !== undefined) return "every";
  return expr === undefined ? undefined : "cron";
}

function plainMoment(at: unknown): unknown {
  const text = typeof at === "number" ? String(at) : at;
  if (typeof text !== "string") return text;
  const ms = parseMoment(text);
  return ms === undefined ? text.trim() : iso(ms);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
