/** What a sandbox lets a program do, from the settings of all levels. Pure. */
import { isInside } from "@svc/sdk/files";
import type { SandboxSettings } from "@svc/sdk/tools";

/** `SandboxSettings` with every default in place. */
export type SandboxRules = Readonly<Required<SandboxSettings>>;

const DEFAULTS: SandboxRules = {
  mode: "off",
  network: false,
  memoryMb: 4_096,
  processes: 512,
  readPaths: [],
  writePaths: [],
};

/** Key by key; a later level wins. */
export function sandboxRules(...levels: readonly (SandboxSettings | undefined)[]): SandboxRules {
  return Object.assign({}, DEFAULTS, ...levels) as SandboxRules; // every key has a default
}

/** The directories of this machine that a sandboxed program works with, and those it must not see. Absolute, links followed. */
export interface SandboxPlace {
  /** Directories it may write. */
  readonly own: readonly string[];
  /** Files in them that it may only read. They exist. */
  readonly locked: readonly string[];
  /** State directory of the gateway. What of it is `own` is seen all the same. */
  readonly stateDir: string;
  /** Of the user of the gateway; the program sees an empty one. */
  readonly home: string;
  /** Files and directories it reads, although they lie where nothing else is seen. They exist. Default: none. */
  readonly shown?: readonly string[];
  /** Further files and directories it must not see, e.g. the configuration file. */
  readonly hidden: readonly string[];
}

/** A path as it is written, and where it leads; `undefined`: it is not there. */
export interface GivenPath {
  readonly given: string;
  readonly real: string | undefined;
}

/**
 * Why these paths cannot be shown, with the next step; `undefined`: they can.
 * Choice: a path with a symbolic link is refused, since a program in a sandbox may be able to change where it leads.
 * @param given `readPaths` and `writePaths`
 */
export function sandboxMisfit(given: readonly GivenPath[], { own, stateDir, home }: SandboxPlace): string | undefined {
  const holder = own.find((path) => isInside(path, home) && home !== "/");
  if (holder !== undefined) {
    return `the directory ${holder} holds the home directory ${home}, which a sandbox hides; choose a directory of its own`;
  }
  for (const { given: path, real } of given) {
    if (real === undefined) return `${path} of readPaths or writePaths does not exist; make it, or take it out`;
    if (real !== path) return `${path} of readPaths or writePaths leads to ${real}; write ${real}`;
    if (isInside(path, home) || isInside(path, stateDir) || isInside(stateDir, path)) {
      return `${path} of readPaths or writePaths shows the home or the state directory; name the directories that are needed`;
    }
  }
  return undefined;
}
