/** Maps programs to profiles. Pure. Choice: the programs; see the README of the plugin `approvals`. */
import { posix } from "node:path";
import { matchesPattern } from "../allowlist.ts";
import { BYTES } from "./bytes.ts";
import { FILES } from "./files.ts";
import type { Profile } from "./profile.ts";
import { SEARCH } from "./search.ts";
import { SYSTEM } from "./system.ts";
import { TEXT } from "./text.ts";

/**
 * Profiles by program name. None exists for a program that can be made to run others by files in the workspace,
 * whatever its arguments: `git` obeys `.git/config` (`core.fsmonitor`, `diff.external`, `filter.*`), `make` a Makefile,
 * `npm` a script.
 */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(
  Object.entries({ ...TEXT, ...SEARCH, ...BYTES, ...FILES, ...SYSTEM }),
);

/** Names of all programs with a profile, sorted. */
export const PROFILED: readonly string[] = [...PROFILES.keys()].sort();

/** Directories of programs of the system or its package manager; no agent tool writes there. */
const USUAL = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin", "/opt/local/bin"];
const PACKAGED = [
  /^\/(opt\/homebrew|usr\/local|home\/linuxbrew\/\.linuxbrew)\/Cellar\/[^/]+\/[^/]+\/bin$/,
  /^\/nix\/store\/[^/]+\/bin$/,
  /^\/usr\/lib\/cargo\/bin(\/coreutils)?$/,
];

/** One file that contains many programs; the name it is called by selects one. */
const MULTI_CALL = /^(busybox|toybox|coreutils)([-.]|$)/;

export function isMultiCall(path: string): boolean {
  return MULTI_CALL.test(posix.basename(path));
}

/**
 * The profile of a program, or `undefined`. Selected by the name of its file, which must be in a system directory; for
 * a multi-call file, by the name it is called by. A program called by another name has none, because it could behave
 * like another program.
 * @param called `argv[0]`
 * @param path absolute real path
 */
export function profileOf(called: string, path: string): Profile | undefined {
  if (!isSystem(posix.dirname(path))) return undefined;
  const byName = PROFILES.get(posix.basename(called));
  if (isMultiCall(path)) return byName;
  const profile = PROFILES.get(posix.basename(path));
  return profile === byName ? profile : undefined;
}

/** Whether an allowlist pattern can match a program that has a profile. */
export function meansProfiled(pattern: string): boolean {
  const [directory, file] = [posix.dirname(pattern), posix.basename(pattern)];
  const isKnown = isMultiCall(pattern) || PROFILED.some((name) => matchesPattern(`/${file}`, `/${name}`, "/"));
  if (isKnown && isSystem(directory.replace(/[*?]+/g, "x"))) return true;
  return USUAL.some((place) => PROFILED.some((name) => matchesPattern(pattern, `${place}/${name}`, "/")));
}

function isSystem(directory: string): boolean {
  return USUAL.includes(directory) || PACKAGED.some((place) => place.test(directory));
}
