/** How often a heart beats. Pure. Spec: http/sessions-routing.md §7.1. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
/** Choice: milliseconds of the shortest interval; a shorter one is this. */
const SHORTEST_MS = 1_000;

/** Milliseconds of `30m`, `1h30m` or a bare number of minutes; `null` for 0 and for what is no duration: it does not beat. */
export function everyMsOf(every: string): number | null {
  const text = every.trim().toLowerCase();
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 60_000 : sumOf(text);
  return ms > 0 && Number.isSafeInteger(Math.round(ms)) ? Math.max(SHORTEST_MS, Math.round(ms)) : null;
}

/** 0 for what is no duration. */
function sumOf(text: string): number {
  if (text.replace(PART, "") !== "") return 0;
  return [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ""] ?? 0),
    0,
  );
}
