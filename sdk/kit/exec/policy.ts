/**
 * Whether a policy file lets a command run, and whether somebody is asked first. Pure. Spec: protocol/stores.md §7.
 *
 * Words count exactly as they are written. What a value means, for `security`, `ask` and `askFallback` alike:
 * absent: the next level, then the built-in `deny`, `on-miss`, `deny`; `""`, `" "`, `"*"`, `"FULL"` and every other word that
 * is none: the strictest (`deny`, `always`, `deny`); `null`: no policy file, so all is denied. Choice: all of it.
 */
import { randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { matchesPattern } from "./allowlist.ts";
import { runsOtherText } from "./inline-programs.ts";
import type { ExecPolicyFile, SystemRunPlan } from "@svc/sdk/approvals";

/** The rules that hold for an agent. */
export interface ExecRules {
  readonly security: "deny" | "allowlist" | "full";
  readonly ask: "off" | "on-miss" | "always";
  readonly askFallback: "deny" | "allowlist" | "full";
  readonly patterns: readonly string[];
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
    patterns: entries.map(({ pattern }) => pattern),
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
 * Choice: an entry of the allowlist does not suffice for a program that runs what its arguments say (`sh -c`, `env`,
 * `python -c`): any text could follow. That is a miss.
 * @param resolvedPath absolute real path of the program that would run; `undefined`: there is none, which is a miss
 * @param home directory that `~/` stands for in patterns
 */
export function judgeExec(
  rules: ExecRules,
  plan: SystemRunPlan,
  resolvedPath: string | undefined,
  home: string = homedir(),
): ExecVerdict {
  if (plan.argv.length === 0) return { verdict: "deny", reason: "there is no program to run" };
  if (rules.security === "deny")
    return { verdict: "deny", reason: "the policy file denies all commands of this agent" };
  const pattern = matchOf(rules, plan, resolvedPath, home);
  if (rules.ask === "always") return { verdict: "ask", fallback: fallbackOf(rules, pattern) };
  if (rules.security === "full") return { verdict: "allow" };
  if (pattern !== undefined) return { verdict: "allow", pattern };
  if (rules.ask === "on-miss") return { verdict: "ask", fallback: fallbackOf(rules, pattern) };
  return {
    verdict: "deny",
    reason: "the program is not on the allowlist of this agent, and the policy file asks nobody",
  };
}

function matchOf({ patterns }: ExecRules, { argv }: SystemRunPlan, path: string | undefined, home: string) {
  if (path === undefined || runsOtherText(argv, path)) return undefined;
  return patterns.find((pattern) => matchesPattern(pattern, path, home));
}

function fallbackOf({ askFallback }: ExecRules, pattern: string | undefined): "allow" | "deny" {
  if (askFallback === "full") return "allow";
  return askFallback === "allowlist" && pattern !== undefined ? "allow" : "deny";
}

/**
 * The file with this program added to the allowlist of the agent, at most once; the very same file when it is there already, also
 * for `*`. Ids of entries stay. @param agentId `null` is `main` @param newId of the new entry
 */
export function withAllowed(
  file: ExecPolicyFile,
  agentId: string | null,
  pattern: string,
  newId: () => string = randomUUID,
): ExecPolicyFile {
  const id = agentId ?? DEFAULT_AGENT;
  const own = ofAgent(file, id);
  const known = [...(own?.allowlist ?? []), ...(ofAgent(file, "*")?.allowlist ?? [])];
  if (known.some((entry) => entry.pattern === pattern)) return file;
  const allowlist = [...(own?.allowlist ?? []), { id: newId(), pattern }];
  return { ...file, agents: { ...file.agents, [id]: { ...own, allowlist } } };
}
