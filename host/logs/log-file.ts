/**
 * The log file. Each line is written synchronously, so that a crash loses none. A full file is renamed, and old files are deleted. If the disk
 * is full or read-only, only the lines written meanwhile are lost.
 */
import nodeFs, { constants } from "node:fs";
import { join } from "node:path";
import { localDay } from "@svc/sdk";
import { logFileName, logFiles, type LogSeries, logSeries, USUAL_LOG } from "@svc/sdk/logs";
import type { FileSettings } from "./settings.ts";

/** Interval of the check whether the path still is the open file: another process may have renamed or filled it. ms */
const LOOK_MS = 1_000;
/** Retry delay after a failed write. ms. Choice. */
const RETRY_MS = 10_000;
/** Age after which the rotation lock of another process counts as abandoned. ms. Choice. */
const STALE_LOCK_MS = 5_000;
/** Maximum number of files kept, whatever their size. Choice: the directory must stay quick to list. */
const MAX_FILES = 500;
const DAY_MS = 86_400_000;
/** Never follows a symbolic link, never waits for the reader of a pipe. */
const OPEN = constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

type Disk = Pick<
  typeof nodeFs,
  | "openSync"
  | "closeSync"
  | "writeSync"
  | "readSync"
  | "fstatSync"
  | "statSync"
  | "renameSync"
  | "mkdirSync"
  | "readdirSync"
  | "rmSync"
>;

export interface LogFileOptions {
  readonly settings: FileSettings;
  readonly clock: { now(): number };
  /** Called once when writing fails, and once when it works again. @param lost number of lost lines; `undefined` in the first case */
  readonly trouble: (error: unknown, lost?: number) => void;
  readonly disk?: Disk;
}

interface Opened {
  readonly fd: number;
  readonly path: string;
  readonly inode: number;
  size: number;
  /** Time of the last check. epoch ms */
  lookedAt: number;
  /** Whether the file ends with an incomplete line, of an interrupted writer. */
  isCut: boolean;
}

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #disk: Disk;
  #settings: FileSettings;
  #opened: Opened | undefined;
  #retryAt: number | undefined;
  #lost = 0;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#disk = options.disk ?? nodeFs;
    this.#settings = options.settings;
  }

  /** Path of the file for the next line. */
  get path(): string {
    return join(this.#settings.directory, this.#settings.name ?? logFileName(USUAL_LOG, this.#today()));
  }

  use(settings: FileSettings): void {
    this.#settings = settings;
    this.#retryAt = undefined;
  }

  /** Never throws. @param line with its newline */
  write(line: string): void {
    const now = this.#options.clock.now();
    const wait = (this.#retryAt ?? now) - now;
    if (wait > 0 && wait <= RETRY_MS) return void this.#lost++; // a longer wait means the clock was set back
    try {
      const bytes = Buffer.from(line);
      this.#put(this.#ready(bytes.length, now), bytes);
    } catch (error) {
      this.#lost++;
      this.#retryAt = now + RETRY_MS;
      this.close();
      if (this.#lost === 1) this.#options.trouble(error);
      return;
    }
    this.#retryAt = undefined;
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#options.trouble(undefined, lost);
  }

  /** Closes the file; a later line opens it again. Safe to call twice. */
  close(): void {
    if (this.#opened) this.#disk.closeSync(this.#opened.fd);
    this.#opened = undefined;
  }

  #today(): string {
    return localDay(this.#options.clock.now());
  }

  #put(opened: Opened, bytes: Buffer): void {
    // One write per line: other processes append to the same file.
    const whole = opened.isCut ? Buffer.concat([Buffer.from("\n"), bytes]) : bytes;
    for (let at = 0; at < whole.length;) {
      at += this.#disk.writeSync(opened.fd, whole, at);
      opened.isCut = at < whole.length;
    }
    opened.size += whole.length;
  }

  /** Opens or rotates the file as needed for `length` more bytes. */
  #ready(length: number, now: number): Opened {
    const path = this.path;
    const opened = this.#opened;
    if (!opened || opened.path !== path || !this.#isStill(opened, now)) {
      this.close();
      this.#opened = this.#open(path, now);
      if (!opened || opened.path !== path) this.#prune();
    }
    const current = this.#opened ?? this.#open(path, now);
    if (current.size === 0 || current.size + length <= this.#settings.maxFileBytes) return current;
    if (!this.#rotate(current)) return current;
    this.close();
    this.#opened = this.#open(path, now);
    this.#prune();
    return this.#opened;
  }

  #open(path: string, now: number): Opened {
    this.#makeDirectory();
    const fd = this.#disk.openSync(path, OPEN, 0o600);
    const stats = this.#disk.fstatSync(fd);
    if (!stats.isFile()) {
      this.#disk.closeSync(fd);
      throw new Error(`${path} is not a regular file; set another path in logging.file`);
    }
    return { fd, path, inode: stats.ino, size: stats.size, lookedAt: now, isCut: this.#endsInside(fd, stats.size) };
  }

  /** Not recursive: in a file system without real directories, recursive creation never ends. */
  #makeDirectory(): void {
    try {
      this.#disk.mkdirSync(this.#settings.directory, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // of node:fs
    }
  }

  /** Reads the open file, since another process may have renamed its path. */
  #endsInside(fd: number, size: number): boolean {
    if (size === 0) return false;
    const last = Buffer.alloc(1);
    this.#disk.readSync(fd, last, 0, 1, size - 1);
    return last.toString() !== "\n";
  }

  /** Whether the path still is the open file; checked at most every `LOOK_MS`. Also updates its size, as other processes append to it. */
  #isStill(opened: Opened, now: number): boolean {
    if (Math.abs(now - opened.lookedAt) < LOOK_MS) return true;
    opened.lookedAt = now;
    const stats = this.#disk.statSync(opened.path, { throwIfNoEntry: false });
    if (stats?.ino !== opened.inode) return false;
    opened.size = stats.size;
    return true;
  }

  /** Renames the full file to its numbered name, unless another process does so or has done so. @returns whether the path is free now */
  #rotate({ path, inode }: Opened): boolean {
    const lock = `${path}.lock`;
    if (!this.#lock(lock)) return false;
    try {
      if (this.#disk.statSync(path, { throwIfNoEntry: false })?.ino !== inode) return true;
      const series = this.#series();
      const file = logFiles(series, this.#disk.readdirSync(this.#settings.directory)).find(
        ({ name }) => join(this.#settings.directory, name) === path,
      );
      if (file) this.#disk.renameSync(path, join(this.#settings.directory, file.part));
      return true;
    } finally {
      this.#disk.rmSync(lock, { force: true });
    }
  }

  #lock(path: string): boolean {
    try {
      this.#disk.closeSync(this.#disk.openSync(path, "wx", 0o600));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // of node:fs
      const since = this.#disk.statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (since !== undefined && Date.now() - since > STALE_LOCK_MS) this.#disk.rmSync(path, { force: true });
      return false; // the next line tries the rotation again
    }
  }

  #series(): LogSeries {
    return this.#settings.name === undefined ? USUAL_LOG : logSeries(this.#settings.name);
  }

  /** Deletes files that are too old or exceed the limits. The newest two stay: a reader may still be at the end of the previous one. */
  #prune(): void {
    const { directory, retentionDays, maxTotalBytes } = this.#settings;
    const now = this.#options.clock.now();
    const files = logFiles(this.#series(), this.#disk.readdirSync(directory)).flatMap(({ name }) => {
      const stats = this.#disk.statSync(join(directory, name), { throwIfNoEntry: false });
      return stats ? [{ name, size: stats.size, age: now - stats.mtimeMs }] : [];
    });
    let kept = 0;
    let total = 0;
    for (const { name, size, age } of files.toReversed()) {
      const isYoung = age <= retentionDays * DAY_MS;
      if (kept < 2 || (isYoung && kept < MAX_FILES && total + size <= maxTotalBytes)) {
        kept++;
        total += size;
      } else this.#disk.rmSync(join(directory, name), { force: true });
    }
  }
}
