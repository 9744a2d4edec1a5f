/** `[Dow YYYY-MM-DD HH:MM TZ]`, the stamp a model sees before a user's words. Spec: protocol/methods-agent.md §1. */

/** @param timeZone IANA name; default: the zone of this machine. */
export function timeStamp(epochMs: number, timeZone?: string): string {
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

/** Kept: making one costs about 30 microseconds, and every user message of a transcript is stamped at each turn. */
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
