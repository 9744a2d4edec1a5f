/**
 * Names of log files, for the gateway that writes them and for readers. Pure.
 *
 * The current file has no number: `svc-2026-01-31.log` (daily), or `gateway.log` (a configured name). A full file is
 * renamed with the next number: `svc-2026-01-31.3.log`, `gateway.3.log`. Higher numbers are newer.
 */

/** A series of log files. */
export interface LogSeries {
  /** The part before the day or number. */
  readonly stem: string;
  /** Including the dot; may be empty. */
  readonly extension: string;
  /** One file per day. */
  readonly isDaily: boolean;
}

/** Default log files, below `logs` in the state directory. */
export const USUAL_LOG: LogSeries = { stem: "svc-", extension: ".log", isDaily: true };

/** One file of a series. */
export interface LogFileName {
  readonly name: string;
  /** `YYYY-MM-DD`; empty if the series is not daily. */
  readonly day: string;
  /** 0: the current file, the newest of its day. */
  readonly number: number;
  /** The numbered name the file has or will get when it is full; identifies the file in log positions. */
  readonly part: string;
}

const DAILY = /^(.*-)(\d{4}-\d{2}-\d{2})(\.[^.]*)?$/;

/** The series of a file without a number. @param name without its directory */
export function logSeries(name: string): LogSeries {
  const [, stem, , extension = ""] = DAILY.exec(name) ?? [];
  if (stem !== undefined) return { stem, extension, isDaily: true };
  const dot = name.lastIndexOf(".");
  const end = dot > 0 ? dot : name.length;
  return { stem: name.slice(0, end), extension: name.slice(end), isDaily: false };
}

/**
 * Name of the log file of a day, or of the only file if the series is not daily. @param number 0 for the current file
 */
export function logFileName({ stem, extension }: LogSeries, day: string, number = 0): string {
  return `${stem}${day}${number === 0 ? "" : `.${number}`}${extension}`;
}

/** The names that belong to the series, oldest first. */
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

/**
 * Compares the age of two files of a series by their `part`: negative if the first is older. `undefined`: one of them
 * is not in the series.
 */
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
