/** Where a text is to go: channel, account and address, from what a request and a session say. Spec: http/sessions-routing.md §8. */
import { type Contribution, isGatewayError } from "@svc/sdk";
import type { Channel, DeliveryRequest } from "@svc/sdk/channels";
import type { SessionEntry } from "@svc/sdk/sessions";
import { defaultAccountOf, type ChannelAccounts } from "./channel-accounts.ts";

export interface Destination {
  readonly contribution: Contribution<Channel>;
  readonly accountId: string;
  readonly to: string;
  readonly threadId?: string;
}

/** Where a session was spoken to last. */
export interface LastRoute {
  readonly channel: string;
  readonly to: string;
  readonly accountId?: string;
  readonly threadId?: string;
}

type Channels = Pick<ChannelAccounts, "configured" | "channel" | "channelId" | "missing" | "account" | "call">;

/**
 * @returns a sentence for people where it can go nowhere
 * @throws GatewayError `UNAVAILABLE` while a plugin that may bring the channel loads
 */
export async function destinationOf(
  request: Pick<DeliveryRequest, "channel" | "to" | "accountId" | "keepsThread">,
  entry: SessionEntry | undefined,
  channels: Channels,
): Promise<Destination | string> {
  const last = lastRouteOf(entry);
  const wantsLast = request.channel.trim().toLowerCase() === "last";
  const contribution = wantsLast ? lastChannel(last, channels) : named(request.channel, channels);
  if (typeof contribution === "string") return contribution;
  const fitting = last?.channel === contribution.id ? last : undefined; // an address of another channel means nothing here
  const accountId = request.accountId ?? fitting?.accountId ?? defaultAccountOf(contribution.value);
  if (!channels.account(contribution, accountId)) return `channel ${contribution.id} has no account "${accountId}"`;
  const given = request.to?.trim() ?? "";
  if (given === "") {
    if (!fitting) return `nobody says whom to write to on ${contribution.id}; name a recipient`;
    const { to, threadId } = fitting;
    const keepsThread = threadId !== undefined && request.keepsThread !== false;
    return { contribution, accountId, to, ...(keepsThread ? { threadId } : {}) };
  }
  const to = await addressOf(contribution, given, channels);
  return to === undefined ? `"${given}" is no address of channel ${contribution.id}` : { contribution, accountId, to };
}

/** The address in its one spelling; `undefined`: it is none of this channel. */
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

/** What kind of conversation an address is. */
export function chatTypeOf(
  contribution: Contribution<Channel>,
  to: string,
  channels: Pick<ChannelAccounts, "call">,
): Promise<"direct" | "group"> {
  const usual = contribution.value.capabilities.chats.includes("direct") ? "direct" : "group";
  return channels.call(contribution, async (channel) => (await channel.chatType?.(to)) ?? usual);
}

function named(name: string, channels: Channels): Contribution<Channel> | string {
  const id = channels.channelId(name);
  return (id === undefined ? undefined : channels.channel(id)) ?? channels.missing(name);
}

/** Without a last channel: the only one that is configured. */
function lastChannel(last: LastRoute | undefined, channels: Channels): Contribution<Channel> | string {
  if (last) {
    return (
      channels.channel(last.channel) ??
      `the session was last active on a channel that is gone: ${channels.missing(last.channel)}`
    );
  }
  const [only, other] = channels.configured();
  if (only && !other) return only;
  return only
    ? "the session was not spoken to in a channel yet, and several are configured; name one"
    : "the session was not spoken to in a channel yet, and none is configured";
}

/** `undefined`: it was not spoken to in a channel. */
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
