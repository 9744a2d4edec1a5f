/** The permissions of a sandbox, from the settings of all levels. Pure. */
import { isInside } from "@svc/sdk/files";
import type { SandboxSettings } from "@svc/sdk/tools";

/** `SandboxSettings` with all defaults. */
export type SandboxRules = Readonly<Required<SandboxSettings>>;

const DEFAULTS: SandboxRules = {
  mode: "off",
  network: false,
  memoryMb: 4_096,
  processes: 512,
  readPaths: [],
  writePaths: [],
};

/** Merges the levels key by key; later levels take precedence. */
export function sandboxRules(...levels: readonly (SandboxSettings | undefined)[]): SandboxRules {
  return Object.assign({}, DEFAULTS, ...levels) as SandboxRules; // every key has a default
}

/** Directories of this machine that a sandboxed program uses, and those it must not see. Absolute, links resolved. */
export interface SandboxPlace {
  /** Writable directories. */
  readonly own: readonly string[];
  /** Existing files in them that are read-only. */
  readonly locked: readonly string[];
  /** State directory of the gateway. Its parts listed in `own` stay visible. */
  readonly stateDir: string;
  /** Home directory of the gateway's user; the program sees an empty one. */
  readonly home: string;
  /** Existing files and directories it may read although their surroundings are hidden. Default: none. */
  readonly shown?: readonly string[];
  /** Further hidden files and directories, e.g. the configuration file. */
  readonly hidden: readonly string[];
}

/** A path as written, and its target; `undefined`: it does not exist. */
export interface GivenPath {
  readonly given: string;
  readonly real: string | undefined;
}

/**
 * Why these paths cannot be used, with the next step; `undefined`: they can. Choice: a path with a symbolic link is
 * rejected, because a sandboxed program may be able to change its target.
 * @param given `readPaths` and `writePaths`
 */
export function sandboxMisfit(given: readonly GivenPath[], { own, stateDir, home }: SandboxPlace): string | undefined {
  const holder = own.find((path) => isInside(path, home) && home !== "/");
  if (holder !== undefined) {
    return `the directory ${holder} contains the home directory ${home}, which a sandbox hides; choose a separate directory`;
  }
  for (const { given: path, real } of given) {
    if (real === undefined) return `${path} in readPaths or writePaths does not exist; create it or remove the entry`;
    if (real !== path) return `${path} in readPaths or writePaths is a link to ${real}; write ${real}`;
    if (isInside(path, home) || isInside(path, stateDir) || isInside(stateDir, path)) {
      return `${path} in readPaths or writePaths exposes the home or state directory; list only the directories that are needed`;
    }
  }
  return undefined;
}
