/** Size of files on disk. */
import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface Space {
  /** Number of rows of a table, or of files. */
  readonly rows: number;
  readonly bytes: number;
}

/** @param place below the state directory; a final `*` matches any suffix, e.g. `logs/audit.jsonl*` */
export async function fileSpace(stateDir: string, place: string): Promise<Space> {
  const path = join(stateDir, place);
  if (!path.endsWith("*")) return spaceAt(path);
  const start = basename(path).slice(0, -1);
  const names = await readdir(dirname(path)).catch(() => []);
  return sum(
    await Promise.all(names.filter((name) => name.startsWith(start)).map((name) => spaceAt(join(dirname(path), name)))),
  );
}

/** The size of a file or directory, without following links. */
async function spaceAt(path: string): Promise<Space> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats) return { rows: 0, bytes: 0 };
  if (!stats.isDirectory()) return { rows: 1, bytes: stats.size };
  let found: Space = { rows: 0, bytes: 0 };
  for (const name of await readdir(path).catch(() => [])) found = sum([found, await spaceAt(join(path, name))]);
  return found;
}

export function sum(spaces: readonly Space[]): Space {
  return {
    rows: spaces.reduce((total, { rows }) => total + rows, 0),
    bytes: spaces.reduce((total, { bytes }) => total + bytes, 0),
  };
}
