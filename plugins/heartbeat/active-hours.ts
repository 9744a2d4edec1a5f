/** The hours in which heartbeats run. Pure except for the zone `local`. Spec: http/sessions-routing.md §7.1. */
import type { HeartbeatConfig } from "@svc/sdk/heartbeat";

type ActiveHours = NonNullable<HeartbeatConfig["activeHours"]>;

const DAY = 24 * 60;
const TIME = /^(\d\d):(\d\d)$/;
/** Formats by zone; cached, since creating one takes about 30 microseconds. */
const formats = new Map<string, Intl.DateTimeFormat | undefined>();

/**
 * Whether `now` (epoch ms) is within the hours, `start` included, `end` excluded. They may cross midnight; equal times mean
 * never. Invalid hours or an invalid zone mean always. Choice: `start` defaults to 00:00, `end` to 24:00.
 * @param userZone IANA name of the zone `user`, which is the default
 */
export function isWithin(hours: ActiveHours | undefined, now: number, userZone: string): boolean {
  if (!hours) return true;
  const [start, end] = [minuteOf(hours.start ?? "00:00", DAY - 1), minuteOf(hours.end ?? "24:00", DAY)];
  const minute = minuteOfDay(now, hours.timezone ?? "user", userZone);
  if (start === undefined || end === undefined || minute === undefined) return true;
  if (start === end) return false;
  return start < end ? start <= minute && minute < end : start <= minute || minute < end;
}

/** Minute of the day; `undefined` for an invalid time. */
function minuteOf(text: string, last: number): number | undefined {
  const [, hours, minutes] = TIME.exec(text.trim()) ?? [];
  if (hours === undefined || Number(minutes) > 59) return undefined;
  const minute = Number(hours) * 60 + Number(minutes);
  return minute <= last ? minute : undefined;
}

/** Local minute of the day in a zone; `undefined`: unknown zone. */
function minuteOfDay(now: number, timezone: string, userZone: string): number | undefined {
  const word = timezone.trim().toLowerCase();
  const zone = word === "user" ? userZone : word === "local" ? "" : timezone.trim();
  if (!formats.has(zone)) formats.set(zone, formatOf(zone));
  const parts = formats.get(zone)?.formatToParts(now);
  const numberOf = (wanted: string) => Number(parts?.find(({ type }) => type === wanted)?.value);
  return parts && numberOf("hour") * 60 + numberOf("minute");
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  try {
    return new Intl.DateTimeFormat("en-US", zone === "" ? options : { ...options, timeZone: zone });
  } catch {
    return undefined; // it throws only for an unknown zone
  }
}
