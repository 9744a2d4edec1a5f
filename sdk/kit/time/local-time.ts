/**
 * Times and days in a time zone (IANA name, default: the zone of this machine), for models and for calendar days. An
 * unknown zone throws a RangeError.
 */

const DAY_MS = 86_400_000;
/** Choice: no zone changes its offset twice within this period. */
const STEP_MS = 14 * DAY_MS;

/** Formats by options. Cached, because creating one takes about 30 microseconds. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat("en-US", { ...options, hourCycle: "h23" });
  formats.set(key, known);
  return known;
}

function partsOf(at: number, options: Intl.DateTimeFormatOptions) {
  const parts = new Map(
    formatFor(options)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
}

const DATE_AND_TIME = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
} as const;

/** `Sat 2026-01-03 12:05 GMT+1`. @param at epoch ms @param timeZone IANA name; default: the zone of this machine */
export function localTime(at: number, timeZone?: string): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const part = partsOf(at, { ...DATE_AND_TIME, ...zone, weekday: "short", timeZoneName: "short" });
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  return `${part("weekday")} ${date} ${part("hour")}:${part("minute")} ${part("timeZoneName")}`;
}

/** `Current time: Saturday, 2026-01-03, 12:05 (Europe/Berlin)`. @param now epoch ms */
export function currentTimeLine(now: number, timeZone = machineZone()): string {
  const part = partsOf(now, { ...DATE_AND_TIME, timeZone, weekday: "long" });
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  return `Current time: ${part("weekday")}, ${date}, ${part("hour")}:${part("minute")} (${timeZone})`;
}

/** IANA name of the zone of this machine. */
export function machineZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // it only throws for an unknown zone
  }
}

/** Milliseconds by which the zone is ahead of UTC. @param at epoch ms */
export function offsetAt(at: number, timeZone: string): number {
  const part = partsOf(at, { ...DATE_AND_TIME, second: "2-digit", timeZone });
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = CLOCK_PARTS.map((name) =>
    Number(part(name)),
  );
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
}

const CLOCK_PARTS = ["year", "month", "day", "hour", "minute", "second"] as const;

/** A calendar day. `day` may exceed its month or be 0 or negative, as for `Date.UTC`. */
export interface CalendarDay {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
}

/** The calendar day in the zone. @param at epoch ms */
export function calendarDay(at: number, timeZone: string): CalendarDay {
  const shown = new Date(at + offsetAt(at, timeZone));
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() };
}

/**
 * The time, in epoch ms, at which clocks in the zone show this hour. If the clock skips the hour: the first moment
 * after the gap; if the hour occurs twice: the first one.
 */
export function hourOfDay({ year, month, day }: CalendarDay, hour: number, timeZone: string): number {
  const shown = Date.UTC(year, month - 1, day, hour);
  const [before, after] = [offsetAt(shown - DAY_MS, timeZone), offsetAt(shown + DAY_MS, timeZone)];
  const [byBefore, byAfter] = [shown - before, shown - after];
  if (offsetAt(byBefore, timeZone) === before) return byBefore;
  return offsetAt(byAfter, timeZone) === after ? byAfter : changeBetween(byAfter, byBefore, timeZone);
}

/**
 * The offsets of a zone in a period, in order. `until`: epoch ms at which the next one begins; Infinity for the last
 * one.
 */
export function offsetsIn(
  from: number,
  to: number,
  timeZone: string,
): readonly { readonly offsetMs: number; readonly until: number }[] {
  const found: { offsetMs: number; until: number }[] = [{ offsetMs: offsetAt(from, timeZone), until: Infinity }];
  for (let at = from; at < to; at += STEP_MS) {
    const next = Math.min(at + STEP_MS, to);
    const [offsetMs, last] = [offsetAt(next, timeZone), found.at(-1)];
    if (!last || offsetMs === last.offsetMs) continue;
    last.until = changeBetween(at, next, timeZone);
    found.push({ offsetMs, until: Infinity });
  }
  return found;
}

/** The first moment with the offset of `to`; `from` must have another offset. */
function changeBetween(from: number, to: number, timeZone: string): number {
  const offset = offsetAt(to, timeZone);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle, timeZone) === offset) high = middle;
    else low = middle;
  }
  return high;
}
