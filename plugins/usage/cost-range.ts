/** The days of `usage.cost`; unusable parameters are ignored. Pure. Spec: protocol/methods-usage.md §2-3. */
import { isGatewayError, type ParamsOf } from "@svc/sdk";
import type { usage } from "@svc/sdk/usage";
import { type UsageDates, type UsageRange, usageRange } from "./range.ts";

/** Choice: a hundred years. */
const MAX_DAYS = 36_500;
const DAY_MS = 86_400_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** An unusable value counts as absent; never throws. */
export function costRange(params: ParamsOf<typeof usage.cost>, now: number, timeZone: string): UsageRange {
  const { mode, utcOffset } = params;
  const days = daysOf(params.days);
  const zone: UsageDates = {
    ...(mode === "gateway" || mode === "specific" ? { mode } : {}),
    ...(typeof utcOffset === "string" ? { utcOffset } : {}),
    ...(days === undefined ? {} : { days }),
  };
  const [startDate, endDate] = [dateOf(params.startDate), dateOf(params.endDate)];
  if (startDate === undefined || endDate === undefined) return usageRange(zone, now, timeZone);
  try {
    return usageRange({ ...zone, startDate, endDate }, now, timeZone);
  } catch (error) {
    if (isGatewayError(error)) return usageRange(zone, now, timeZone); // not a calendar day, or the end precedes the start
    throw error;
  }
}

/** `days` of the result: one more than the range has. Spec: §3. */
export function answerDays({ from, to }: UsageRange): number {
  return Math.round((to + 1 - from) / DAY_MS) + 1; // a day with a clock change is not 24 hours long
}

function dateOf(value: unknown): string | undefined {
  return typeof value === "string" && DATE.test(value) ? value : undefined;
}

/** A number, or a text of digits. */
function daysOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
  return Math.min(Math.max(1, Math.floor(number)), MAX_DAYS);
}
