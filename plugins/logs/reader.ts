/** Reads the log files, and detects files renamed meanwhile. Spec: protocol/methods-logs.md. */
import { type FileHandle, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { compareParts, type LogFileName, logFiles, logSeries } from "@svc/sdk/logs";
import { firstLines, lastLines, windowOf } from "./tail.ts";

export const DEFAULT_LIMIT = 500;
export const DEFAULT_BYTES = 250_000;
/** Maximum number of attempts to open a file that is being renamed. */
const TRIES = 5;

export interface Question {
  /** The file that lines are written to now. */
  readonly path: string;
  readonly cursor?: number | undefined;
  readonly limit?: number | undefined;
  readonly maxBytes?: number | undefined;
  /** Selects lines. Default: all. */
  readonly keep?: (line: string) => boolean;
}

export interface Answer {
  readonly file: string;
  readonly cursor: number;
  readonly size: number;
  readonly lines: string[];
  readonly truncated: boolean;
  readonly reset: boolean;
  /** Where the first line that was read begins. Absent: nothing older. */
  readonly begin?: number;
  /** Absent: no file exists. */
  readonly part?: string;
}

/**
 * Returns the last lines, or the lines since the cursor, as far as `maxBytes` allows.
 * @param part only of this file; default: the file written to now, or the newest file of a daily series
 * @throws Error of node:fs; a missing file is not an error
 */
export async function tail(question: Question, part?: string): Promise<Answer> {
  const { path, cursor, limit = DEFAULT_LIMIT, maxBytes = DEFAULT_BYTES, keep = all } = question;
  const { isDaily } = logSeries(basename(path));
  const current = (files: readonly LogFileName[]) =>
    files.find(({ name }) => name === basename(path)) ?? (isDaily ? files.at(-1) : undefined);
  const pick = (files: readonly LogFileName[]) =>
    part === undefined ? current(files) : files.find((file) => file.part === part);
  return withFile(path, pick, async ({ handle, file, size }) => {
    const { from, to, truncated, reset } = windowOf(size, maxBytes, cursor);
    const found = await lastBetween(handle, { from, to }, { limit, keep });
    return { file: join(dirname(path), file.name), cursor: size, size, part: file.part, ...found, truncated, reset };
  });
}

/**
 * Returns the lines that end at `before` in the file `part`, or the last ones of the next older file for 0: at most the `limit` newest lines,
 * within `maxBytes`. `begin` of the result is where to go on; it is absent after the oldest file.
 */
export async function readBack(question: Question, before: number, part?: string): Promise<Answer> {
  const { path, limit = DEFAULT_LIMIT, maxBytes = DEFAULT_BYTES, keep = all } = question;
  const pick = (files: readonly LogFileName[]) => {
    const at = part === undefined ? files.length - 1 : files.findIndex((file) => file.part === part);
    return before === 0 ? files[at - 1] : files[at];
  };
  return withFile(path, pick, async ({ handle, file, size }) => {
    const to = before === 0 ? size : Math.min(before, size);
    const from = Math.max(0, to - maxBytes);
    const found = await lastBetween(handle, { from, to }, { limit, keep });
    const where = { file: join(dirname(path), file.name), cursor: to, size, part: file.part };
    return { ...where, ...found, truncated: found.begin > 0, reset: false };
  });
}

/** The last lines between two places of a file, and the place where the first line that was looked at begins. */
async function lastBetween(
  handle: FileHandle,
  { from, to }: { readonly from: number; readonly to: number },
  { limit, keep }: Required<Pick<Question, "keep">> & { readonly limit: number },
) {
  const startsInside = from > 0 && (await readRange(handle, from - 1, from))[0] !== 10;
  const { lines, begin } = lastLines(await readRange(handle, from, to), limit, startsInside, keep);
  return { lines, begin: from + begin };
}

/**
 * Returns the lines after a place in the log, the rest of renamed files first: at most the `limit` oldest lines, within
 * `maxBytes` of one file. `cursor` of the result is where they end. `reset`: that file is gone, and the oldest newer one is
 * read instead. A line longer than `maxBytes` is returned in pieces.
 */
export async function readOn(question: Question, part: string): Promise<Answer> {
  const { path, cursor = 0, limit = DEFAULT_LIMIT, maxBytes = DEFAULT_BYTES, keep = all } = question;
  const series = logSeries(basename(path));
  let next: string | undefined;
  const pick = (files: readonly LogFileName[]) => {
    const at = files.findIndex((file) => (compareParts(series, file.part, part) ?? -1) >= 0);
    const file = files.at(at); // no newer file: the newest existing one
    next = at === -1 ? undefined : files[at + 1]?.part;
    return file;
  };
  const answer = await withFile(path, pick, async ({ handle, file, size }) => {
    const isSame = file.part === part && cursor <= size;
    const from = isSame ? cursor : 0;
    const to = Math.min(size, from + maxBytes);
    const isAll = to - from === maxBytes || next !== undefined;
    const { lines, bytes } = firstLines(await readRange(handle, from, to), limit, isAll, keep);
    const where = { file: join(dirname(path), file.name), cursor: from + bytes, size, part: file.part };
    return { ...where, lines, truncated: !isSame, reset: !isSame };
  });
  const isRead = answer.cursor === answer.size && answer.lines.length === 0;
  if (!isRead || next === undefined) return answer;
  const following = await readOn({ ...question, cursor: 0 }, next);
  return { ...following, reset: answer.reset || following.reset, truncated: answer.truncated || following.truncated };
}

const all = () => true;

interface OpenedFile {
  readonly handle: FileHandle;
  readonly file: LogFileName;
  readonly size: number;
}

/**
 * Opens the file that `pick` selects, and checks that the file still has that name: the writer may rename it at any
 * time.
 */
async function withFile(
  path: string,
  pick: (files: readonly LogFileName[]) => LogFileName | undefined,
  work: (opened: OpenedFile) => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const file = pick(await listFiles(path));
    if (!file) return { file: path, cursor: 0, size: 0, lines: [], truncated: false, reset: false };
    const handle = await openIfThere(join(dirname(path), file.name));
    if (!handle) {
      if (tries >= TRIES) throw new Error(`${file.name} was repeatedly renamed while it was read`);
      continue;
    }
    try {
      const isStill = (await listFiles(path)).some(({ name, part }) => name === file.name && part === file.part);
      if (isStill || tries >= TRIES) return await work({ handle, file, size: (await handle.stat()).size });
    } finally {
      await handle.close();
    }
  }
}

/** Files of the series that this path belongs to, oldest first. */
async function listFiles(path: string): Promise<LogFileName[]> {
  const names = await readdir(dirname(path)).catch(ifMissing<string[]>([]));
  return logFiles(logSeries(basename(path)), names);
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  return open(path, "r").catch(ifMissing(undefined));
}

/** Ignores the error of a missing file; throws all other errors. */
function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}

async function readRange(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}
