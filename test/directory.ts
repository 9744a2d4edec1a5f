/** Directories and files of a test. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/**
 * How often removing a directory is tried: a gateway that is still running may add a file meanwhile. `maxRetries` of Node 20 does
 * not help: it does not list the directory again.
 */
const REMOVALS = 10;

/** A new directory, without symbolic links in its path; removed with the test. */
export function directory(t: Pick<TestContext, "after">, prefix = "svc-test-"): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  t.after(() => {
    chmodSync(made, 0o700);
    remove(made);
  });
  return made;
}

function remove(path: string, attempt = 1): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (attempt === REMOVALS) throw error;
    remove(path, attempt + 1);
  }
}

/** Writes a file, and the directories above it. */
export function put(path: string, text: string, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (mode !== undefined) chmodSync(path, mode);
}
