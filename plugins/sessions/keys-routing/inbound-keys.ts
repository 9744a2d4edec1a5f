/** The session of an inbound message. Pure. Spec: http/sessions-routing.md §2. */
import { normalizeId } from "@svc/kit/agent-address";
import type { InboundAddress } from "@svc/sdk/sessions";
import { canonicalKey, type KeyRules, mainSessionKey } from "./keys.ts";

/** Which direct messages share a session. */
export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

export interface InboundRules extends KeyRules {
  readonly dmScope: DmScope;
  /** Name -> peer ids, each bare or `<channel>:<peer>`. */
  readonly identityLinks?: Readonly<Record<string, readonly string[]>> | undefined;
}

type Peer = NonNullable<InboundAddress["peer"]>;

/** Placeholder for a missing channel or chat. Spec: §2. */
const UNKNOWN = "unknown";

/** @throws GatewayError `INVALID_REQUEST` for ids with control characters, or that make the key too long */
export function inboundKey(inbound: InboundAddress, agentId: string, rules: InboundRules): string {
  const key = (rest: string) => canonicalKey(`agent:${agentId}:${rest}`, rules);
  const threadId = inbound.threadId?.trim();
  const peer = basePeer(inbound);
  const base =
    peer === undefined || peer.kind === "direct"
      ? directRest(inbound, peer?.id ?? "", rules)
      : `${segment(inbound.channel)}:${peer.kind}:${segment(peer.id)}`;
  if (!threadId) return base === undefined ? mainSessionKey(rules, agentId) : key(base);
  const suffix = `:${isForumTopic(inbound) ? "topic" : "thread"}:${threadId}`;
  if (base !== undefined) return key(base + suffix);
  // Choice: a thread of the main session belongs to its agent, also where the main session is `global`.
  return key(rules.mainKey + suffix);
}

/**
 * The peer that owns the session. Choice: a thread that is its own room (its id is the peer's) belongs to the room it was
 * opened in, so that its parent can be read from its key.
 */
function basePeer({ peer, parentPeer, threadId }: InboundAddress): Peer | undefined {
  return parentPeer && peer && threadId !== undefined && peer.id === threadId ? parentPeer : peer;
}

/** Choice: threads of groups outside guilds and teams are forum topics; all others are threads of a team chat. */
function isForumTopic({ peer, guildId, teamId }: InboundAddress): boolean {
  return peer?.kind === "group" && !guildId && !teamId;
}

/** `undefined` means the main session. */
function directRest(inbound: InboundAddress, peerId: string, rules: InboundRules): string | undefined {
  const isOwn = inbound.ownSession === true;
  const dmScope = isOwn ? "per-account-channel-peer" : rules.dmScope;
  const id = peerId.trim();
  if (dmScope === "main" || id === "") return undefined;
  const peer = (isOwn ? undefined : linkedName(inbound.channel, id, rules.identityLinks)) ?? id;
  if (dmScope === "per-peer") return `direct:${peer}`;
  const channel = segment(inbound.channel);
  if (dmScope === "per-channel-peer") return `${channel}:direct:${peer}`;
  return `${channel}:${normalizeId(inbound.accountId, "default")}:direct:${peer}`;
}

/** The name `session.identityLinks` gives to a peer; compared without case. */
export function linkedName(
  channel: string,
  peerId: string,
  links: InboundRules["identityLinks"] = {},
): string | undefined {
  const bare = peerId.trim().toLowerCase();
  const ids = [bare, `${channel.trim().toLowerCase()}:${bare}`];
  const link = Object.entries(links).find(([, peers]) => peers.some((peer) => ids.includes(peer.trim().toLowerCase())));
  return link?.[0].trim() || undefined;
}

function segment(text: string): string {
  return text.trim() || UNKNOWN;
}
