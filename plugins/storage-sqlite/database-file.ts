/**
 * Prepares the file before SQLite opens it: creates the directory, sets the mode, and checks that the file is a
 * database.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";

const MAGIC = Buffer.from("SQLite format 3\0", "latin1");

/**
 * Creates the file if it is missing. The file gets mode 0600 (SQLite uses the same mode for its side files), missing
 * directories 0700. Choice: the mode of an existing directory is unchanged, because it may be shared.
 * @throws Error naming the file and the next step if it is not a database or lost its data; the file is then not touched.
 */
export function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  refuseLoss(file);
  if (existsSync(file)) refuseForeign(file);
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
}

function refuseForeign(file: string): void {
  const descriptor = openSync(file, "r");
  try {
    if (fstatSync(descriptor).size === 0) return;
    const head = Buffer.alloc(MAGIC.length);
    readSync(descriptor, head, 0, head.length, 0);
    if (!head.equals(MAGIC)) throw new Error(`${file} is not an SQLite database; move it away or name another file`);
  } finally {
    closeSync(descriptor);
  }
}

/** Path of the marker file next to a database that records that the database holds data. */
export function markOf(file: string): string {
  return `${file}.holds-data`;
}

/**
 * Whether the file is empty or missing although it held data. SQLite would start with an empty file and delete its log.
 */
export function isLost(file: string): boolean {
  return existsSync(markOf(file)) && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function refuseLoss(file: string): void {
  if (isLost(file)) throw new Error(`${file} held data and is now ${lossOf(file)}; ${wayBack(file)}`);
}

export function lossOf(file: string): "empty" | "missing" {
  return existsSync(file) ? "empty" : "missing";
}

/** Next steps for a lost database. */
export function wayBack(file: string): string {
  return `restore a backup of it, or delete ${markOf(file)} to start without data`;
}

/** Creates the marker file. If the disk refuses the write, the next start tries again. */
export function markData(file: string): void {
  const text = `${basename(file)} holds data. While this file exists, the gateway does not start with an empty ${basename(file)}.\n`;
  try {
    if (!existsSync(markOf(file))) writeFileSync(markOf(file), text, { mode: 0o600 });
  } catch {
    // full or read-only
  }
}
