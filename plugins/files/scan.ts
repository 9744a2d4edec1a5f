/** The files of a workspace that can be shared. Links are never followed. */
import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "@svc/kit/files";
import { invalidRequest } from "@svc/sdk";

/** Choice. */
const MAX_FILES = 20_000;
/** Drafts of files that are being written. */
const DRAFT = /^\..*\.[0-9a-f]{12}\.tmp$/;

export interface ScanOptions {
  readonly maxFileBytes: number;
  /** Names of files and directories that are left out. */
  readonly ignore: ReadonlySet<string>;
}

export interface Found {
  readonly files: ReadonlyMap<string, Stats>;
  /** Why a file is not shared, by path. */
  readonly skipped: ReadonlyMap<string, string>;
}

/** Whether a path is left out. */
export function isIgnored(path: string, { ignore }: Pick<ScanOptions, "ignore">): boolean {
  return path.split("/").some((name) => ignore.has(name) || DRAFT.test(name));
}

/** @returns `undefined`: there is no directory. @throws GatewayError `INVALID_REQUEST`: there are too many files */
export async function scan(root: string, options: ScanOptions): Promise<Found | undefined> {
  const files = new Map<string, Stats>();
  const skipped = new Map<string, string>();

  async function look(path: string): Promise<void> {
    const stats = await lstat(join(root, path)).catch(() => undefined); // removed meanwhile
    if (!stats) return;
    const reason = stats.isFile() ? obstacle(path, stats, options) : "it is not a plain file";
    if (reason !== undefined) skipped.set(path, reason);
    else if (!isPlaceholder(stats)) files.set(path, stats);
    if (files.size > MAX_FILES)
      invalidRequest(
        `the workspace has more than ${MAX_FILES} files; next: list names of directories that need not be shared in files.ignore`,
      );
  }

  async function enter(directory: string): Promise<boolean> {
    const entries = await readdir(join(root, directory), { withFileTypes: true }).catch((error: unknown) => {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    });
    const paths = (entries ?? []).map((entry) => ({
      entry,
      path: directory === "" ? entry.name : `${directory}/${entry.name}`,
    }));
    const own = paths.filter(({ entry }) => !isIgnored(entry.name, options));
    await Promise.all(own.flatMap(({ entry, path }) => (entry.isDirectory() ? [] : [look(path)])));
    for (const { entry, path } of own) if (entry.isDirectory()) await enter(path);
    return entries !== undefined;
  }

  return (await enter("")) ? { files, skipped } : undefined;
}

function obstacle(path: string, { size, nlink }: Stats, { maxFileBytes }: ScanOptions): string | undefined {
  if (size > maxFileBytes) return `it has ${size} bytes, more than files.maxFileBytes (${maxFileBytes})`;
  if (nlink > 1) return "it has several hard links";
  return path.includes("\\") ? "its name contains a backslash" : undefined;
}

/** While a command runs in a sandbox, an empty file stands in for each missing identity file. */
function isPlaceholder({ size, mtimeMs }: Stats): boolean {
  return size === 0 && mtimeMs === 0;
}
