/** Selects the agent of an inbound message by the bindings: eight tiers, the first hit wins. Pure. Spec: http/sessions-routing.md §3. */
import { normalizeId } from "@svc/kit/agent-address";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { InboundAddress, Route } from "@svc/sdk/sessions";
import type { Binding } from "../config.ts";
import { inboundKey, type InboundRules } from "./inbound-keys.ts";
import { mainSessionKey } from "./keys.ts";

export interface RoutingRules extends InboundRules {
  readonly bindings: readonly Binding[];
  /** Absent while no plugin lists agents; then every agent of a binding is accepted. */
  readonly agents: Pick<AgentDirectory, "has" | "list"> | undefined;
}

type Peer = NonNullable<InboundAddress["peer"]>;
type Match = Binding["match"];

/** What bindings are matched against. */
interface Facts {
  readonly inbound: InboundAddress;
  readonly peer: Peer | undefined;
}

interface Tier {
  readonly matchedBy: string;
  /** Which peer a binding's `peer` is compared with. */
  readonly peer: "peer" | "parentPeer";
  /** Whether a binding belongs to this tier. */
  readonly takes: (match: Match) => boolean;
}

const roles = (match: Match) => (match.roles?.length ?? 0) > 0;
const narrow = (match: Match) => Boolean(match.peer || match.guildId || match.teamId);

const TIERS: readonly Tier[] = [
  { matchedBy: "binding.peer", peer: "peer", takes: (match) => match.peer !== undefined },
  { matchedBy: "binding.peer.parent", peer: "parentPeer", takes: (match) => match.peer !== undefined },
  { matchedBy: "binding.guild+roles", peer: "peer", takes: (match) => match.guildId !== undefined && roles(match) },
  { matchedBy: "binding.guild", peer: "peer", takes: (match) => match.guildId !== undefined && !roles(match) },
  { matchedBy: "binding.team", peer: "peer", takes: (match) => match.teamId !== undefined },
  { matchedBy: "binding.account", peer: "peer", takes: (match) => !narrow(match) && match.accountId?.trim() !== "*" },
  { matchedBy: "binding.channel", peer: "peer", takes: (match) => !narrow(match) && match.accountId?.trim() === "*" },
];

/** @throws GatewayError `INVALID_REQUEST` for ids that a session key cannot hold */
export function routeInbound(inbound: InboundAddress, rules: RoutingRules): Route {
  const { agentId, matchedBy } = pickAgent(inbound, rules);
  return {
    agentId,
    channel: inbound.channel.trim().toLowerCase(),
    accountId: normalizeId(inbound.accountId, "default"),
    sessionKey: inboundKey(inbound, agentId, rules),
    mainSessionKey: mainSessionKey(rules, agentId),
    matchedBy,
  };
}

function pickAgent(inbound: InboundAddress, rules: RoutingRules): { agentId: string; matchedBy: string } {
  const here = rules.bindings.filter(({ match }) => isOfAccount(match, inbound));
  for (const { matchedBy, peer, takes } of TIERS) {
    const facts = { inbound, peer: inbound[peer] };
    const found = here.find(({ match }) => takes(match) && fits(match, facts));
    if (found) return { agentId: knownAgent(found.agentId, rules), matchedBy };
  }
  return { agentId: rules.defaultAgentId, matchedBy: "default" };
}

/** An omitted account means `default` only, `*` means all. */
function isOfAccount(match: Match, { channel, accountId }: InboundAddress): boolean {
  if (!same(match.channel, channel)) return false;
  const wanted = match.accountId?.trim() ?? "";
  return wanted === "*" || normalizeId(wanted, "default") === normalizeId(accountId, "default");
}

/** Every field a binding names must match. */
function fits(match: Match, { inbound, peer }: Facts): boolean {
  if (match.peer && !isPeer(match.peer, peer)) return false;
  if (match.guildId !== undefined && !same(match.guildId, inbound.guildId)) return false;
  if (match.teamId !== undefined && !same(match.teamId, inbound.teamId)) return false;
  return !roles(match) || (match.roles ?? []).some((role) => inbound.roles?.some((held) => same(role, held)));
}

/** `group` and `channel` are interchangeable, `dm` is the old name of `direct`; an empty id never matches. */
function isPeer(wanted: NonNullable<Match["peer"]>, peer: Peer | undefined): boolean {
  if (peer === undefined || wanted.id.trim() === "") return false;
  const isDirect = wanted.kind === "direct" || wanted.kind === "dm";
  return isDirect === (peer.kind === "direct") && same(wanted.id, peer.id);
}

/** Choice: case-insensitive, as session keys are. */
function same(wanted: string, given: string | undefined): boolean {
  return given !== undefined && wanted.trim().toLowerCase() === given.trim().toLowerCase();
}

/** Replaces an unknown agent with the default one, unless no agents are listed. Spec: §3. */
function knownAgent(agentId: string, { agents, defaultAgentId }: RoutingRules): string {
  const id = normalizeId(agentId, defaultAgentId);
  const isKnown = agents === undefined || agents.list().length === 0 || agents.has(id);
  return isKnown ? id : defaultAgentId;
}
