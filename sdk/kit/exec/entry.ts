/**
 * Whether an allowlist entry allows a command. Choice: the meaning of an entry. Accesses the disk only to resolve
 * links.
 */
import { basename, isAbsolute } from "node:path";
import type { AllowedProgram, SystemRunPlan } from "@svc/sdk/approvals";
import { matchesPattern, patternFault } from "./allowlist.ts";
import { contentMiss } from "./binding.ts";
import { type ExecPlace, isOutside, isWithin } from "./place.ts";
import { misfitOf } from "./profiles/fit.ts";
import { isMultiCall, profileOf } from "./profiles/index.ts";
import { type Runner, runnerOf, scriptOf } from "./runners.ts";

/** A command and its program file. */
export interface Candidate {
  readonly plan: Pick<SystemRunPlan, "argv" | "cwd">;
  /** Absolute, links resolved. */
  readonly path: string;
}

/**
 * Why an entry can never allow anything, and what to write instead; `undefined`: it can. A pattern alone is always
 * valid, because earlier clients set it for any program; see `meansProfiled`.
 */
export function entryFault({ pattern, args, cwd, anyArguments, sha256 }: AllowedProgram): string | undefined {
  const fault = patternFault(pattern);
  if (fault !== undefined) return fault;
  const shown = JSON.stringify(pattern);
  const runner = runnerOf(pattern);
  if (args && anyArguments) return `${shown} has both args and anyArguments; remove one of them`;
  if (cwd !== undefined && !isAbsolute(cwd))
    return `${shown} has a cwd that is not an absolute path; write e.g. /srv/app`;
  if (args && isMultiCall(pattern)) return `${shown} is many programs, which args cannot distinguish; remove args`;
  if (args && (runner === "shell" || runner === "interpreter")) {
    const script = scriptOf(runner, args);
    if (sha256 !== undefined && script === undefined) {
      return `${shown} needs the script with the given hash as its first argument; write its path, e.g. ./job.sh`;
    }
    if (sha256 === undefined && !isAbsolute(script ?? "")) {
      return `${shown} needs a script outside the workspace as its first argument, or the hash of the script; write its full path, e.g. /opt/job, or set sha256`;
    }
  }
  if (!anyArguments || runner === undefined) return undefined;
  return `${shown} executes code given in its arguments, so anyArguments never applies; write args, or omit the entry so that approval is requested`;
}

/** Whether the entry matches this program, regardless of its arguments. @param home directory for `~/` */
export function isAbout({ pattern }: AllowedProgram, path: string, home: string): boolean {
  return matchesPattern(pattern, path, home);
}

/**
 * Why an entry that matches the program does not allow the command, as a sentence; `undefined`: it does.
 *
 * | Entry | Allows |
 * |---|---|
 * | `args` | exactly these arguments; with `cwd` only in that directory |
 * | `anyArguments` | all arguments, except for programs that run other programs |
 * | neither | arguments named by the profile of the program |
 * | `sha256` in addition | the same, with one file of this content that agents can write: the program, or the script of a shell or interpreter |
 */
export function missOf(entry: AllowedProgram, { plan, path }: Candidate, place: ExecPlace): string | undefined {
  const [called = "", ...args] = plan.argv;
  const name = basename(called);
  const unbound = place.contents && contentMiss(entry.sha256, place.contents);
  if (unbound !== undefined) return `${name} ${unbound}`;
  const bound = entry.sha256 === undefined ? undefined : place.contents?.files.find(({ runs }) => runs === true)?.path;
  if (entry.sha256 !== undefined && bound === undefined)
    return `${name} is allowed with specific content that was not verified`;
  if (place.isWorkspace && bound !== path && !isOutside(place, path)) {
    return `${name} is in the workspace, which agents can write`;
  }
  if (entry.cwd !== undefined && entry.cwd !== plan.cwd) return `${name} is allowed in ${entry.cwd} only`;
  const runner = runnerOf(called, isMultiCall(path) ? called : path);
  if (entry.args)
    return exactMiss(entry.args, { plan, path }, runner, { ...place, script: bound === path ? undefined : bound });
  if (runner !== undefined) return `${name} executes code given in its arguments`;
  if (entry.anyArguments) return isMultiCall(path) ? `${basename(path)} is many programs` : undefined;
  const profile = profileOf(called, path);
  if (!profile) return `${name} has no profile of harmless arguments`;
  const misfit = misfitOf(profile, args, (word) => isWithin(place, plan.cwd, word));
  return misfit && `${name} ${misfit}`;
}

/**
 * Choice: exact arguments do not make a workspace file safe that a shell, an interpreter or a wrapper runs, because
 * agents can write it. Its hash does, except for a wrapper, because the program it runs is unknown.
 * @param place includes the path of the script that the entry binds
 */
function exactMiss(
  allowed: readonly string[],
  { plan, path }: Candidate,
  runner: Runner | undefined,
  place: ExecPlace & { readonly script: string | undefined },
): string | undefined {
  const [called = "", ...args] = plan.argv;
  const name = basename(called);
  // Multi-call programs behave differently under another name; a shell or interpreter runs the same script (`sh` is
  // `dash`).
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
  return isSafe ? undefined : `${name} executes code given in its arguments`;
}

/** A word that neither is, nor contains after `=`, a path in the workspace or a shell or interpreter. */
function isForeign(word: string, place: ExecPlace): boolean {
  return [word, word.slice(word.indexOf("=") + 1)].every((part) => {
    const runner = runnerOf(part);
    return runner !== "shell" && runner !== "interpreter" && (!part.includes("/") || isOutside(place, part));
  });
}
