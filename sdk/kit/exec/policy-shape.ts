/** A policy file as text and as a value: what is read leniently, what is refused on the way in. Pure. Spec: protocol/methods-exec-approvals.md §1. */
import { createHash, randomUUID } from "node:crypto";
import { describeViolations, GatewayError, invalidRequest, matches } from "@svc/sdk";
import { ExecPolicyFile, type ExecPolicySnapshot } from "@svc/sdk/approvals";
import { entryFault } from "./entry.ts";
import { EXEC_POLICY_WORDS } from "./policy.ts";

type Agents = NonNullable<ExecPolicyFile["agents"]>;
type AgentRules = Agents[string];

/** The key agents without a name once had, and the agent that it means. */
const LEGACY_AGENT = "default";
const DEFAULT_AGENT = "main";

/** @throws Error saying what is wrong with it */
export function parsePolicy(raw: string): ExecPolicyFile {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch {
    throw new Error("it is not JSON");
  }
  const file = modern(value);
  if (!matches(ExecPolicyFile, file)) throw new Error(describeViolations(ExecPolicyFile, file));
  return file;
}

/** Brings older spellings up to date: entries of an allowlist that are strings, and the agent `default`. */
function modern(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value["agents"])) return value;
  const agents = Object.entries(value["agents"]).map(([id, rules]): [string, unknown] => {
    if (!isRecord(rules) || !Array.isArray(rules["allowlist"])) return [id, rules];
    const allowlist = rules["allowlist"].map((entry: unknown) =>
      typeof entry === "string" ? { pattern: entry } : entry,
    );
    return [id, { ...rules, allowlist }];
  });
  return { ...value, agents: withoutLegacyAgent(Object.fromEntries(agents)) };
}

/** What `main` says itself counts; its allowlist gets the entries it lacks. */
function withoutLegacyAgent(agents: Record<string, unknown>): Record<string, unknown> {
  const { [LEGACY_AGENT]: legacy, ...others } = agents;
  if (!isRecord(legacy)) return agents;
  const main = others[DEFAULT_AGENT] ?? {};
  if (!isRecord(main)) return agents;
  const own = Array.isArray(main["allowlist"]) ? (main["allowlist"] as unknown[]) : [];
  const former = Array.isArray(legacy["allowlist"]) ? (legacy["allowlist"] as unknown[]) : [];
  const known = new Set(own.map(meaningOf));
  const added = former.filter((entry) => !known.has(meaningOf(entry)));
  const allowlist = own.length + added.length > 0 ? { allowlist: [...own, ...added] } : {};
  return { ...others, [DEFAULT_AGENT]: { ...legacy, ...main, ...allowlist } };
}

/** Of an entry that may be of any shape. */
function meaningOf(entry: unknown): string {
  const { pattern, args, cwd, anyArguments, sha256 } = Object(entry) as Record<string, unknown>;
  return JSON.stringify([pattern, args, cwd, anyArguments, sha256]);
}

/**
 * What is written for a file that somebody sets: entries get ids, the socket keeps what is left out, `default` becomes `main`.
 * Choice: words and patterns that mean nothing are refused, though the schema would take them.
 * @param current what stands there now @throws GatewayError `INVALID_REQUEST` naming the place
 */
export function normalisePolicy(
  given: ExecPolicyFile,
  current: ExecPolicyFile,
  newId: () => string = randomUUID,
): ExecPolicyFile {
  const file = modern(given);
  if (!matches(ExecPolicyFile, file)) {
    invalidRequest(
      `this is no policy file: ${describeViolations(ExecPolicyFile, file)}; see exec.approvals.get for one`,
    );
  }
  checkWords("defaults", file.defaults ?? {});
  const agents = Object.entries(file.agents ?? {}).map(([id, rules]): [string, AgentRules] => {
    if (id.trim() !== id || id === "") {
      invalidRequest(`agents: ${JSON.stringify(id)} is no id of an agent; write its id, e.g. main, or * for all`);
    }
    checkWords(`agents.${id}`, rules);
    return [id, rules.allowlist ? { ...rules, allowlist: rules.allowlist.map(identified(id, newId)) } : rules];
  });
  const socket = { ...current.socket, ...file.socket };
  return { ...file, socket, ...(file.agents ? { agents: Object.fromEntries(agents) } : {}) };
}

function identified(agentId: string, newId: () => string) {
  return (entry: NonNullable<AgentRules["allowlist"]>[number]) => {
    const fault = entryFault(entry);
    if (fault !== undefined) invalidRequest(`agents.${agentId}.allowlist: ${fault}`);
    return { ...entry, id: entry.id ?? newId() };
  };
}

function checkWords(place: string, rules: AgentRules): void {
  for (const key of ["security", "ask", "askFallback"] as const) {
    const word = rules[key];
    const words: readonly string[] = EXEC_POLICY_WORDS[key];
    if (word === undefined || words.includes(word)) continue;
    const shown = JSON.stringify(word.slice(0, 100));
    invalidRequest(`${place}.${key}: ${shown} means nothing; write ${words.join(", ")}, or leave it out`);
  }
}

/** As it is shown to readers: without the token of its socket. */
export function snapshotOf(path: string, raw: string, file: ExecPolicyFile): ExecPolicySnapshot {
  const { socket, ...rest } = file;
  const shown = socket?.path === undefined ? rest : { ...rest, socket: { path: socket.path } };
  return { path, exists: true, hash: hashOf(raw), file: shown };
}

/** Of the file as it stands on disk, hex. */
export function hashOf(raw: string): string {
  return createHash("sha256").update(raw).digest("hex");
}

/** @throws GatewayError `INVALID_REQUEST`: who wants to replace a file has to have seen it */
export function checkBaseHash(raw: string | undefined, baseHash: string | undefined): void {
  const next = "re-run exec.approvals.get and make the change from what it answers";
  if (baseHash === undefined && raw !== undefined)
    invalidRequest(`the base hash of the policy file is missing; ${next}`);
  if (baseHash !== undefined && (raw === undefined || hashOf(raw) !== baseHash)) {
    throw new GatewayError("INVALID_REQUEST", `the policy file changed since it was read; ${next}`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
