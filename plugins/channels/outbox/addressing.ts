/** Destination of a text: channel, account and address, derived from a request and a session. Spec: http/sessions-routing.md §8. */
import { type Contribution, isGatewayError } from "@svc/sdk";
import type { Channel, DeliveryRequest } from "@svc/sdk/channels";
import type { InboundAddress, SessionEntry } from "@svc/sdk/sessions";
import { defaultAccountOf, type ChannelAccounts } from "../accounts/channel-accounts.ts";

export interface Destination {
  readonly contribution: Contribution<Channel>;
  readonly accountId: string;
  readonly to: string;
  readonly threadId?: string;
}

/** Where a session was last active. */
export interface LastRoute {
  readonly channel: string;
  readonly to: string;
  readonly accountId?: string;
  readonly threadId?: string;
}

type Channels = Pick<ChannelAccounts, "configured" | "channel" | "channelId" | "missing" | "account" | "call">;

/**
 * @returns a sentence for people if there is no destination
 * @throws GatewayError `UNAVAILABLE` while a plugin that may contribute the channel is loading
 */
export async function destinationOf(
  request: Pick<DeliveryRequest, "channel" | "to" | "accountId" | "threadId" | "keepsThread">,
  entry: SessionEntry | undefined,
  channels: Channels,
): Promise<Destination | string> {
  const last = lastRouteOf(entry);
  const wantsLast = request.channel.trim().toLowerCase() === "last";
  const chosen = wantsLast ? lastChannel(last, channels) : named(request.channel, channels);
  if (typeof chosen === "string") return chosen;
  const fitting = last?.channel === chosen.id ? last : undefined; // an address of another channel is useless
  const accountId = request.accountId ?? fitting?.accountId ?? defaultAccountOf(chosen.value);
  const contribution = channels.account(chosen, accountId)?.contribution;
  if (!contribution) return `channel ${chosen.id} has no account "${accountId}"`;
  const given = request.to?.trim() ?? "";
  const asked = request.threadId?.trim() || undefined;
  if (asked !== undefined && contribution.value.capabilities.threads !== true)
    return `channel ${contribution.id} has no threads; leave out the thread`;
  if (given === "") {
    if (!fitting) return `no recipient is known on ${contribution.id}; name one`;
    const { to } = fitting;
    const threadId = asked ?? fitting.threadId;
    const keepsThread = threadId !== undefined && request.keepsThread !== false;
    return { contribution, accountId, to, ...(keepsThread ? { threadId } : {}) };
  }
  const to = await addressOf(contribution, given, channels);
  return to === undefined
    ? `"${given}" is not an address of channel ${contribution.id}`
    : { contribution, accountId, to, ...(asked === undefined ? {} : { threadId: asked }) };
}

/** The address in canonical spelling; `undefined` if it is not an address of this channel. */
export async function addressOf(
  contribution: Contribution<Channel>,
  text: string,
  channels: Pick<ChannelAccounts, "call">,
): Promise<string | undefined> {
  try {
    return await channels.call(contribution, async (channel) => channel.target(text));
  } catch (error) {
    if (isGatewayError(error) && error.code === "INVALID_REQUEST") return undefined;
    throw error;
  }
}

/** Type of the conversation at an address. */
export function chatTypeOf(
  contribution: Contribution<Channel>,
  to: string,
  channels: Pick<ChannelAccounts, "call">,
): Promise<"direct" | "group"> {
  const usual = contribution.value.capabilities.chats.includes("direct") ? "direct" : "group";
  return channels.call(contribution, async (channel) => (await channel.chatType?.(to)) ?? usual);
}

/** The address that incoming messages of the conversation have: a direct chat belongs to the person, see `Channel.target`. */
export async function inboundAddressOf(
  { contribution, accountId, to, threadId }: Destination,
  channels: Pick<ChannelAccounts, "call">,
): Promise<InboundAddress> {
  const kind = await chatTypeOf(contribution, to, channels);
  const peer = { kind, id: kind === "direct" ? to.replace(/^user:/, "") : to };
  const { ownSessions: ownSession } = contribution.value.capabilities;
  return { channel: contribution.id, accountId, peer, ownSession, ...(threadId === undefined ? {} : { threadId }) };
}

function named(name: string, channels: Channels): Contribution<Channel> | string {
  const id = channels.channelId(name);
  return (id === undefined ? undefined : channels.channel(id)) ?? channels.missing(name);
}

/** The channel of the last route; without a route, the only configured channel. */
function lastChannel(last: LastRoute | undefined, channels: Channels): Contribution<Channel> | string {
  if (last) {
    return (
      channels.channel(last.channel) ??
      `the session was last active on a channel that does not run now: ${channels.missing(last.channel)}`
    );
  }
  const [only, other] = channels.configured();
  if (only && !other) return only;
  return only
    ? "the session has no last channel, and several are configured; name one"
    : "the session has no last channel, and none is configured";
}

/** `undefined` if the session was never active in a channel. */
export function lastRouteOf(entry: SessionEntry | undefined): LastRoute | undefined {
  const context = isRecord(entry?.["deliveryContext"]) ? entry["deliveryContext"] : {};
  const pick = (key: string, field: string) => textOf(context[key]) ?? textOf(entry?.[field]);
  const [channel, to] = [pick("channel", "lastChannel"), pick("to", "lastTo")];
  if (channel === undefined || to === undefined) return undefined;
  const [accountId, threadId] = [pick("accountId", "lastAccountId"), pick("threadId", "lastThreadId")];
  return {
    channel,
    to,
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
