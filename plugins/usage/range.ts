/** The days of a usage report, and their time zone. Pure. Spec: protocol/methods-usage.md §2. */
import { type CalendarDay, calendarDay, hourOfDay, isTimeZone } from "@svc/kit/time";
import { invalidRequest } from "@svc/sdk";
import type { UsagePeriod } from "@svc/sdk/usage";

type Zone = UsagePeriod["zone"];

/** Whole days as a period. */
export interface UsageRange extends UsagePeriod {
  /** UTC dates of the first and the last moment. */
  readonly startDate: string;
  readonly endDate: string;
}

const MINUTE_MS = 60_000;
const DEFAULT_DAYS = 30;

/** Parameters that select a range. */
export interface UsageDates {
  /** `YYYY-MM-DD`; one alone is ignored. */
  readonly startDate?: string;
  readonly endDate?: string;
  /** Number of days up to and including today. Default 30. */
  readonly days?: number;
  /** Time zone of the days. Default `utc`; `gateway`: agents.defaults.userTimezone; `specific`: `utcOffset`, e.g. `UTC+5:30`. */
  readonly mode?: "utc" | "gateway" | "specific";
  readonly utcOffset?: string;
  /** IANA name, for mode `specific`; takes precedence over `utcOffset`. */
  readonly timeZone?: string;
}

/**
 * @param timeZone IANA name, for mode `gateway`
 * @throws GatewayError `INVALID_REQUEST` for an unknown `timeZone`, a date that is not in the calendar, or a range that ends before it starts
 */
export function usageRange(dates: UsageDates, now: number, timeZone: string): UsageRange {
  const zone = zoneOf(dates, timeZone);
  const { startDate, endDate, days = DEFAULT_DAYS } = dates;
  // One date alone is ignored. Spec: §2.
  if (startDate !== undefined && endDate !== undefined) {
    const from = dayStart(startDate, 0, zone);
    const to = dayStart(endDate, 1, zone) - 1;
    if (to < from) invalidRequest(`startDate ${startDate} is after endDate ${endDate}; swap them`);
    return range(from, to, zone);
  }
  const today = typeof zone === "string" ? calendarDay(now, zone) : calendarDay(now + zone.offsetMs, "UTC");
  return range(startOf(today, 1 - days, zone), startOf(today, 1, zone) - 1, zone);
}

function range(from: number, to: number, zone: Zone): UsageRange {
  return { from, to, zone, startDate: utcDate(from), endDate: utcDate(to) };
}

function zoneOf({ mode, utcOffset = "", timeZone: given }: UsageDates, timeZone: string): Zone {
  if (mode === "gateway") return timeZone;
  if (mode === "specific" && given !== undefined) return isTimeZone(given) ? given : refuseZone(given);
  const [, sign, hours, minutes = "0"] = /^UTC([+-])(\d{1,2})(?::([0-5]\d))?$/.exec(utcOffset) ?? [];
  if (mode !== "specific" || sign === undefined) return { offsetMs: 0 };
  const offset = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const isReal = offset >= -12 * 60 && offset <= 14 * 60;
  return { offsetMs: isReal ? offset * MINUTE_MS : 0 };
}

function refuseZone(name: string): never {
  invalidRequest(`unknown time zone "${name}"; use an IANA name, e.g. Europe/Berlin`);
}

/** First moment of the day that is `plus` days after `date`. */
function dayStart(date: string, plus: number, zone: Zone): number {
  const [year = 0, month = 0, day = 0] = date.split("-").map(Number);
  const midnight = Date.UTC(year, month - 1, day);
  if (utcDate(midnight) !== date) invalidRequest(`${date} is not a valid date; use YYYY-MM-DD`);
  return startOf({ year, month, day }, plus, zone);
}

function startOf({ year, month, day }: CalendarDay, plus: number, zone: Zone): number {
  if (typeof zone === "string") return hourOfDay({ year, month, day: day + plus }, 0, zone);
  return Date.UTC(year, month - 1, day + plus) - zone.offsetMs;
}

function utcDate(at: number): string {
  return Number.isFinite(at) ? new Date(at).toISOString().slice(0, 10) : "";
}
