/**
 * Whether a policy file allows a command, and whether approval is required first. Spec: protocol/stores.md §7.
 *
 * Words are compared exactly. For `security`, `ask` and `askFallback` alike: an absent value means the next level, then
 * the built-in `deny`, `on-miss`, `deny`; `""`, `" "`, `"*"`, `"FULL"` and every other unknown word mean the strictest
 * value (`deny`, `always`, `deny`); `null` makes the policy file invalid, so everything is denied. Choice: all of it.
 */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import type { AllowedProgram, ExecPolicyFile, SystemRunPlan } from "@svc/sdk/approvals";
import { type Candidate, isAbout, missOf } from "./entry.ts";
import type { ExecPlace } from "./place.ts";

/** The effective rules of an agent. */
export interface ExecRules {
  readonly security: "deny" | "allowlist" | "full";
  readonly ask: "off" | "on-miss" | "always";
  readonly askFallback: "deny" | "allowlist" | "full";
  readonly allowlist: readonly AllowedProgram[];
  /** Programs named by skills count as allowed; see `withPrograms`. Absent: they do not. */
  readonly autoAllowSkills?: true;
}

/** Verdict on a command. `ask`: run it only after approval; `fallback`: what applies if nobody answers. */
export type ExecVerdict =
  | { readonly verdict: "allow"; readonly pattern?: string }
  | { readonly verdict: "deny"; readonly reason: string }
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny" };

/** Allowed words per key, strictest first. */
export const EXEC_POLICY_WORDS = {
  security: ["deny", "allowlist", "full"],
  ask: ["always", "on-miss", "off"],
  askFallback: ["deny", "allowlist", "full"],
} as const;

/**
 * Choice: commands without an agent use the rules of this one, as in the existing format, in which the key `default`
 * became it.
 */
const DEFAULT_AGENT = "main";

type AgentRules = NonNullable<ExecPolicyFile["agents"]>[string];

/**
 * Rules of an agent: its own, then those of `*`, then the defaults, then `deny`, `on-miss`, `deny`. An unknown word
 * counts as the strictest. Choice: allowlists are combined: an entry of `*` applies to every agent, and an empty list
 * changes nothing.
 * @param agentId `null` means `main`; an id without rules uses those of `*`
 */
export function rulesFor(file: ExecPolicyFile, agentId: string | null): ExecRules {
  const own = ofAgent(file, agentId ?? DEFAULT_AGENT);
  const all = ofAgent(file, "*");
  const said = (key: keyof typeof EXEC_POLICY_WORDS) => [own, all, file.defaults].map((level) => level?.[key]);
  const entries = [...(own?.allowlist ?? []), ...(agentId === "*" ? [] : (all?.allowlist ?? []))];
  const isAuto = [own, all, file.defaults].find((level) => level?.autoAllowSkills !== undefined)?.autoAllowSkills;
  return {
    security: wordOf(EXEC_POLICY_WORDS.security, said("security"), "deny"),
    ask: wordOf(EXEC_POLICY_WORDS.ask, said("ask"), "on-miss"),
    askFallback: wordOf(EXEC_POLICY_WORDS.askFallback, said("askFallback"), "deny"),
    ...(isAuto === true && { autoAllowSkills: true }),
    allowlist: entries.map(({ pattern, args, cwd, anyArguments, sha256 }) => ({
      pattern,
      ...(args && { args }),
      ...(cwd !== undefined && { cwd }),
      ...(anyArguments && { anyArguments }),
      ...(sha256 !== undefined && { sha256 }),
    })),
  };
}

/**
 * Adds entries for programs of skills, if the policy allows these. Choice: with any arguments, which never applies to
 * programs that run other code; a program that agents can write stays excluded.
 * @param files absolute, links resolved
 */
export function withPrograms(rules: ExecRules, files: readonly string[]): ExecRules {
  if (rules.autoAllowSkills !== true) return rules;
  const plain = files.filter((file) => !/[*?]/.test(file)); // a pattern would mean other programs, too
  const entries = plain.map((pattern) => ({ pattern, anyArguments: true }));
  return { ...rules, allowlist: [...rules.allowlist, ...entries] };
}

/** Ids are untrusted: `constructor` must not match an inherited property. */
function ofAgent({ agents = {} }: ExecPolicyFile, agentId: string): AgentRules | undefined {
  return Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
}

function wordOf<W extends string>(words: readonly [W, ...W[]], said: readonly (string | undefined)[], builtIn: W): W {
  const first = said.find((word) => word !== undefined) ?? builtIn;
  return words.find((word) => word === first) ?? words[0];
}

/**
 * Choice: an allowlist entry is a program with a profile of its arguments, with exact arguments, or with any; see
 * `missOf`.
 * @param resolvedPath absolute real path of the program; `undefined`: not found, which is a miss
 * @param place where it runs. Absent: profiles allow no paths
 */
export function judgeExec(
  rules: ExecRules,
  plan: SystemRunPlan,
  resolvedPath: string | undefined,
  place: ExecPlace = {},
): ExecVerdict {
  if (plan.argv.length === 0) return { verdict: "deny", reason: "the command has no program" };
  if (rules.security === "deny")
    return { verdict: "deny", reason: "the policy file denies all commands of this agent" };
  if (rules.ask !== "always" && rules.security === "full") return { verdict: "allow" };
  const found = resolvedPath === undefined ? {} : lookUp(rules.allowlist, { plan, path: resolvedPath }, place);
  if (rules.ask === "always") return { verdict: "ask", fallback: fallbackOf(rules, found.pattern) };
  if (found.pattern !== undefined) return { verdict: "allow", pattern: found.pattern };
  if (rules.ask === "on-miss") return { verdict: "ask", fallback: fallbackOf(rules, undefined) };
  const why =
    found.miss === undefined
      ? "the program is not on the allowlist of this agent"
      : `this command is not on the allowlist of this agent (${found.miss})`;
  return { verdict: "deny", reason: `${why}, and the policy file does not ask for approval` };
}

interface Found {
  /** Pattern of the first entry that allows the command. */
  readonly pattern?: string;
  /** Why the last matching entry does not allow it. */
  readonly miss?: string;
}

function lookUp(allowlist: readonly AllowedProgram[], candidate: Candidate, place: ExecPlace): Found {
  let found: Found = {};
  for (const entry of allowlist) {
    if (!isAbout(entry, candidate.path, place.home ?? homedir())) continue;
    const miss = missOf(entry, candidate, place);
    if (miss === undefined) return { pattern: entry.pattern };
    found = { miss };
  }
  return found;
}

function fallbackOf({ askFallback }: ExecRules, pattern: string | undefined): "allow" | "deny" {
  if (askFallback === "full") return "allow";
  return askFallback === "allowlist" && pattern !== undefined ? "allow" : "deny";
}

/** Whether two entries mean the same, ignoring ids and usage records. */
function isSameEntry(left: AllowedProgram, right: AllowedProgram): boolean {
  return meaningOf(left) === meaningOf(right);
}

/** `args` take precedence over `anyArguments`. */
function meaningOf({ pattern, args, cwd, anyArguments = false, sha256 }: AllowedProgram): string {
  return JSON.stringify([pattern, cwd ?? null, args ?? anyArguments, sha256?.toLowerCase() ?? null]);
}

/**
 * The file with this entry added to the allowlist of the agent; the same object if the agent or `*` already has it. Ids
 * of entries stay.
 * @param agentId `null` means `main`
 * @param newId creates the id of the new entry
 */
export function withAllowed(
  file: ExecPolicyFile,
  agentId: string | null,
  entry: AllowedProgram,
  newId: () => string = randomUUID,
): ExecPolicyFile {
  const id = agentId ?? DEFAULT_AGENT;
  const own = ofAgent(file, id);
  const known = [...(own?.allowlist ?? []), ...(ofAgent(file, "*")?.allowlist ?? [])];
  if (known.some((one) => isSameEntry(one, entry))) return file;
  const { args, ...rest } = entry;
  const allowlist = [...(own?.allowlist ?? []), { id: newId(), ...rest, ...(args && { args: [...args] }) }];
  return { ...file, agents: { ...file.agents, [id]: { ...own, allowlist } } };
}
