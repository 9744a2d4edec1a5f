/** Directories and files of a test. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A new directory, without symbolic links in its path; removed with the test. */
export function directory(t: Pick<TestContext, "after">, prefix = "svc-test-"): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  t.after(() => {
    chmodSync(made, 0o700);
    rmSync(made, { recursive: true, force: true });
  });
  return made;
}

/** Writes a file, and the directories above it. */
export function put(path: string, text: string, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (mode !== undefined) chmodSync(path, mode);
}
