/** Which program has which profile. Pure. Choice: the programs; see the README of the plugin `approvals`. */
import { posix } from "node:path";
import { matchesPattern } from "../allowlist.ts";
import { BYTES } from "./bytes.ts";
import { FILES } from "./files.ts";
import type { Profile } from "./profile.ts";
import { SEARCH } from "./search.ts";
import { SYSTEM } from "./system.ts";
import { TEXT } from "./text.ts";

/**
 * By name. None has a program whose files in the workspace can make it run others, whatever its arguments are: `git` runs what
 * `.git/config` says (`core.fsmonitor`, `diff.external`, `filter.*`), `make` a Makefile, `npm` a script.
 */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(
  Object.entries({ ...TEXT, ...SEARCH, ...BYTES, ...FILES, ...SYSTEM }),
);

/** Names of the programs that have a profile, sorted. */
export const PROFILED: readonly string[] = [...PROFILES.keys()].sort();

/** Directories whose programs are those of the system or of its package manager; no tool of an agent writes there. */
const USUAL = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin", "/opt/local/bin"];
const PACKAGED = [
  /^\/(opt\/homebrew|usr\/local|home\/linuxbrew\/\.linuxbrew)\/Cellar\/[^/]+\/[^/]+\/bin$/,
  /^\/nix\/store\/[^/]+\/bin$/,
  /^\/usr\/lib\/cargo\/bin(\/coreutils)?$/,
];

/** One file that is many programs; the name it is called by says which. */
const MULTI_CALL = /^(busybox|toybox|coreutils)([-.]|$)/;

export function isMultiCall(path: string): boolean {
  return MULTI_CALL.test(posix.basename(path));
}

/**
 * The profile of a program, or `undefined`. Its name is that of its file, which has to lie in a directory of the system; for a file that is many
 * programs it is the name it is called by. A program that is called by another name has none: it could be another program then.
 * @param called `argv[0]` @param path absolute real path
 */
export function profileOf(called: string, path: string): Profile | undefined {
  if (!isSystem(posix.dirname(path))) return undefined;
  const byName = PROFILES.get(posix.basename(called));
  if (isMultiCall(path)) return byName;
  const profile = PROFILES.get(posix.basename(path));
  return profile === byName ? profile : undefined;
}

/** Whether a pattern of an allowlist can mean a program that has a profile. */
export function meansProfiled(pattern: string): boolean {
  const [directory, file] = [posix.dirname(pattern), posix.basename(pattern)];
  const isKnown = isMultiCall(pattern) || PROFILED.some((name) => matchesPattern(`/${file}`, `/${name}`, "/"));
  if (isKnown && isSystem(directory.replace(/[*?]+/g, "x"))) return true;
  return USUAL.some((place) => PROFILED.some((name) => matchesPattern(pattern, `${place}/${name}`, "/")));
}

function isSystem(directory: string): boolean {
  return USUAL.includes(directory) || PACKAGED.some((place) => place.test(directory));
}
