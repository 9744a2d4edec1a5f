/** Durations and sizes as written in the configuration, and for people. Pure. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const UNIT_BYTES: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 };

/** Schema pattern for `parseDuration`; rejects 0. */
export const DURATION_PATTERN = "^(?=.*[1-9])\\s*\\d+(?:\\.\\d+)?\\s*(?:ms|s|m|h|d|w)?\\s*$";
/** Schema pattern for `parseSize`; rejects 0. */
export const SIZE_PATTERN = "^(?=.*[1-9])\\s*\\d+(?:\\.\\d+)?\\s*(?:[bB]|[kmgtKMGT][bB]?)?\\s*$";

const PART = /(\d+(?:\.\d+)?)\s*(ms|[smhdw])/g;

/**
 * Milliseconds of `30d`, `500ms`, `1h30m` or a bare number; `NaN` for anything else.
 * @param bare unit of a bare number: `ms`, `s`, `m`, `h`, `d`, `w`. Spec: http/config.md §7.4
 */
export function parseDuration(value: string | number, bare = "d"): number {
  const text = String(value).trim().toLowerCase();
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * (UNIT_MS[bare] ?? Number.NaN));
  if (text === "" || text.replace(PART, "").trim() !== "") return Number.NaN;
  const parts = [...text.matchAll(PART)].map(([, amount, unit = ""]) => Number(amount) * (UNIT_MS[unit] ?? Number.NaN));
  return Math.round(parts.reduce((sum, ms) => sum + ms, 0));
}

/** Bytes of `10mb`, `2G` or a bare number; units are powers of 1024. */
export function parseSize(value: string | number): number {
  const [, amount = "0", unit = ""] = /^\s*([\d.]+)\s*([a-z]*)\s*$/i.exec(String(value)) ?? [];
  const name = unit.toLowerCase();
  return Math.round(Number(amount) * (UNIT_BYTES[name.endsWith("b") ? name : `${name}b`] ?? Number.NaN));
}

/** For people, e.g. `2.5 MB`; units are powers of 1000. */
export function megabytes(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1_000))} kB`
    : `${Number((bytes / 1_000_000).toFixed(1))} MB`;
}
