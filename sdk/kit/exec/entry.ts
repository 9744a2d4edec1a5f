/** Whether an entry of an allowlist allows a command. Choice: what an entry means. Reads the disk only to follow links. */
import { basename, isAbsolute } from "node:path";
import type { AllowedProgram, SystemRunPlan } from "@svc/sdk/approvals";
import { matchesPattern, patternFault } from "./allowlist.ts";
import { contentMiss } from "./binding.ts";
import { type ExecPlace, isOutside, isWithin } from "./place.ts";
import { misfitOf } from "./profiles/fit.ts";
import { isMultiCall, profileOf } from "./profiles/index.ts";
import { type Runner, runnerOf, scriptOf } from "./runners.ts";

/** A command with the file that would run. */
export interface Candidate {
  readonly plan: Pick<SystemRunPlan, "argv" | "cwd">;
  /** Absolute, links followed. */
  readonly path: string;
}

/**
 * Why an entry can never allow anything, with what to write instead; `undefined`: it can. One with a pattern alone is none of these, since earlier
 * clients set it, whatever its program is; see `meansProfiled`.
 */
export function entryFault({ pattern, args, cwd, anyArguments, sha256 }: AllowedProgram): string | undefined {
  const fault = patternFault(pattern);
  if (fault !== undefined) return fault;
  const shown = JSON.stringify(pattern);
  const runner = runnerOf(pattern);
  if (args && anyArguments) return `${shown} has args and anyArguments; leave one of them out`;
  if (cwd !== undefined && !isAbsolute(cwd)) return `${shown} has a cwd that is no absolute path; write e.g. /srv/app`;
  if (args && isMultiCall(pattern)) return `${shown} is many programs, which args cannot tell apart; leave args out`;
  if (args && (runner === "shell" || runner === "interpreter")) {
    const script = scriptOf(runner, args);
    if (sha256 !== undefined && script === undefined) {
      return `${shown} counts only with the script whose hash is given as its first argument; write its path, e.g. ./job.sh`;
    }
    if (sha256 === undefined && !isAbsolute(script ?? "")) {
      return `${shown} counts only with a script outside the workspace as its first argument, or with the hash of the script; write its whole path, e.g. /opt/job, or give sha256`;
    }
  }
  if (!anyArguments || runner === undefined) return undefined;
  return `${shown} runs what its arguments say, so it never counts with any arguments; write args, or leave it out and let people be asked`;
}

/** Whether the entry is about this program; with which arguments is another question. @param home that `~/` stands for */
export function isAbout({ pattern }: AllowedProgram, path: string, home: string): boolean {
  return matchesPattern(pattern, path, home);
}

/**
 * Why an entry about this program does not allow the command, as a sentence; `undefined`: it does.
 *
 * | Entry | Allows |
 * |---|---|
 * | `args` | exactly these arguments; with `cwd` in that directory only |
 * | `anyArguments` | every argument, but for programs whose business is to run others |
 * | neither | what the profile of the program names |
 * | `sha256` as well | the same, with one file of this content that agents can write: the program, or the script of a shell or an interpreter |
 */
export function missOf(entry: AllowedProgram, { plan, path }: Candidate, place: ExecPlace): string | undefined {
  const [called = "", ...args] = plan.argv;
  const name = basename(called);
  const unbound = place.contents && contentMiss(entry.sha256, place.contents);
  if (unbound !== undefined) return `${name} ${unbound}`;
  const bound = entry.sha256 === undefined ? undefined : place.contents?.files.find(({ runs }) => runs === true)?.path;
  if (entry.sha256 !== undefined && bound === undefined)
    return `${name} is allowed with a content that nobody compared`;
  if (place.isWorkspace && bound !== path && !isOutside(place, path)) {
    return `${name} lies in the workspace, where agents write`;
  }
  if (entry.cwd !== undefined && entry.cwd !== plan.cwd) return `${name} is allowed in ${entry.cwd} only`;
  const runner = runnerOf(called, isMultiCall(path) ? called : path);
  if (entry.args)
    return exactMiss(entry.args, { plan, path }, runner, { ...place, script: bound === path ? undefined : bound });
  if (runner !== undefined) return `${name} runs what its arguments say`;
  if (entry.anyArguments) return isMultiCall(path) ? `${basename(path)} is many programs` : undefined;
  const profile = profileOf(called, path);
  if (!profile) return `${name} has no profile of arguments that are harmless`;
  const misfit = misfitOf(profile, args, (word) => isWithin(place, plan.cwd, word));
  return misfit && `${name} ${misfit}`;
}

/**
 * Choice: exact words do not make a file of the workspace safe that a shell, an interpreter or a wrapper runs: agents write it. Its hash does,
 * but for a wrapper, of which it is not known what it runs.
 * @param place with the path of the script that the entry binds
 */
function exactMiss(
  allowed: readonly string[],
  { plan, path }: Candidate,
  runner: Runner | undefined,
  place: ExecPlace & { readonly script: string | undefined },
): string | undefined {
  const [called = "", ...args] = plan.argv;
  const name = basename(called);
  // Programs of many names do other things by another one; a shell or an interpreter runs the same script (`sh` is `dash`).
  const isSame = name === basename(path) || (place.script !== undefined && runnerOf(called) === runnerOf(path));
  if (isMultiCall(path) || !isSame) return `${name} is another name of ${basename(path)}`;
  if (args.length !== allowed.length || args.some((word, at) => word !== allowed[at])) {
    return `${name} is allowed with other arguments`;
  }
  if (runner === undefined) return undefined;
  const isSafe =
    runner === "wrapper"
      ? args.every((word) => isForeign(word, place))
      : place.script !== undefined || isOutside(place, args[0]);
  return isSafe ? undefined : `${name} runs what its arguments say`;
}

/** A word that is, or holds behind `=`, neither a path in the workspace nor a shell or interpreter. */
function isForeign(word: string, place: ExecPlace): boolean {
  return [word, word.slice(word.indexOf("=") + 1)].every((part) => {
    const runner = runnerOf(part);
    return runner !== "shell" && runner !== "interpreter" && (!part.includes("/") || isOutside(place, part));
  });
}
