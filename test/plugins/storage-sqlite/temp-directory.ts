/** Directories and storages that are removed at the end of their test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openStorage, type StorageParts } from "../../../plugins/storage-sqlite/storage.ts";

export function tempDirectory(t: Pick<TestContext, "after">): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-storage-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** An open storage with the table `notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)`. */
export async function notesStorage(t: Pick<TestContext, "after">, parts: StorageParts = {}) {
  const file = join(tempDirectory(t), "svc.db");
  const opened = await openStorage({ file, busyTimeoutMs: 100, ...parts });
  t.after(opened.close);
  await opened.storage.migrate("notes", ["CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)"]);
  return { file, ...opened };
}
