/**
 * How the files of the log are called, for the gateway that writes them and whoever reads them. Pure.
 *
 * The file that is written to never has a number: `svc-2026-01-31.log` (a day), or `gateway.log` (a name somebody chose).
 * A full one is renamed and gets the next number: `svc-2026-01-31.3.log`, `gateway.3.log`. Higher is younger.
 */

/** Files that belong together. */
export interface LogSeries {
  /** Before the day or the number. */
  readonly stem: string;
  /** With its dot; may be empty. */
  readonly extension: string;
  /** A file a day. */
  readonly isDaily: boolean;
}

/** What a gateway writes unless it is told otherwise, below `logs` in the state directory. */
export const USUAL_LOG: LogSeries = { stem: "svc-", extension: ".log", isDaily: true };

/** One file of a series. */
export interface LogFileName {
  readonly name: string;
  /** `YYYY-MM-DD`; empty where the series has no days. */
  readonly day: string;
  /** 0: it has no number, and is the youngest of its day. */
  readonly number: number;
  /** The name it has, or will have, once it is full: tells which file a place in the log belongs to. */
  readonly part: string;
}

const DAILY = /^(.*-)(\d{4}-\d{2}-\d{2})(\.[^.]*)?$/;

/** The series a file without a number belongs to. @param name without its directory */
export function logSeries(name: string): LogSeries {
  const [, stem, , extension = ""] = DAILY.exec(name) ?? [];
  if (stem !== undefined) return { stem, extension, isDaily: true };
  const dot = name.lastIndexOf(".");
  const end = dot > 0 ? dot : name.length;
  return { stem: name.slice(0, end), extension: name.slice(end), isDaily: false };
}

/** Name of the file of a day; of the only one where the series has no days. @param number 0 for the file that is written to */
export function logFileName({ stem, extension }: LogSeries, day: string, number = 0): string {
  return `${stem}${day}${number === 0 ? "" : `.${number}`}${extension}`;
}

/** Those of the names that belong to the series, oldest first. */
export function logFiles(series: LogSeries, names: readonly string[]): LogFileName[] {
  const found = names.flatMap((name) => {
    const place = placeOf(series, name);
    return place ? [{ name, ...place }] : [];
  });
  const highest = new Map<string, number>();
  for (const { day, number } of found) highest.set(day, Math.max(number, highest.get(day) ?? 0));
  return found
    .map((file) => ({ ...file, part: logFileName(series, file.day, file.number || (highest.get(file.day) ?? 0) + 1) }))
    .toSorted((a, b) => compareTexts(a.day, b.day) || (a.number || Infinity) - (b.number || Infinity));
}

/** Which of two files of a series is older, by their `part`: negative for the first. `undefined`: one of them is none. */
export function compareParts(series: LogSeries, a: string, b: string): number | undefined {
  const [left, right] = [placeOf(series, a), placeOf(series, b)];
  if (!left || !right) return undefined;
  return compareTexts(left.day, right.day) || left.number - right.number;
}

function placeOf({ stem, extension, isDaily }: LogSeries, name: string): { day: string; number: number } | undefined {
  if (!name.startsWith(stem) || !name.endsWith(extension) || name.length < stem.length + extension.length)
    return undefined;
  const middle = name.slice(stem.length, name.length - extension.length);
  const [whole, day = "", number = "0"] =
    (isDaily ? /^(\d{4}-\d{2}-\d{2})(?:\.([1-9]\d{0,8}))?$/ : /^()(?:\.([1-9]\d{0,8}))?$/).exec(middle) ?? [];
  return whole === undefined ? undefined : { day, number: Number(number) };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
