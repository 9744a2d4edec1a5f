/**
 * Whether a policy file lets a command run, and whether somebody is asked first. Spec: protocol/stores.md §7.
 *
 * Words count exactly as they are written. What a value means, for `security`, `ask` and `askFallback` alike:
 * absent: the next level, then the built-in `deny`, `on-miss`, `deny`; `""`, `" "`, `"*"`, `"FULL"` and every other word that
 * is none: the strictest (`deny`, `always`, `deny`); `null`: no policy file, so all is denied. Choice: all of it.
 */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import type { AllowedProgram, ExecPolicyFile, SystemRunPlan } from "@svc/sdk/approvals";
import { type Candidate, isAbout, missOf } from "./entry.ts";
import type { ExecPlace } from "./place.ts";

/** The rules that hold for an agent. */
export interface ExecRules {
  readonly security: "deny" | "allowlist" | "full";
  readonly ask: "off" | "on-miss" | "always";
  readonly askFallback: "deny" | "allowlist" | "full";
  readonly allowlist: readonly AllowedProgram[];
}

/** What holds for a command. `ask`: run it only when a person allows it; `fallback`: what holds when nobody answers. */
export type ExecVerdict =
  | { readonly verdict: "allow"; readonly pattern?: string }
  | { readonly verdict: "deny"; readonly reason: string }
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny" };

/** Words a key can hold, the strictest first. */
export const EXEC_POLICY_WORDS = {
  security: ["deny", "allowlist", "full"],
  ask: ["always", "on-miss", "off"],
  askFallback: ["deny", "allowlist", "full"],
} as const;

/** Choice: commands of no agent have the rules of this one, as in the existing format, whose key `default` became it. */
const DEFAULT_AGENT = "main";

type AgentRules = NonNullable<ExecPolicyFile["agents"]>[string];

/**
 * Rules of an agent: its own, then those of `*`, then the defaults, then `deny`, `on-miss`, `deny`. A word that is none is the strictest.
 * Choice: allowlists add up: an entry of `*` holds for every agent, and an empty list neither adds nor takes away.
 * @param agentId `null` is `main`; an id without rules has those of `*`
 */
export function rulesFor(file: ExecPolicyFile, agentId: string | null): ExecRules {
  const own = ofAgent(file, agentId ?? DEFAULT_AGENT);
  const all = ofAgent(file, "*");
  const said = (key: keyof typeof EXEC_POLICY_WORDS) => [own, all, file.defaults].map((level) => level?.[key]);
  const entries = [...(own?.allowlist ?? []), ...(agentId === "*" ? [] : (all?.allowlist ?? []))];
  return {
    security: wordOf(EXEC_POLICY_WORDS.security, said("security"), "deny"),
    ask: wordOf(EXEC_POLICY_WORDS.ask, said("ask"), "on-miss"),
    askFallback: wordOf(EXEC_POLICY_WORDS.askFallback, said("askFallback"), "deny"),
    allowlist: entries.map(({ pattern, args, cwd, anyArguments, sha256 }) => ({
      pattern,
      ...(args && { args }),
      ...(cwd !== undefined && { cwd }),
      ...(anyArguments && { anyArguments }),
      ...(sha256 !== undefined && { sha256 }),
    })),
  };
}

/** Ids come from outside: `constructor` is an agent nobody has. */
function ofAgent({ agents = {} }: ExecPolicyFile, agentId: string): AgentRules | undefined {
  return Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
}

function wordOf<W extends string>(words: readonly [W, ...W[]], said: readonly (string | undefined)[], builtIn: W): W {
  const first = said.find((word) => word !== undefined) ?? builtIn;
  return words.find((word) => word === first) ?? words[0];
}

/**
 * Choice: an entry of the allowlist is a program with a profile of its arguments, with exact arguments, or with any; see `missOf`.
 * @param resolvedPath absolute real path of the program that would run; `undefined`: there is none, which is a miss
 * @param place where it runs. Absent: profiles allow no paths
 */
export function judgeExec(
  rules: ExecRules,
  plan: SystemRunPlan,
  resolvedPath: string | undefined,
  place: ExecPlace = {},
): ExecVerdict {
  if (plan.argv.length === 0) return { verdict: "deny", reason: "there is no program to run" };
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
  return { verdict: "deny", reason: `${why}, and the policy file asks nobody` };
}

interface Found {
  /** Of the first entry that allows the command. */
  readonly pattern?: string;
  /** Why the last entry about this program does not. */
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

/** Whether two entries mean the same; ids and what was used when do not count. */
function isSameEntry(left: AllowedProgram, right: AllowedProgram): boolean {
  return meaningOf(left) === meaningOf(right);
}

/** `args` say more than `anyArguments`. */
function meaningOf({ pattern, args, cwd, anyArguments = false, sha256 }: AllowedProgram): string {
  return JSON.stringify([pattern, cwd ?? null, args ?? anyArguments, sha256?.toLowerCase() ?? null]);
}

/**
 * The file with this entry added to the allowlist of the agent, at most once; the very same file when it is there already, also
 * for `*`. Ids of entries stay. @param agentId `null` is `main` @param newId of the new entry
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
