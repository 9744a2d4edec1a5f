/**
 * Session keys: one canonical spelling for each conversation, and the facts a key contains. Pure.
 * Spec: protocol/methods-sessions.md §1, http/sessions-routing.md §1-2.
 */
import { invalidRequest } from "@svc/sdk";
import { ownSessionKey } from "@svc/sdk/sessions";

/** Settings that the spelling of a key depends on. */
export interface KeyRules {
  /** Agent that keys without an `agent:` prefix belong to. */
  readonly defaultAgentId: string;
  /** Lower-case name of the main conversation; `main` stays an alias of it. */
  readonly mainKey: string;
  readonly scope: "per-sender" | "global";
}

/** The parts of an `agent:<agentId>:<rest>` key. */
export interface AgentKey {
  readonly agentId: string;
  readonly rest: string;
}

export type SessionKind = "direct" | "group" | "global" | "unknown";
export type ChatType = "direct" | "group" | "channel";

/** Characters a canonical key may have. Choice: longer ones are refused; the spec names no limit. */
export const MAX_KEY_CHARS = 512;

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Control characters, and halves of surrogate pairs: UTF-8 cannot hold those, so two such keys could become one. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
const CRON_RUN = /^cron:[^:]+:run:[^:]+$/;
const CHAT_TYPE = /(?:^|:)(direct|dm|group|channel):/;
const CHANNEL = /^(?!(?:direct|dm|group|channel):)([^:]+):(?:[^:]+:)?(?:direct|dm|group|channel):/;

/** Keys that belong to no agent. */
export function isSpecial(canonicalKey: string): boolean {
  return canonicalKey === "global" || canonicalKey === "unknown";
}

/** Key of an agent's main conversation: `agent:<id>:<mainKey>`, or `global` in the global scope. */
export function mainSessionKey(rules: KeyRules, agentId = rules.defaultAgentId): string {
  return rules.scope === "global" ? "global" : `agent:${agentId}:${rules.mainKey}`;
}

/**
 * The one spelling of `key`: NFC, lower-case, empty segments left out, aliases of the main session resolved.
 * Applying it twice changes nothing. A blank key means the main session.
 * @throws GatewayError `INVALID_REQUEST`: malformed `agent:` key, control characters (choice), more than
 * `MAX_KEY_CHARS` characters (choice), or nothing but colons (choice).
 */
export function canonicalKey(key: string, rules: KeyRules): string {
  const text = normalized(key);
  if (text === "") return mainSessionKey(rules);

  const segments = text
    .split(":")
    .map((segment) => segment.trim())
    .filter((segment) => segment !== "");
  const [first, agentId, ...rest] = segments;
  if (first === undefined) invalidRequest("the session key has only colons; name a session, e.g. main");
  if (first === "agent" && text.includes(":")) return withinLimit(agentKey(agentId, rest.join(":"), rules));

  const request = segments.join(":");
  if (isSpecial(request)) return request;
  return withinLimit(agentKey(rules.defaultAgentId, request, rules));
}

/**
 * The canonical key of a call that may also name the agent: a key without `agent:` is then one of its sessions.
 * @throws GatewayError `INVALID_REQUEST` for a key of another agent, and as `canonicalKey`
 */
export function keyOfAgent(key: string, agentId: string | undefined, rules: KeyRules): string {
  if (agentId === undefined) return canonicalKey(key, rules);
  const wanted = agentId.trim().toLowerCase();
  const canonical = canonicalKey(ownSessionKey(key, wanted), rules);
  if (isSpecial(canonical) || parseKey(canonical)?.agentId === wanted) return canonical;
  return invalidRequest(`session "${canonical}" does not belong to agent "${wanted}"; leave agentId out`);
}

function normalized(key: string): string {
  const text = key.trim();
  if (text.length > MAX_KEY_CHARS) refuseLength();
  if (UNPRINTABLE.test(text)) invalidRequest("the session key has control characters; use printable ones only");
  // Lower-casing can take a text out of NFC again.
  return text.normalize("NFC").toLowerCase().normalize("NFC");
}

function agentKey(agentId: string | undefined, rest: string, rules: KeyRules): string {
  if (agentId === undefined || rest === "") {
    invalidRequest("malformed agent session key; it has the form agent:<agentId>:<name>");
  }
  if (!AGENT_ID.test(agentId)) {
    invalidRequest(
      `malformed agent session key: agent id "${agentId}"; at most 64 letters, digits, "_" and "-", a letter or digit first`,
    );
  }
  return rest === "main" || rest === rules.mainKey ? mainSessionKey(rules, agentId) : `agent:${agentId}:${rest}`;
}

function withinLimit(key: string): string {
  return key.length > MAX_KEY_CHARS ? refuseLength() : key;
}

function refuseLength(): never {
  invalidRequest(`the session key is too long; at most ${MAX_KEY_CHARS} characters with its agent:<agentId>: prefix`);
}

/** The parts of a canonical key; `undefined` for `global` and `unknown`. */
export function parseKey(canonicalKey: string): AgentKey | undefined {
  const [, agentId, rest] = /^agent:([^:]+):(.+)$/s.exec(canonicalKey) ?? [];
  return agentId === undefined || rest === undefined ? undefined : { agentId, rest };
}

/** Agent a canonical key belongs to; the default agent for `global` and `unknown`. */
export function agentOf(canonicalKey: string, rules: KeyRules): string {
  return parseKey(canonicalKey)?.agentId ?? rules.defaultAgentId;
}

/** Whether it is one run of a scheduled job, which lists never show. Spec: methods-sessions.md §2. */
export function isCronRun(canonicalKey: string): boolean {
  return CRON_RUN.test(parseKey(canonicalKey)?.rest ?? "");
}

/** Whether it is a thread or a forum topic of another session. Spec: sessions-routing.md §2. */
export function isThread(canonicalKey: string): boolean {
  return /:(?:thread|topic):/.test(canonicalKey);
}

/** The session a thread belongs to: its key before the last `:thread:` or `:topic:`. */
export function threadParent(canonicalKey: string): string | undefined {
  return /^(.+):(?:thread|topic):.*$/s.exec(canonicalKey)?.[1];
}

/** How deep a sub-agent is nested; 0 for a session of another kind. */
export function subagentDepth(canonicalKey: string): number {
  const segments = (parseKey(canonicalKey)?.rest ?? "").split(":");
  return segments.slice(0, -1).filter((segment) => segment === "subagent").length;
}

/** The chat type named in a key; `dm` is the old name of `direct`. Spec: sessions-routing.md §2. */
export function chatTypeOf(canonicalKey: string): ChatType | undefined {
  const token = CHAT_TYPE.exec(parseKey(canonicalKey)?.rest ?? "")?.[1];
  if (token === "group" || token === "channel") return token;
  return token === undefined ? undefined : "direct";
}

/** Channel named in a `<channel>:[<account>:]direct|group|channel:<peer>` key. */
export function channelOf(canonicalKey: string): string | undefined {
  return CHANNEL.exec(parseKey(canonicalKey)?.rest ?? "")?.[1];
}

/** Choice: the channel of last use, when neither entry nor key names a channel. */
export function channelOfSession(
  canonicalKey: string,
  entry: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  return text(entry?.["channel"]) ?? channelOf(canonicalKey) ?? text(entry?.["lastChannel"]);
}

/** Clients and plugins may have stored any value. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** @param chatType of the entry; default: of the key */
export function kindOf(canonicalKey: string, chatType: unknown = chatTypeOf(canonicalKey)): SessionKind {
  if (canonicalKey === "global" || canonicalKey === "unknown") return canonicalKey;
  return chatType === "group" || chatType === "channel" ? "group" : "direct";
}
