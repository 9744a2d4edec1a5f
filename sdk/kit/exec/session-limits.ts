/**
 * What the settings of a session say about its commands, on this machine and on nodes. Each only narrows what the policy and the
 * configuration allow. Choice: all of it; the values are those of protocol/methods-sessions.md §5.
 *
 * | Setting | Value | On this machine | On a node |
 * |---|---|---|---|
 * | `execSecurity` | `deny`, unknown | refused | refused |
 * | | `allowlist` | only what the allowlist allows | the same, by the node's allowlist |
 * | | `full` | as without it | as without it |
 * | `execAsk` | `off` | what the allowlist misses is refused, nobody is asked | the same |
 * | | `on-miss` | people are asked for what the allowlist misses, where a list decides | the same |
 * | | `always`, unknown | people are asked each time | the same |
 * | `execHost` | `gateway` | as without it | refused |
 * | | `node` | refused | as without it |
 * | | `sandbox` | refused, unless commands of the agent run in a sandbox | refused |
 * | | unknown | refused | refused |
 * | `execNode` | a node's id | as without it | refused on every other node |
 * | `elevatedLevel` | `off` | as without it | as without it |
 * | | `ask`, unknown | people are asked each time | the same |
 * | | `on`, `full` | as without it: nothing is widened, and `sessions.patch` refuses both | the same |
 */
import { isGatewayError } from "@svc/sdk";
import { commandText } from "@svc/sdk/cli";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { EXEC_POLICY_WORDS, type ExecRules, type ExecVerdict } from "./policy.ts";

/** Settings of one session that narrow commands. */
export interface SessionLimits {
  readonly sessionKey: string;
  readonly security?: ExecRules["security"];
  readonly ask?: ExecRules["ask"];
  /** The setting that `ask` comes from. */
  readonly askedBy?: "execAsk" | "elevatedLevel";
  /** `unknown`: a stored word that is none. */
  readonly host?: "sandbox" | "gateway" | "node" | "unknown";
  /** Id of the only node; `""`: a stored value that is none. */
  readonly node?: string;
}

/** Where a command would run. */
export type RunPlace =
  | { readonly kind: "gateway"; readonly isSandboxed: boolean }
  | { readonly kind: "node"; readonly nodeId: string };

/** A no of a session: which setting says it, and the command that changes it. */
export interface SessionRefusal {
  readonly verdict: "deny";
  readonly reason: string;
  readonly next: string;
}

/** `ask`: `reason` names the setting that wants people asked and `next` what changes it, where it is one of the session. */
export type SessionVerdict =
  | Exclude<ExecVerdict, { readonly verdict: "deny" | "ask" }>
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny"; readonly reason?: string; readonly next?: string }
  | SessionRefusal;

const HOSTS = ["sandbox", "gateway", "node"] as const;
const NOTHING_MORE: ReadonlySet<unknown> = new Set(["off", "on", "full"]);

/** Of an entry; `undefined`: it limits nothing. A stored word that is none counts as the strictest. */
export function sessionLimits(sessionKey: string, entry: SessionEntry | undefined): SessionLimits | undefined {
  if (!entry) return undefined;
  const { execSecurity, execAsk, execHost: host, execNode: node, elevatedLevel: elevated } = entry;
  const security = wordOf(EXEC_POLICY_WORDS.security, execSecurity);
  const ask = wordOf(EXEC_POLICY_WORDS.ask, execAsk);
  const isElevatedAsking = isSaid(elevated) && !NOTHING_MORE.has(elevated);
  const limits: SessionLimits = {
    sessionKey,
    ...(security && { security }),
    ...(isElevatedAsking
      ? { ask: "always", askedBy: "elevatedLevel" }
      : ask !== undefined && { ask, askedBy: "execAsk" }),
    ...(isSaid(host) && { host: HOSTS.find((word) => word === host) ?? "unknown" }),
    ...(isSaid(node) && { node: typeof node === "string" ? node.trim() : "" }),
  };
  return Object.keys(limits).length === 1 ? undefined : limits;
}

/** @param words the strictest first */
function wordOf<W extends string>(words: readonly [W, ...W[]], said: unknown): W | undefined {
  return isSaid(said) ? (words.find((word) => word === said) ?? words[0]) : undefined;
}

/** `null` is "not said", as an absent field is. */
function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Limits of a session and of those that started it, its own first: a sub-agent may not do what its parent may not.
 * @throws GatewayError what reading an entry fails with
 */
export async function limitsOf(
  sessions: Pick<Sessions, "get" | "canonicalKey">,
  sessionKey: string,
): Promise<readonly SessionLimits[]> {
  const visited = new Set<string>();
  const found: SessionLimits[] = [];
  let key = keyOf(sessions, sessionKey);
  while (key !== undefined && !visited.has(key)) {
    visited.add(key);
    const entry: SessionEntry | undefined = await sessions.get(key);
    const limits = sessionLimits(key, entry);
    if (limits) found.push(limits);
    key = keyOf(sessions, entry?.spawnedBy);
  }
  return found;
}

/** `undefined`: no session has such a key. */
function keyOf(sessions: Pick<Sessions, "canonicalKey">, key: unknown): string | undefined {
  if (typeof key !== "string" || key.trim() === "") return undefined;
  try {
    return sessions.canonicalKey(key);
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
    return undefined;
  }
}

/** What the session says of every command there, whatever it is; `undefined`: nothing. */
export function placeRefusal(limits: SessionLimits, place: RunPlace): SessionRefusal | undefined {
  const { security, host, node } = limits;
  if (security === "deny") return refusal(limits, "execSecurity", "deny", "--exec-security allowlist");
  if (place.kind === "gateway") {
    const isHere = host === undefined || host === "gateway" || (host === "sandbox" && place.isSandboxed);
    return isHere ? undefined : notHere(limits);
  }
  if (host !== undefined && host !== "node")
    return refusal(limits, "execHost", `${host}, not node`, "--exec-host node");
  if (node === undefined || node === place.nodeId) return undefined;
  const only = node === "" ? "no id of a node" : node;
  return refusal(limits, "execNode", `${only}, not ${place.nodeId}`, `--exec-node ${commandText([place.nodeId])}`);
}

function notHere(limits: SessionLimits): SessionRefusal {
  const { host, node } = limits;
  const one = refusal(limits, "execHost", `${host}, and this command would run on the gateway`, "--exec-host gateway");
  if (host === "node") {
    const which = node ? `the node ${node}` : "a node";
    return { ...one, next: `use the tool nodes with the action run on ${which}; ${one.next}` };
  }
  if (host === "sandbox") {
    const reason = `execHost of session ${limits.sessionKey} is sandbox, and commands of this agent run in none`;
    return { ...one, reason };
  }
  return one;
}

/** What a session's settings say, the list and the rest of the policy being as they are. @param judge a command by rules */
export function judgeSession(
  limits: SessionLimits,
  rules: ExecRules,
  place: RunPlace,
  judge: (rules: ExecRules) => ExecVerdict,
): SessionVerdict {
  const refused = placeRefusal(limits, place);
  if (refused) return refused;
  const { security, ask, askedBy } = limits;
  const verdict = judge({ ...rules, security: security ?? rules.security, ask: ask ?? rules.ask });
  if (verdict.verdict === "deny") return missed(limits, verdict.reason);
  if (verdict.verdict === "allow" || (ask === undefined && security === undefined)) return verdict;
  const setting = ask !== undefined && askedBy !== undefined ? askedBy : "execSecurity";
  const value = setting === "execSecurity" ? security : setting === "execAsk" ? ask : "ask";
  const { reason, next } = refusal(limits, setting, String(value), `--clear ${setting}`);
  return { ...verdict, reason, next };
}

/** A command that the allowlist misses while nobody is asked. */
function missed(limits: SessionLimits, reason: string): SessionRefusal {
  const why = "this command is not on the allowlist";
  if (limits.security === "allowlist")
    return refusal(limits, "execSecurity", `allowlist, and ${why}`, "--exec-security full");
  if (limits.ask === "off") return refusal(limits, "execAsk", `off, and ${why}`, "--exec-ask on-miss");
  return { verdict: "deny", reason, next: "an operator can see what holds: svc approvals get" };
}

function refusal({ sessionKey }: SessionLimits, setting: string, value: string, option: string): SessionRefusal {
  return {
    verdict: "deny",
    reason: `${setting} of session ${sessionKey} is ${value}`,
    next: `an operator can change that: svc sessions patch ${commandText([sessionKey])} ${option}`,
  };
}
