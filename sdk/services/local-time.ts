/** Times as models are told them, in the zone of this machine. Pure but for that zone. */

function partsOf(at: number, options: Intl.DateTimeFormatOptions) {
  const format = new Intl.DateTimeFormat("en-US", { ...options, hourCycle: "h23" });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
}

const DATE_AND_TIME = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
} as const;

/** `Sat 2026-01-03 12:05 GMT+1`. @param at epoch ms */
export function localTime(at: number): string {
  const part = partsOf(at, { ...DATE_AND_TIME, weekday: "short", timeZoneName: "short" });
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  return `${part("weekday")} ${date} ${part("hour")}:${part("minute")} ${part("timeZoneName")}`;
}

/** `Current time: Saturday, 2026-01-03, 12:05 (Europe/Berlin)`. @param now epoch ms */
export function currentTimeLine(now: number): string {
  const part = partsOf(now, { ...DATE_AND_TIME, weekday: "long" });
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return `Current time: ${part("weekday")}, ${date}, ${part("hour")}:${part("minute")} (${timeZone})`;
}
