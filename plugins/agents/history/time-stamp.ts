/** `[Dow YYYY-MM-DD HH:MM TZ]`, the stamp a model sees before a user's words. Spec: protocol/methods-agent.md §1. */
import { localTime } from "@svc/sdk/services";

/** Stamps kept: the messages of a transcript are stamped at each turn, and formatting one costs ten microseconds. */
const MOST_KEPT = 4_096;
const stamps = new Map<string, string>();

/** @param timeZone IANA name; default: the zone of this machine. */
export function timeStamp(epochMs: number, timeZone?: string): string {
  const minute = `${timeZone ?? ""} ${Math.floor(epochMs / 60_000)}`;
  const known = stamps.get(minute);
  if (known !== undefined) return known;
  if (stamps.size >= MOST_KEPT) stamps.clear();
  const stamp = `[${localTime(epochMs, timeZone)}]`;
  stamps.set(minute, stamp);
  return stamp;
}
