/**
 * A policy file as text and as a value: lenient when reading, strict when writing. Pure. Spec:
 * protocol/methods-exec-approvals.md §1.
 */
import { createHash, randomUUID } from "node:crypto";
import { describeViolations, GatewayError, invalidRequest, matches } from "@svc/sdk";
import { ExecPolicyFile, type ExecPolicySnapshot } from "@svc/sdk/approvals";
import { entryFault } from "./entry.ts";
import { EXEC_POLICY_WORDS } from "./policy.ts";

type Agents = NonNullable<ExecPolicyFile["agents"]>;
type AgentRules = Agents[string];

/** Key once used for agents without a name, and the agent it refers to. */
const LEGACY_AGENT = "default";
const DEFAULT_AGENT = "main";

/** @throws Error that describes the problem */
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

/** Converts older formats: allowlist entries that are strings, and the agent `default`. */
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

/** Values of `main` take precedence; missing entries are added to its allowlist. */
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

/** Identity of an entry of any shape. */
function meaningOf(entry: unknown): string {
  const { pattern, args, cwd, anyArguments, sha256 } = Object(entry) as Record<string, unknown>;
  return JSON.stringify([pattern, args, cwd, anyArguments, sha256]);
}

/**
 * The value to write for a file set by a client: entries get ids, omitted socket fields are preserved, `default`
 * becomes `main`. Choice: unknown words and invalid patterns are rejected, although the schema allows them.
 * @param current the current file
 * @throws GatewayError `INVALID_REQUEST` naming the location
 */
export function normalisePolicy(
  given: ExecPolicyFile,
  current: ExecPolicyFile,
  newId: () => string = randomUUID,
): ExecPolicyFile {
  const file = modern(given);
  if (!matches(ExecPolicyFile, file)) {
    invalidRequest(
      `this is not a policy file: ${describeViolations(ExecPolicyFile, file)}; see exec.approvals.get for an example`,
    );
  }
  checkWords("defaults", file.defaults ?? {});
  const agents = Object.entries(file.agents ?? {}).map(([id, rules]): [string, AgentRules] => {
    if (id.trim() !== id || id === "") {
      invalidRequest(`agents: ${JSON.stringify(id)} is not an agent id; write its id, e.g. main, or * for all`);
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
    invalidRequest(`${place}.${key}: ${shown} is not a valid value; write ${words.join(", ")}, or omit it`);
  }
}

/** As returned to clients: without the token of its socket. */
export function snapshotOf(path: string, raw: string, file: ExecPolicyFile): ExecPolicySnapshot {
  const { socket, ...rest } = file;
  const shown = socket?.path === undefined ? rest : { ...rest, socket: { path: socket.path } };
  return { path, exists: true, hash: hashOf(raw), file: shown };
}

/** Hash of the file on disk, hex. */
export function hashOf(raw: string): string {
  return createHash("sha256").update(raw).digest("hex");
}

/** @throws GatewayError `INVALID_REQUEST` if the caller has not seen the current version */
export function checkBaseHash(raw: string | undefined, baseHash: string | undefined): void {
  const next = "re-run exec.approvals.get and apply the change to its result";
  if (baseHash === undefined && raw !== undefined)
    invalidRequest(`the base hash of the policy file is missing; ${next}`);
  if (baseHash !== undefined && (raw === undefined || hashOf(raw) !== baseHash)) {
    throw new GatewayError("INVALID_REQUEST", `the policy file changed since it was read; ${next}`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
