/** Where a command runs, and which paths are inside that place. */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isInside } from "@svc/sdk/files";
import { foldedPath } from "../files/folded-path.ts";
import type { Binding } from "./binding.ts";

/** What a command may access under its allowlist entry. */
export interface ExecPlace {
  /** Directory for `~/` in patterns. Default: the home directory of this process. */
  readonly home?: string;
  /**
   * The workspace, or the directory a node was started in; absolute, links resolved or not. Absent, or `/`: no path is
   * inside.
   */
  readonly root?: string;
  /** Directories below `root` that are off limits; absolute, links resolved. Default: none. */
  readonly closed?: readonly string[];
  /** Agents write below `root` without approval, so no entry applies to a program there. Default false. */
  readonly isWorkspace?: boolean;
  /** The command runs on another machine, which judges it again; links are not resolved here. Default false. */
  readonly isElsewhere?: boolean;
  /**
   * The executed files that agents can write, see `bindFiles`. Absent: not determined, so no entry with a hash applies.
   */
  readonly contents?: Binding;
}

/**
 * Whether a path, as a program would interpret it, is inside `root`, both as written and with links resolved as far as
 * it exists. Not inside: a path with `..` after another name, which could be a link, and a path that leads into or
 * above a directory that is off limits.
 * @param cwd absolute, links resolved; base for relative paths. `null`: unknown, so no path is inside
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

/** Whether a file is known to be where no agent can write: absolute, and not below `root`. */
export function isOutside({ root, isElsewhere = false }: ExecPlace, file: string | undefined): boolean {
  if (file === undefined || root === undefined || !isAbsolute(file)) return false;
  const follow = followed(isElsewhere);
  const real = follow(file);
  return real !== undefined && !isInside(follow(root) ?? root, real) && !isInside(root, file);
}

function followed(isElsewhere: boolean): (path: string) => string | undefined {
  return isElsewhere ? (path) => path : realPathOf;
}

/** Leading `./` and `../`: the working directory is real, so they lead where they seem to. */
const STEPS_UP = /^(?:\.{1,2}(?:\/+|$))*/;

/** Choice: maximum missing names at the end of a path; each costs a disk access. */
const MAX_MISSING = 16;

/**
 * Resolves links; the missing part of a path is appended to the existing one. `undefined`: unknown, e.g. after a
 * dangling link.
 */
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
