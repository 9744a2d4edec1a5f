/** The database file before SQLite sees it: its directory, its mode, and whether it is a database at all. */
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
 * Makes the file when it is missing. The file gets mode 0600 (SQLite gives its side files the same), missing
 * directories 0700. Choice: the mode of an existing directory stays, it may be shared.
 * @throws Error naming the file and what to do when it holds something else, or lost what it held; it is not touched then.
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

/** The file beside a database that says that the database holds data. */
export function markOf(file: string): string {
  return `${file}.holds-data`;
}

/** Whether the file is empty or missing although it held data. SQLite would start anew, and delete the log beside it. */
export function isLost(file: string): boolean {
  return existsSync(markOf(file)) && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function refuseLoss(file: string): void {
  if (isLost(file)) throw new Error(`${file} held data, and is ${lossOf(file)} now; ${wayBack(file)}`);
}

export function lossOf(file: string): "empty" | "missing" {
  return existsSync(file) ? "empty" : "missing";
}

/** What to do about a lost database. */
export function wayBack(file: string): string {
  return `restore a backup of it, or delete ${markOf(file)} to start without data`;
}

/** Notes that the database holds data. A disk that cannot take the note does not matter: the next start tries again. */
export function markData(file: string): void {
  const text = `${basename(file)} holds data. While this file is here, the gateway does not start with an empty ${basename(file)}.\n`;
  try {
    if (!existsSync(markOf(file))) writeFileSync(markOf(file), text, { mode: 0o600 });
  } catch {
    // full or read-only
  }
}
