/**
 * Session settings that restrict its commands, on this machine and on nodes. Each one can only narrow what the policy
 * and the configuration allow. Choice: all of it; the values are those of protocol/methods-sessions.md §5.
 *
 * | Setting | Value | On this machine | On a node |
 * |---|---|---|---|
 * | `execSecurity` | `deny`, unknown | refused | refused |
 * | | `allowlist` | only commands on the allowlist | the same, by the node's allowlist |
 * | | `full` | no effect | no effect |
 * | `execAsk` | `off` | commands not on the allowlist are refused without asking | the same |
 * | | `on-miss` | approval for commands not on the allowlist, if the allowlist decides | the same |
 * | | `always`, unknown | approval for each command | the same |
 * | `execHost` | `gateway` | no effect | refused |
 * | | `node` | refused | no effect |
 * | | `sandbox` | refused, unless commands of the agent run in a sandbox | refused |
 * | | unknown | refused | refused |
 * | `execNode` | a node's id | no effect | refused on every other node |
 * | `elevatedLevel` | `off` | no effect | no effect |
 * | | `ask`, unknown | approval for each command | the same |
 * | | `on`, `full` | no effect: nothing is widened, and `sessions.patch` refuses both | the same |
 */
import { isGatewayError, unavailable } from "@svc/sdk";
import { commandText } from "@svc/sdk/cli";
import type { SessionEntry, Sessions } from "@svc/sdk/sessions";
import { EXEC_POLICY_WORDS, type ExecRules, type ExecVerdict } from "./policy.ts";

/** Settings of one session that restrict its commands. */
export interface SessionLimits {
  readonly sessionKey: string;
  readonly security?: ExecRules["security"];
  readonly ask?: ExecRules["ask"];
  /** The setting that determined `ask`. */
  readonly askedBy?: "execAsk" | "elevatedLevel";
  /** `unknown`: an unknown stored word. */
  readonly host?: "sandbox" | "gateway" | "node" | "unknown";
  /** Id of the only allowed node; `""`: an invalid stored value. */
  readonly node?: string;
}

/** Where a command would run. */
export type RunPlace =
  | { readonly kind: "gateway"; readonly isSandboxed: boolean }
  | { readonly kind: "node"; readonly nodeId: string };

/** A refusal by a session setting, and the command that changes the setting. */
export interface SessionRefusal {
  readonly verdict: "deny";
  readonly reason: string;
  readonly next: string;
}

/**
 * `ask`: `reason` names the setting that requires approval, and `next` the command that changes it, if it is a session
 * setting.
 */
export type SessionVerdict =
  | Exclude<ExecVerdict, { readonly verdict: "deny" | "ask" }>
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny"; readonly reason?: string; readonly next?: string }
  | SessionRefusal;

const HOSTS = ["sandbox", "gateway", "node"] as const;
const NOTHING_MORE: ReadonlySet<unknown> = new Set(["off", "on", "full"]);

/** Limits from a session entry; `undefined`: none. An unknown stored word counts as the strictest. */
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

/** @param words strictest first */
function wordOf<W extends string>(words: readonly [W, ...W[]], said: unknown): W | undefined {
  return isSaid(said) ? (words.find((word) => word === said) ?? words[0]) : undefined;
}

/** `null` counts as unset, like an absent field. */
function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Limits of a session and of the sessions that started it, its own first: a sub-agent never has more rights than its
 * parent.
 * @param sessions `undefined`: no plugin provides the service
 * @throws GatewayError `UNAVAILABLE` without `sessions`; the error of a read that fails
 */
export async function limitsOf(
  sessions: Pick<Sessions, "get" | "canonicalKey"> | undefined,
  sessionKey: string,
): Promise<readonly SessionLimits[]> {
  if (!sessions)
    return unavailable(
      "no running plugin provides sessions, so the limits of this session are unknown; run svc plugins list to see why",
    );
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

/** `undefined`: not a valid session key. */
function keyOf(sessions: Pick<Sessions, "canonicalKey">, key: unknown): string | undefined {
  if (typeof key !== "string" || key.trim() === "") return undefined;
  try {
    return sessions.canonicalKey(key);
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
    return undefined;
  }
}

/** Refusal by the session for any command in this place; `undefined`: none. */
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
  const only = node === "" ? "not a node id" : node;
  return refusal(limits, "execNode", `${only}, not ${place.nodeId}`, `--exec-node ${commandText([place.nodeId])}`);
}

function notHere(limits: SessionLimits): SessionRefusal {
  const { host, node } = limits;
  const one = refusal(limits, "execHost", `${host}, but this command would run on the gateway`, "--exec-host gateway");
  if (host === "node") {
    const which = node ? `the node ${node}` : "a node";
    return { ...one, next: `use the tool nodes with the action run on ${which}; ${one.next}` };
  }
  if (host === "sandbox") {
    const reason = `execHost of session ${limits.sessionKey} is sandbox, but commands of this agent run without one`;
    return { ...one, reason };
  }
  return one;
}

/**
 * The verdict under the session settings; the allowlist and the rest of the policy stay as they are.
 * @param judge judges the command by given rules
 */
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

/** A command that is not on the allowlist while nobody is asked. */
function missed(limits: SessionLimits, reason: string): SessionRefusal {
  const why = "this command is not on the allowlist";
  if (limits.security === "allowlist")
    return refusal(limits, "execSecurity", `allowlist, and ${why}`, "--exec-security full");
  if (limits.ask === "off") return refusal(limits, "execAsk", `off, and ${why}`, "--exec-ask on-miss");
  return { verdict: "deny", reason, next: "an operator can list the rules: svc approvals get" };
}

function refusal({ sessionKey }: SessionLimits, setting: string, value: string, option: string): SessionRefusal {
  return {
    verdict: "deny",
    reason: `${setting} of session ${sessionKey} is ${value}`,
    next: `an operator can change it: svc sessions patch ${commandText([sessionKey])} ${option}`,
  };
}
