/** Times and durations as people write and read them. Pure, except for the zone of this machine. */
import { localTime, parseDuration } from "@svc/kit/time";
import { parseMoment } from "../schedule/moment.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
/** The units of `spanText`, largest first. */
const SHOWN = ["d", "h", "m", "s"] as const;
/** A hundred years; anything longer is a mistake. */
const MOST_MS = 36_525 * 86_400_000;
/** The last moment a `Date` can hold. */
const LAST_MS = 8.64e15;

/** Milliseconds of `30s`, `5m`, `2h`, `1d`, `1w`, `500ms`, or several as `1h30m`; `0` needs no unit. `undefined`: not a duration. */
export function parseSpan(text: string): number | undefined {
  const wanted = text.trim();
  if (/^\d*[1-9]\d*$/.test(wanted)) return undefined; // a number without a unit is ambiguous
  const ms = parseDuration(wanted);
  return ms <= MOST_MS ? ms : undefined;
}

/** Reads `+20m`, or a moment as the gateway does: ISO 8601, UTC without a zone. @param now epoch ms @returns ISO 8601 */
export function parseWhen(text: string, now: number): string | undefined {
  const wanted = text.trim();
  const span = wanted.startsWith("+") ? parseSpan(wanted.slice(1)) : undefined;
  const at = wanted.startsWith("+") ? (span === undefined ? undefined : now + span) : parseMoment(wanted);
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** The inverse of `parseSpan`: `1d2h`, `1m30s`, `250ms`. @param ms 0 or more */
export function spanText(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0) return `${ms}ms`;
  if (ms === 0) return "0s";
  const parts: string[] = [];
  let rest = ms;
  for (const unit of SHOWN) {
    const size = UNIT_MS[unit] ?? 1;
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return [...parts, ...(rest > 0 ? [`${rest}ms`] : [])].join("");
}

/** `Sat 2026-01-03 12:05 GMT+1`, or the number itself for an invalid moment. @param zone IANA name; default: that of this machine */
export function localText(at: number, zone?: string): string {
  return Number.isFinite(at) && Math.abs(at) <= LAST_MS ? localTime(at, zone) : String(at);
}

/** `in 5m`, `2h ago`, `now`: the two largest units. */
export function distanceText(at: number, now: number): string {
  const ms = Math.abs(at - now);
  if (ms < 1_000) return "now";
  const text = roughly(ms);
  return at > now ? `in ${text}` : `${text} ago`;
}

/** `12s`, `1m30s`, `2h`: rounded down to seconds, from an hour on to minutes, from a day on to hours. */
export function roughly(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const grain = ms >= 86_400_000 ? 3_600_000 : ms >= 3_600_000 ? 60_000 : 1_000;
  return spanText(Math.floor(ms / grain) * grain);
}
