/** The database file before SQLite sees it: its directory, its mode, and whether it is a database at all. */
import { chmodSync, closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";

const MAGIC = Buffer.from("SQLite format 3\0", "latin1");

/**
 * Makes the file when it is missing. The file gets mode 0600 (SQLite gives its side files the same), missing
 * directories 0700. Choice: the mode of an existing directory stays, it may be shared.
 * @throws Error naming the file and what to do when it holds something else; it is not touched then.
 */
export function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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
