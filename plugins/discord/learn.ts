/** Updates the memory from events. No network. */
import type { APIRole } from "@discordjs/core";
import type { KnownChannel, Memory } from "./memory.ts";
import { isByPerson, type Message } from "./messages.ts";
import { nameOf } from "./people.ts";
import { type NetworkEvent, selectedAfter } from "./translate.ts";

interface ChannelLike {
  readonly id: string;
  readonly type: number;
  readonly name?: string | null;
  readonly parent_id?: string | null;
}

/** Threads of announcement channels, public and private threads. */
const THREADS = new Set([10, 11, 12]);

/** Channels, threads and the role of the bot. To be called before the event is translated. */
export function learnPlaces({ t, d }: Pick<NetworkEvent, "t" | "d">, memory: Memory): void {
  // The type of an event determines its data, here and below.
  if (t === "GUILD_CREATE") {
    const { id, channels = [], threads = [], roles = [] } = d as GuildLike;
    for (const channel of [...channels, ...threads]) learnChannel(channel, memory);
    const own = roles.find(({ tags }) => tags?.bot_id !== undefined && tags.bot_id === memory.self?.id);
    if (own) memory.ownRoles.set(id, own.id);
  } else if (t === "THREAD_LIST_SYNC")
    for (const thread of (d as { threads?: readonly ChannelLike[] }).threads ?? []) learnChannel(thread, memory);
  else if (/^(?:CHANNEL|THREAD)_(?:CREATE|UPDATE)$/.test(t)) learnChannel(d as ChannelLike, memory);
  else if (t === "INTERACTION_CREATE") {
    const { channel } = d as { channel?: ChannelLike };
    if (channel && (channel.parent_id || !THREADS.has(channel.type))) learnChannel(channel, memory);
  }
}

interface GuildLike {
  readonly id: string;
  readonly channels?: readonly ChannelLike[];
  readonly threads?: readonly ChannelLike[];
  readonly roles?: readonly APIRole[];
}

export function learnChannel(channel: ChannelLike, { channels }: Memory): void {
  const { id, type, name, parent_id: parentId } = channel;
  const known: KnownChannel = {
    ...(name ? { name } : {}),
    ...(THREADS.has(type) && parentId ? { parentId } : {}), // the parent of any other channel is its category
  };
  channels.set(id, known);
}

/** Messages, people and votes. To be called when the event was processed, because a translation compares with what was before. */
export function learnContent({ t, d }: NetworkEvent, memory: Memory): void {
  if (t === "MESSAGE_CREATE" || t === "MESSAGE_UPDATE") learnMessage(d as Message, memory);
  if (t !== "MESSAGE_POLL_VOTE_ADD" && t !== "MESSAGE_POLL_VOTE_REMOVE") return;
  const { message_id: pollId, user_id: userId, answer_id: answerId } = d as Vote;
  const votes = memory.polls.get(pollId)?.votes;
  votes?.set(userId, selectedAfter(votes.get(userId), answerId, t === "MESSAGE_POLL_VOTE_REMOVE"));
}

interface Vote {
  readonly message_id: string;
  readonly user_id: string;
  readonly answer_id: number;
}

function learnMessage(message: Message, memory: Memory): void {
  const { id, author, content, guild_id: guildId, channel_id: channelId, member } = message;
  if (!author) return; // an update of another part of the message
  const isOwn = author.id === memory.self?.id;
  if (isOwn && message.poll) learnPoll(message, isOwn, memory);
  if (!isOwn && !isByPerson(message, memory)) return;
  memory.messages.set(id, { authorId: author.id, content });
  if (isOwn) return;
  if (guildId === undefined) memory.directs.set(author.id, channelId);
  const roles = member?.roles && { roles: member.roles };
  memory.people.set(`${guildId ?? ""}/${author.id}`, { name: nameOf(author, member?.nick), ...roles });
}

/** Remembers the options of a poll, or that the message is no poll of the bot. */
export function learnPoll({ id, poll }: Pick<Message, "id" | "poll">, isOwn: boolean, memory: Memory): void {
  const votes = memory.polls.get(id)?.votes ?? new Map<string, Set<number>>();
  const answers = poll?.answers.map(({ answer_id: answer, poll_media: { text = "" } }) => [answer, text] as const);
  memory.polls.set(id, isOwn && answers ? { answers: new Map(answers), votes } : { votes });
}
