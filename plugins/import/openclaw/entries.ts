/** Session keys and session entries of the source, in the form they have here. Pure. Facts: protocol/stores.md §1. */
import type { SessionRecord } from "@svc/sdk/import";
import { peerId } from "./config-channels.ts";
import { isRecord, numberIn, textIn } from "./values.ts";

/** Fields of an entry that have a meaning here. The others are notes of the source, some of them very long. */
const FIELDS: ReadonlySet<string> = new Set(
  [
    "label displayName spawnedBy spawnDepth forkedFromParent systemSent abortedLastRun abortCutoffMessageSid",
    "abortCutoffTimestamp thinkingLevel verboseLevel reasoningLevel elevatedLevel responseUsage execHost execSecurity",
    "execAsk execNode modelProvider model providerOverride modelOverride fallbackNoticeSelectedModel",
    "fallbackNoticeActiveModel fallbackNoticeReason inputTokens outputTokens totalTokens totalTokensFresh cacheRead",
    "cacheWrite contextTokens compactionCount memoryFlushAt memoryFlushCompactionCount sendPolicy groupActivation",
    "groupActivationNeedsSystemIntro queueMode queueDebounceMs queueCap queueDrop chatType channel groupId subject",
    "groupChannel space origin deliveryContext lastChannel lastTo lastAccountId lastThreadId lastHeartbeatText",
    "lastHeartbeatSentAt",
  ].flatMap((line) => line.split(" ")),
);

/** `agent:<id>:<channel>[:<account>]:<kind>:<peer>`, with the topic at the end. */
const OF_A_PEER = /^(agent:[^:]+:([^:]+):(?:[^:]+:)?(direct|group|channel):)(.+?)((?::(?:topic|thread):[^:]+)?)$/;

/** The canonical key, with people and groups as the plugins here write them. @param agentId the agent whose store has the session */
export function keyOf(key: string, agentId: string): string {
  const lower = key.trim().toLowerCase();
  const full = /^(?:agent:|global$|unknown$)/.test(lower) ? lower : `agent:${agentId}:${lower}`;
  const canonical = full.replace(/(?<=:)dm(?=:)/, "direct");
  const [, start, channel = "", kind = "", peer = "", topic = ""] = OF_A_PEER.exec(canonical) ?? [];
  return start === undefined ? canonical : `${start}${peerId(channel, kind, peer)}${topic}`;
}

/** @returns a reason when the entry is no session */
export function sessionOf(key: string, entry: unknown): SessionRecord | string {
  if (!isRecord(entry)) return "its entry is not an object";
  const sessionId = textIn(entry["sessionId"]);
  if (sessionId === undefined) return "its entry has no session id";
  const fields = { ...routeIn(entry["delivery"]), ...entry };
  return {
    id: key,
    sessionId,
    updatedAt: Math.max(0, numberIn(entry["updatedAt"]) ?? 0),
    entry: Object.fromEntries(Object.entries(fields).filter(([name, value]) => FIELDS.has(name) && value !== null)),
  };
}

/** The channel of clients that read replies in the gateway. */
const INTERNAL = "webchat";

/** Where replies go, in the fields that earlier versions have. */
function routeIn(delivery: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(delivery) || delivery["kind"] === "none") return {};
  const { kind, context, route, origin } = delivery;
  const known = isRecord(context) ? context : route;
  const to = isRecord(known) ? known : kind === "internal" ? { channel: INTERNAL } : {};
  const { channel = null, to: recipient = null, accountId = null, threadId = null } = to;
  return {
    deliveryContext: to,
    lastChannel: channel,
    lastTo: recipient,
    lastAccountId: accountId,
    lastThreadId: threadId,
    ...(isRecord(origin) ? { origin } : {}),
  };
}
