/** Translates events of Discord to messages for the gateway. Pure: reads the memory, but does not change it. */
import type {
  APIMessage,
  APIUser,
  GatewayMessagePollVoteDispatchData,
  GatewayMessageReactionAddDispatchData,
} from "@discordjs/core";
import type { InboundEvent, InboundMessage } from "@svc/sdk/channels";
import type { Memory } from "./memory.ts";
import { edited, type Message, written } from "./messages.ts";
import { aboutPerson, idOf, nameOf } from "./people.ts";

/** An event of the gateway connection: type, data and sequence number. */
export interface NetworkEvent {
  readonly t: string;
  readonly d: unknown;
  readonly s: number;
}

type Vote = GatewayMessagePollVoteDispatchData;
type Reaction = Pick<GatewayMessageReactionAddDispatchData, "user_id" | "channel_id" | "message_id" | "emoji"> &
  Partial<Pick<GatewayMessageReactionAddDispatchData, "guild_id" | "member" | "message_author_id">>;
interface Deletion {
  readonly id: string;
  readonly channel_id: string;
  readonly guild_id?: string;
}

/** The used part of an interaction: a pressed button, or a use of the command menu. */
export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly type: number;
  readonly guild_id?: string;
  readonly channel?: { readonly id: string };
  readonly user?: APIUser;
  readonly member?: { readonly user: APIUser; readonly nick?: string | null; readonly roles: readonly string[] };
  readonly message?: Pick<APIMessage, "id" | "components">;
  readonly data?: {
    readonly name?: string;
    readonly custom_id?: string;
    readonly options?: readonly { readonly value?: string }[];
  };
}
export const COMMAND = 2;
export const COMPONENT = 3;

/**
 * The messages of an event; none if the event is not for an agent: from bots and webhooks, or about unknown messages.
 * @throws Error if the event is malformed
 */
export function toInbound({ t, d, s }: NetworkEvent, memory: Memory): readonly InboundMessage[] {
  const one = (message: InboundMessage | undefined) => (message ? [message] : []);
  switch (t) {
    case "MESSAGE_CREATE":
      return one(written(d as Message, memory)); // the type of an event determines its data, here and below
    case "MESSAGE_UPDATE":
      return one(edited(d as Message, memory));
    case "MESSAGE_DELETE":
      return one(deleted(d as Deletion, memory));
    case "MESSAGE_DELETE_BULK": {
      const { ids, ...place } = d as Omit<Deletion, "id"> & { readonly ids: readonly string[] };
      return ids.flatMap((id) => one(deleted({ ...place, id }, memory)));
    }
    case "MESSAGE_REACTION_ADD":
    case "MESSAGE_REACTION_REMOVE":
      return one(reacted(d as Reaction, { isRemoved: t === "MESSAGE_REACTION_REMOVE", s }, memory));
    case "MESSAGE_POLL_VOTE_ADD":
    case "MESSAGE_POLL_VOTE_REMOVE":
      return one(voted(d as Vote, { isRemoved: t === "MESSAGE_POLL_VOTE_REMOVE", s }, memory));
    case "INTERACTION_CREATE":
      return one(interacted(d as Interaction, memory));
    default:
      return [];
  }
}

/** Discord does not say who deleted or wrote the message: the sender is its author, if remembered. */
function deleted(
  { id, channel_id: channelId, guild_id: guildId }: Deletion,
  memory: Memory,
): InboundMessage | undefined {
  const known = memory.messages.get(idOf(id));
  if (!known || known.authorId === memory.self?.id) return undefined;
  const about = aboutPerson({ channelId, guildId, userId: known.authorId }, memory);
  return { ...about, id: `deletion:${id}`, messageId: id, event: { kind: "deletion", messageId: id } };
}

/** People can repeat reactions and votes, so their ids have the sequence number, which Discord keeps when it repeats an event. */
interface Toggle {
  readonly isRemoved: boolean;
  readonly s: number;
}

function reacted(reaction: Reaction, { isRemoved, s }: Toggle, memory: Memory): InboundMessage | undefined {
  const { user_id: userId, channel_id: channelId, message_id: messageId, guild_id: guildId, member } = reaction;
  if (userId === memory.self?.id || member?.user?.bot) return undefined;
  const { id, name } = reaction.emoji;
  const emoji = id ? `<:${name ?? "emoji"}:${id}>` : String(name);
  const authorId = reaction.message_author_id ?? memory.messages.get(messageId)?.authorId;
  const person = member?.user && { name: nameOf(member.user, member.nick), roles: member.roles };
  return {
    ...aboutPerson({ channelId, guildId, userId: idOf(userId) }, memory, person),
    id: `reaction:${idOf(messageId)}:${userId}:${emoji}:${s}`,
    messageId,
    event: { kind: "reaction", messageId, emoji, isRemoved, isOwn: authorId === memory.self?.id },
  };
}

/** Only votes in polls of the bot. Each event has all options that the person has selected. */
function voted(vote: Vote, { isRemoved, s }: Toggle, memory: Memory): InboundMessage | undefined {
  const { user_id: userId, channel_id: channelId, message_id: pollId, guild_id: guildId, answer_id: answerId } = vote;
  const poll = memory.polls.get(idOf(pollId));
  if (!poll?.answers || userId === memory.self?.id) return undefined;
  const { answers } = poll;
  const selected = selectedAfter(poll.votes.get(userId), answerId, isRemoved);
  const options = [...selected].map((id) => answers.get(id) ?? `option ${id}`);
  return {
    ...aboutPerson({ channelId, guildId, userId: idOf(userId) }, memory),
    id: `poll-answer:${pollId}:${userId}:${answerId}:${s}`,
    messageId: pollId,
    event: { kind: "poll-answer", pollId, options },
  };
}

export function selectedAfter(before: Iterable<number> = [], answerId: number, isRemoved: boolean): Set<number> {
  const selected = new Set(before);
  if (isRemoved) selected.delete(answerId);
  else selected.add(answerId);
  return selected;
}

function interacted(interaction: Interaction, memory: Memory): InboundMessage | undefined {
  const { id, type, guild_id: guildId, channel, member, user = member?.user, message, data = {} } = interaction;
  if (!user || user.bot || !channel) return undefined;
  const person = { name: nameOf(user, member?.nick), ...(member ? { roles: member.roles } : {}) };
  const about = aboutPerson({ channelId: channel.id, guildId, userId: idOf(user.id) }, memory, person);
  const common = { ...about, id: idOf(id), mentioned: true };
  const { name, custom_id: value, options = [] } = data;
  if (type === COMPONENT && message && value !== undefined) {
    const event: InboundEvent = { kind: "button", messageId: message.id, value };
    return { ...common, messageId: message.id, text: labelOf(message, value) ?? value, event };
  }
  if (type !== COMMAND || name === undefined) return undefined;
  const input = options.map((option) => (option.value ?? "").trim()).join(" ");
  return { ...common, text: input === "" ? `/${name}` : `/${name} ${input}` };
}

function labelOf({ components = [] }: Pick<APIMessage, "components">, value: string): string | undefined {
  const buttons = components.flatMap((row) => ("components" in row ? (row.components as readonly object[]) : [])); // any kind of component
  const button = buttons.find((one) => "custom_id" in one && one.custom_id === value);
  return button && "label" in button ? String(button.label) : undefined;
}
