/** `[Dow YYYY-MM-DD HH:MM TZ]`, the stamp a model sees before a user's words. Spec: protocol/methods-agent.md §1. */

/** Stamps kept: the messages of a transcript are stamped at each turn, and formatting one costs ten microseconds. */
const MOST_KEPT = 4_096;
const stamps = new Map<string, string>();

/** @param timeZone IANA name; default: the zone of this machine. */
export function timeStamp(epochMs: number, timeZone?: string): string {
  const minute = `${timeZone ?? ""} ${Math.floor(epochMs / 60_000)}`;
  const known = stamps.get(minute);
  if (known !== undefined) return known;
  if (stamps.size >= MOST_KEPT) stamps.clear();
  const stamp = format(epochMs, timeZone);
  stamps.set(minute, stamp);
  return stamp;
}

function format(epochMs: number, timeZone: string | undefined): string {
  const parts = new Map(
    formatFor(timeZone)
      .formatToParts(epochMs)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  return `[${part("weekday")} ${date} ${part("hour")}:${part("minute")} ${part("timeZoneName")}]`;
}

const formats = new Map<string | undefined, Intl.DateTimeFormat>();

/** Kept: making one costs about 30 microseconds. */
function formatFor(timeZone: string | undefined): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  formats.set(timeZone, made);
  return made;
}
