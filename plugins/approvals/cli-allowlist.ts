/** `svc approvals allowlist`: describes entries, and adds or removes one in a policy file. Pure. */
import { isDeepStrictEqual } from "node:util";
import { bounded, entryFault, meansProfiled, PROFILED, rulesFor, runnerOf, withAllowed } from "@svc/kit/exec";
import { invalidRequest, notFound } from "@svc/sdk";
import type { AllowedProgram, ExecPolicyFile } from "@svc/sdk/approvals";
import { commandText, visible } from "@svc/sdk/cli";

/** An entry as given on the command line. */
export interface EntryWords {
  readonly pattern: string;
  /** Arguments after the pattern. */
  readonly args: readonly string[];
  /** `--exact` */
  readonly isExact: boolean;
  /** `--any-arguments` */
  readonly isAny: boolean;
  /** `--sha256`, in lower case */
  readonly sha256?: string | undefined;
}

/** The command that adds an entry. */
export function addCommand(...words: string[]): string {
  return bounded(commandText(["svc", "approvals", "allowlist", "add", ...words]), 500);
}

/** @throws GatewayError `INVALID_REQUEST` with the command that prints the hash */
export function hashOption(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const hash = typeof given === "string" ? given.trim().toLowerCase() : "";
  if (/^[0-9a-f]{64}$/.test(hash)) return hash;
  return invalidRequest(
    "--sha256 takes 64 hexadecimal digits\nNext: sha256sum <file> prints them, as does the refusal",
  );
}

/**
 * The entry to add.
 * @throws GatewayError `INVALID_REQUEST` for an entry that would allow nothing, with the alternatives
 */
export function entryOf({ pattern, args, isExact, isAny, sha256 }: EntryWords): AllowedProgram {
  const hasArgs = isExact || args.length > 0;
  const entry = {
    pattern,
    ...(hasArgs && { args: [...args] }),
    ...(isAny && { anyArguments: true }),
    ...(sha256 !== undefined && { sha256 }),
  };
  const fault = entryFault(entry);
  if (fault !== undefined) return invalidRequest(`${bounded(fault, 1_000)}\nNext: svc approvals allowlist add --help`);
  if (hasArgs || isAny || meansProfiled(pattern)) return entry;
  const shown = bounded(pattern, 300);
  const add = addCommand(pattern, ...(sha256 === undefined ? [] : ["--sha256", sha256]));
  const ways = [
    `a program with a profile, in a system directory: ${PROFILED.join(" ")}`,
    `exactly these arguments: ${add} -- <arguments>   (--exact for none)`,
    runnerOf(pattern) === undefined
      ? `any arguments, and thereby any command: ${add} --any-arguments`
      : "no entry: ask people, svc approvals security allowlist --ask on-miss",
  ];
  return invalidRequest(
    `${shown} has no profile: it is unknown which of its arguments run other programs, or write\n` +
      ["Next: choose one of these", ...ways.map((way) => `  ${way}`)].join("\n"),
  );
}

/** An entry in one line. */
export function entryText({ pattern, args, cwd, anyArguments, sha256 }: AllowedProgram): string {
  const program = bounded(pattern, 500);
  const where = [
    cwd === undefined ? "" : `  in ${bounded(cwd, 300)}`,
    sha256 === undefined ? "" : `  sha256 ${visible(sha256)}`,
  ].join("");
  if (args)
    return `${program}  exactly: ${args.length === 0 ? "no arguments" : bounded(commandText(args), 500)}${where}`;
  if (anyArguments) return `${program}  any arguments${where}`;
  return `${program}${where}${meansProfiled(pattern) ? "" : "  allows nothing: no profile; svc approvals doctor --running"}`;
}

/** Notes printed after adding an entry, one line each. */
export function entryNotes({ args, anyArguments, sha256 }: AllowedProgram): readonly string[] {
  const bound =
    sha256 === undefined ? [] : ["The entry applies while the program, or the script it runs, has this content."];
  if (args)
    return [
      "Only these exact arguments are allowed. Files that the program reads can still change what it does.",
      ...bound,
    ];
  if (!anyArguments) return bound;
  return [
    "This allows any command through that program: anyone who chooses its arguments can run, read and write whatever you can.",
    ...bound,
  ];
}

/** Entries that allow nothing, by agent: no arguments given, and a program without a profile. */
export function deadEntries({
  agents = {},
}: ExecPolicyFile): readonly (readonly [agentId: string, patterns: string[]])[] {
  return Object.entries(agents).flatMap(([id, { allowlist = [] }]) => {
    const dead = allowlist.filter(isDead).map(({ pattern }) => pattern);
    return dead.length === 0 ? [] : [[id, dead] as const];
  });
}

function isDead({ pattern, args, anyArguments }: AllowedProgram): boolean {
  return !args && !anyArguments && !meansProfiled(pattern);
}

/** The file with the entry added, replacing one of the same pattern that allows nothing; `undefined`: it already exists. */
export function added(file: ExecPolicyFile, agentId: string, entry: AllowedProgram): ExecPolicyFile | undefined {
  const after = withAllowed(file, agentId, entry);
  if (after === file) return undefined;
  const rules = after.agents?.[agentId];
  const allowlist = rules?.allowlist?.filter((one) => one.pattern !== entry.pattern || !isDead(one));
  return { ...after, agents: { ...after.agents, [agentId]: { ...rules, ...(allowlist && { allowlist }) } } };
}

/** The file without an entry; a pattern alone removes all its entries. @throws GatewayError `NOT_FOUND` */
export function removed(
  file: ExecPolicyFile,
  agentId: string,
  { pattern, args, isExact, isAny, sha256 }: EntryWords,
): ExecPolicyFile {
  const { agents = {} } = file;
  const rules = Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  const isMeant = (entry: AllowedProgram): boolean => {
    if (entry.pattern !== pattern || (sha256 !== undefined && entry.sha256?.toLowerCase() !== sha256)) return false;
    if (isAny) return entry.anyArguments === true && !entry.args;
    return !(isExact || args.length > 0) || isDeepStrictEqual(entry.args, args);
  };
  const allowlist = rules?.allowlist?.filter((entry) => !isMeant(entry));
  if (!rules || !allowlist || allowlist.length === rules.allowlist?.length) {
    return notFound(`${agentId} has no such entry on its allowlist\nNext: svc approvals get`);
  }
  return { ...file, agents: { ...agents, [agentId]: { ...rules, allowlist } } };
}

/** Warning after adding an entry: an allowlist has an effect only with `security: allowlist`. */
export function allowlistNote(file: ExecPolicyFile, agentId: string): string | undefined {
  const { security } = rulesFor(file, agentId);
  if (security === "allowlist") return undefined;
  const effect = security === "deny" ? "no command runs" : "every command runs";
  return `security of ${agentId} is ${security}, so ${effect} and the allowlist has no effect. Next: svc approvals security allowlist --agent ${agentId}, with the same --node`;
}
