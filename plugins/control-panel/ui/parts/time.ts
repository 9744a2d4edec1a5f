/** Times, durations and amounts in the language of the reader. */
import { html, type TemplateResult } from "lit";
import { locale } from "../core/text.ts";

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000_000],
  ["month", 2_592_000_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** Formatters of the current language. Making one takes longer than drawing a row. */
let formatters = { locale: "", made: new Map<string, unknown>() };

function kept<T>(name: string, make: () => T): T {
  if (formatters.locale !== locale) formatters = { locale, made: new Map() };
  const { made } = formatters;
  if (!made.has(name)) made.set(name, make());
  return made.get(name) as T; // made under this name
}

/** `3 minutes ago`, `in 2 hours`. @param at epoch ms */
export function relative(at: number, now: number = Date.now()): string {
  const distance = at - now;
  const [unit, size] = UNITS.find(([, ms]) => Math.abs(distance) >= ms) ?? (["second", 1_000] as const);
  const format = kept("ago", () => new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" }));
  return format.format(Math.trunc(distance / size), unit);
}

/** Date and time of day. @param at epoch ms */
export function absolute(at: number): string {
  return kept("at", () => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })).format(at);
}

/** A relative time whose exact one shows on hover. @param at epoch ms; absent: a dash */
export function ago(at: number | null | undefined): TemplateResult {
  if (at === undefined || at === null) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${new Date(at).toISOString()} title=${absolute(at)}>${relative(at)}</time>`;
}

/** `850 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toLocaleString(locale, { maximumFractionDigits: 1 })} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`;
}

/** As `duration`, without a rest of zero: `30 min`. */
export function shortDuration(ms: number): string {
  return duration(ms).replace(/ 0 (s|min|h)$/, "");
}

/** A duration in whole hours or days, in words: `1 hour`, `30 days`. */
export function wholeDuration(ms: number): string {
  const [unit, size] = (
    [
      ["day", 86_400_000],
      ["hour", 3_600_000],
      ["minute", 60_000],
    ] as const
  ).find(([name, length]) => ms % length === 0 && (name !== "day" || ms > length)) ?? ["second", 1_000];
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(ms / size);
}

/** Offset of the time zone of the reader, as the gateway takes it: `UTC+5:30`. */
export function utcOffset(): string {
  const minutes = -new Date().getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}:${String(rest).padStart(2, "0")}`;
}

/** `1.2K`, `3.4M`. */
export function compact(amount: number): string {
  return kept("compact", () => new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 })).format(
    amount,
  );
}

/** `12 kB`, `3.4 MB`. */
export function bytes(amount: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = amount;
  let unit = 0;
  while (size >= 1_000 && unit < units.length - 1) {
    size /= 1_000;
    unit++;
  }
  return `${size.toLocaleString(locale, { maximumFractionDigits: size < 10 && unit > 0 ? 1 : 0 })} ${units[unit]}`;
}

/** `$0.0042`, `$12.30`: small amounts keep two digits that count. */
export function dollars(amount: number): string {
  const isSmall = amount > 0 && amount < 0.01;
  const digits = isSmall ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  const money = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", ...digits } as const;
  return kept(`dollars ${isSmall}`, () => new Intl.NumberFormat(locale, money)).format(amount);
}

/** Day and month. @param at epoch ms */
export function dayOf(at: number): string {
  return kept("day", () => new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" })).format(at);
}

/** Weekday and date in words. @param at epoch ms */
export function fullDay(at: number): string {
  const parts = { weekday: "long", day: "numeric", month: "long", year: "numeric" } as const;
  return kept("full", () => new Intl.DateTimeFormat(locale, parts)).format(at);
}

/** @param at epoch ms */
export function timeOfDay(at: number): string {
  return kept("time", () => new Intl.DateTimeFormat(locale, { timeStyle: "short" })).format(at);
}
