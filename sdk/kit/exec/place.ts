/** Where a command runs, and which paths lie inside that. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isInside } from "@svc/sdk/files";
import { foldedPath } from "../files/folded-path.ts";
import type { Binding } from "./binding.ts";

/** What a command may reach by its entry on the allowlist. */
export interface ExecPlace {
  /** Directory that `~/` stands for in patterns. Default: home directory of this process. */
  readonly home?: string;
  /** The workspace, or the directory a node was started in; absolute, with links or without. Absent, or `/`: no path is inside. */
  readonly root?: string;
  /** Directories below `root` that belong to others; absolute, links followed. Default: none. */
  readonly closed?: readonly string[];
  /** Agents write below `root` without asking, so no entry holds for a program that lies there. Default false. */
  readonly isWorkspace?: boolean;
  /** Another machine runs it: links are not followed here, and that machine judges again. Default false. */
  readonly isElsewhere?: boolean;
  /** What would run of what agents can write, see `bindFiles`. Absent: nobody looked, so no entry with a hash holds. */
  readonly contents?: Binding;
}

/**
 * Whether a path, as a program would take it, is inside `root`: as it is written, and with links followed as far as it is there. One with
 * `..` behind another name is not, since a link may stand before it; neither is one that leads into, or above, what belongs to others.
 * @param cwd absolute, links followed; what relative paths are relative to. `null`: not known, so none is inside
 */
export function isWithin(place: ExecPlace, cwd: string | null, path: string): boolean {
  const { root, closed = [], isElsewhere = false } = place;
  if (root === undefined || dirname(root) === root || cwd === null || !isAbsolute(cwd)) return false;
  if (path.includes("\0") || path.replace(STEPS_UP, "").split("/").includes("..")) return false;
  const follow = followed(isElsewhere);
  const base = follow(root) ?? root;
  const written = resolve(cwd, path);
  const real = follow(written);
  if (real === undefined || !isInside(base, real)) return false;
  if (!isInside(root, written) && !isInside(base, written)) return false;
  return closed.every(
    (other) => !isInside(foldedPath(other), foldedPath(real)) && !isInside(foldedPath(real), foldedPath(other)),
  );
}

/** Whether a file is known to lie where no agent writes: absolute, and not below `root`. */
export function isOutside({ root, isElsewhere = false }: ExecPlace, file: string | undefined): boolean {
  if (file === undefined || root === undefined || !isAbsolute(file)) return false;
  const follow = followed(isElsewhere);
  const real = follow(file);
  return real !== undefined && !isInside(follow(root) ?? root, real) && !isInside(root, file);
}

function followed(isElsewhere: boolean): (path: string) => string | undefined {
  return isElsewhere ? (path) => path : realPathOf;
}

/** `./` and `../` at the beginning: the working directory is real, so these lead where they seem to. */
const STEPS_UP = /^(?:\.{1,2}(?:\/+|$))*/;

/** Choice: names at the end of a path that need not be there; each costs a look at the disk. */
const MAX_MISSING = 16;

/** With links followed; what is not there yet is below what is. `undefined`: it cannot be told, as behind a link that leads nowhere. */
function realPathOf(path: string): string | undefined {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" || missing.length === MAX_MISSING || isThere(at)) return undefined;
      missing.unshift(basename(at));
    }
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
