/** Messages of Discord as messages for the gateway. Pure. */
import type { APIAttachment, APIMessage, GatewayMessageCreateDispatchData } from "@discordjs/core";
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundEvent, InboundForward, InboundMedia, InboundMessage, InboundReply } from "@svc/sdk/channels";
import type { Memory } from "./memory.ts";
import { chatOf, idOf, nameOf } from "./people.ts";

/** A message, complete or as in MESSAGE_UPDATE. */
export type Message = GatewayMessageCreateDispatchData;

/** Message types that people write: plain messages and replies. All others are notices of Discord. */
const WRITTEN = new Set([0, 19]);
const VOICE_MESSAGE = 1 << 13;
const FORWARD = 1;

/** Whether a person wrote the message. */
export function isByPerson(message: Message, { self }: Memory): boolean {
  return !message.author.bot && !message.webhook_id && message.author.id !== self?.id && WRITTEN.has(message.type);
}

export function written(message: Message, memory: Memory): InboundMessage | undefined {
  if (!isByPerson(message, memory)) return undefined;
  const media = mediaOf(message);
  return { id: idOf(message.id), ...contentOf(message, memory), ...(media.length > 0 ? { media } : {}) };
}

/** Discord also sends updates for link previews and pins: those have no time of an edit, or the same content. */
export function edited(message: Message, memory: Memory): InboundMessage | undefined {
  if (!message.author || !message.edited_timestamp || !isByPerson(message, memory)) return undefined;
  if (memory.messages.get(message.id)?.content === message.content) return undefined;
  const event: InboundEvent = { kind: "edit", messageId: idOf(message.id) };
  const at = Date.parse(message.edited_timestamp);
  return {
    ...contentOf(message, memory),
    id: `edit:${message.id}:${message.edited_timestamp}`,
    messageId: message.id,
    event,
    ...(Number.isNaN(at) ? {} : { at }),
  };
}

function contentOf(message: Message, memory: Memory): Omit<InboundMessage, "id"> {
  const { author, guild_id: guildId, member } = message;
  const at = Date.parse(message.timestamp);
  const replyTo = replyOf(message, memory);
  const forwarded = forwardedOf(message, memory);
  const name = nameOf(author, member?.nick);
  const ownRole = guildId === undefined ? undefined : memory.ownRoles.get(guildId);
  const mentioned =
    (message.mentions ?? []).some(({ id }) => id === memory.self?.id) ||
    (ownRole !== undefined && (message.mention_roles ?? []).includes(ownRole));
  return {
    chat: chatOf({ channelId: message.channel_id, guildId, userId: author.id, userName: name }, memory),
    sender: {
      id: idOf(author.id),
      name,
      ...(guildId !== undefined && member?.roles ? { roles: [...member.roles] } : {}),
    },
    text: textOf(message, memory, ownRole),
    mentioned,
    ...(replyTo ? { replyTo } : {}),
    ...(forwarded ? { forwarded } : {}),
    ...(Number.isNaN(at) ? {} : { at }),
  };
}

/** Content without leading mentions of the bot, and with names instead of ids of people. */
function textOf(message: Pick<Message, "content"> & Partial<Message>, { self }: Memory, ownRole?: string): string {
  let text = message.content;
  const own = new Set([`@${self?.id}`, `@!${self?.id}`, `@&${ownRole}`]);
  for (let lead = leadingMention(text); lead && own.has(lead[1] ?? ""); lead = leadingMention(text))
    text = text.slice(lead[0].length);
  const names = new Map(message.mentions?.map((user) => [user.id, nameOf(user, user.member?.nick)]));
  return text.replace(/<@!?(\d+)>/g, (mention, id: string) => {
    const name = names.get(id) ?? (id === self?.id ? self.name : undefined);
    return name === undefined ? mention : `@${name}`;
  });
}

/** Discord does not say who wrote a forwarded message, only in which channel. */
function forwardedOf(
  message: Pick<APIMessage, "message_snapshots" | "message_reference">,
  memory: Memory,
): InboundForward | undefined {
  const { message_snapshots: snapshots, message_reference: origin } = message;
  if (!snapshots) return undefined;
  const name = memory.channels.get(origin?.channel_id ?? "")?.name;
  return {
    text: snapshots.map(({ message: snapshot }) => textOf(snapshot, memory)).join("\n\n"),
    ...(name === undefined ? {} : { from: `#${name}` }),
  };
}

const leadingMention = (text: string) => /^\s*<(@[!&]?\d+)>[\s,:]*/.exec(text);

function replyOf(message: Message, memory: Memory): InboundReply | undefined {
  const { message_id: messageId, type } = message.message_reference ?? {};
  if (messageId === undefined || Number(type) === FORWARD) return undefined;
  const { referenced_message: answered } = message;
  const known = memory.messages.get(messageId);
  const isOwn = (answered?.author.id ?? known?.authorId) === memory.self?.id;
  const words = answered && [textOf(answered, memory), forwardedOf(answered, memory)?.text ?? ""];
  const text = words ? words.filter((part) => part !== "").join("\n\n") : known?.content;
  return {
    messageId,
    ...(text ? { text } : {}),
    ...(answered ? { senderName: nameOf(answered.author) } : {}),
    isOwn,
  };
}

/** Attachments, also those of a forwarded message. */
export function attachmentsOf(message: Pick<APIMessage, "attachments" | "message_snapshots">): APIAttachment[] {
  const forwarded = message.message_snapshots?.flatMap(({ message: { attachments } }) => attachments) ?? [];
  return [...(message.attachments ?? []), ...forwarded];
}

function mediaOf(message: Message): InboundMedia[] {
  const isVoice = ((message.flags ?? 0) & VOICE_MESSAGE) !== 0;
  return attachmentsOf(message).map(({ id, content_type: mimeType, filename: name, size }) => {
    const kind = mediaKindOf(mimeType ?? "");
    return {
      ref: `${message.channel_id}/${message.id}/${idOf(id)}`,
      kind,
      ...(name ? { name } : {}),
      ...(mimeType ? { mimeType } : {}),
      ...(Number.isSafeInteger(size) ? { size } : {}),
      ...(isVoice && kind === "audio" ? { isVoice } : {}),
    };
  });
}
