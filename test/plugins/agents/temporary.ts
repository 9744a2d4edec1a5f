/** Directories that go away with the test. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** @returns its real path */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "svc-agents-")));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Permission bits, e.g. `700`. */
export const modeOf = ({ mode }: { readonly mode: number }) => (mode & 0o777).toString(8);
