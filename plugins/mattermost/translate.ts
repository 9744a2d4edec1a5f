/** Translation between Mattermost and messages of the gateway. Pure. */
import { createHash } from "node:crypto";
import { mediaKindOf } from "@svc/kit/channels";
import { matches } from "@svc/sdk";
import type {
  InboundChat,
  InboundEvent,
  InboundForward,
  InboundMedia,
  InboundMessage,
  InboundSender,
} from "@svc/sdk/channels";
import { emojiOf } from "./emoji.ts";
import {
  type ChannelFacts,
  FileInfo,
  isId,
  Linked,
  type NetworkEvent,
  type Post,
  type PostEvent,
  type ReactionEvent,
} from "./events.ts";

/** The account on the server. */
export interface Bot {
  readonly id: string;
  readonly name: string;
  /** False: the token belongs to a person. */
  readonly isBot: boolean;
}

/** What is known about an event beyond its own fields. */
export interface EventFacts {
  readonly bot: Bot;
  readonly channel: ChannelFacts;
  readonly senderName?: string | undefined;
  /** First post of the thread; for a reaction: the post that it belongs to. */
  readonly post?: Post | undefined;
  readonly postSenderName?: string | undefined;
}

/** Types of posts that people write. */
const WRITTEN: ReadonlySet<string> = new Set(["", "me"]);

/**
 * Whether the event is of no interest: from the bot, another bot or a webhook (whose posts carry the id of the person
 * who created it), a system message, or a change that is no edit, e.g. a pin.
 */
export function isIgnored(event: NetworkEvent, botId: string): boolean {
  if (event.kind === "reaction") return event.reaction.user_id === botId;
  const { user_id: author, type = "", edit_at: editedAt = 0, props } = event.post;
  const { from_bot: fromBot, from_webhook: fromWebhook } = Object(props) as Readonly<Record<string, unknown>>; // compared below
  const isMachine = [fromBot, fromWebhook].some((mark) => mark === true || mark === "true");
  return author === botId || isMachine || !WRITTEN.has(type) || (event.kind === "edited" && editedAt === 0);
}

/** The same for each arrival of the event. */
export function idOf({ kind, post }: PostEvent): string {
  return `${post.id}${{ posted: "", edited: `:edit:${post.edit_at ?? 0}`, deleted: ":deleted" }[kind]}`;
}

/** Converts an event that is not ignored. */
export function toInbound(event: NetworkEvent, facts: EventFacts): InboundMessage {
  if (event.kind === "reaction") return reactionOf(event, facts);
  const { post, kind } = event;
  const { bot, channel, senderName } = facts;
  const { isMentioned, text } = addressed(kind === "deleted" ? "" : post.message, bot.name);
  const change: InboundEvent | undefined =
    kind === "posted" ? undefined : { kind: kind === "edited" ? "edit" : "deletion", messageId: post.id };
  const linked = kind === "deleted" ? undefined : linkedIn(post);
  const media = kind === "deleted" ? [] : [post, linked?.post].flatMap((one) => (one ? mediaOf(one) : []));
  const sender = senderOf(post.user_id, senderName);
  const root = facts.post;
  const at = { posted: post.create_at, edited: post.edit_at, deleted: post.delete_at }[kind] ?? 0;
  return {
    id: idOf(event),
    messageId: post.id,
    chat: chatOf(post.channel_id, channel, sender, post.root_id),
    sender,
    text,
    mentioned: isMentioned || event.mentions?.includes(bot.id) === true,
    ...(media.length > 0 ? { media } : {}),
    ...(linked ? { forwarded: linked.forwarded } : {}),
    ...(root
      ? {
          replyTo: {
            messageId: root.id,
            text: root.message,
            ...(facts.postSenderName === undefined ? {} : { senderName: facts.postSenderName }),
            isOwn: root.user_id === bot.id,
          },
        }
      : {}),
    ...(change ? { event: change } : {}),
    ...(at > 0 ? { at } : {}),
  };
}

function reactionOf(
  { reaction, isRemoved }: ReactionEvent,
  { bot, channel, senderName, post }: EventFacts,
): InboundMessage {
  const { user_id: userId, post_id: postId, emoji_name: name } = reaction;
  const at = Math.max(reaction.create_at ?? 0, reaction.update_at ?? 0, reaction.delete_at ?? 0);
  const sender = senderOf(userId, senderName);
  return {
    ...(at > 0 ? { id: `${postId}:${userId}:${name}:${at}:${isRemoved ? "removed" : "added"}`, at } : {}),
    messageId: postId,
    chat: chatOf(post?.channel_id ?? "", channel, sender, post?.root_id),
    sender,
    text: "",
    event: {
      kind: "reaction",
      messageId: postId,
      emoji: emojiOf(name),
      ...(isRemoved ? { isRemoved } : {}),
      isOwn: post?.user_id === bot.id,
    },
  };
}

function senderOf(id: string, name: string | undefined): InboundSender {
  return { id, ...(name === undefined ? {} : { name }) };
}

/**
 * A direct chat has the address of the person: the id of its channel does not say that it is direct.
 * @param rootId id of the first post of the thread; empty: none
 */
export function chatOf(channelId: string, channel: ChannelFacts, sender: InboundSender, rootId = ""): InboundChat {
  const isDirect = channel.type === "D";
  const { name } = isDirect ? sender : channel;
  return {
    type: isDirect ? "direct" : "group",
    id: isDirect ? `user:${sender.id}` : channelId,
    ...(name === undefined ? {} : { name }),
    ...(rootId === "" ? {} : { threadId: rootId }),
    ...(channel.teamId === undefined ? {} : { teamId: channel.teamId }),
  };
}

/** A mention at the start is removed; one followed by a letter, a digit, or a dot and one of those is another name. */
export function addressed(text: string, name: string): { readonly isMentioned: boolean; readonly text: string } {
  const own = `@${name.replace(/[.\\^$*+?()[\]{}|]/g, String.raw`\$&`)}(?![a-z0-9_-]|\\.[a-z0-9_-])`;
  const leading = new RegExp(String.raw`^\s*${own}[:,]?\s*`, "i");
  if (leading.test(text)) return { isMentioned: true, text: text.replace(leading, "") };
  return { isMentioned: new RegExp(String.raw`(?<![\w.@-])${own}`, "i").test(text), text };
}

function mediaOf({ metadata }: Post): readonly InboundMedia[] {
  const { files } = Object(metadata) as { readonly files?: unknown }; // each entry is checked
  return (Array.isArray(files) ? files : []).flatMap((file: unknown) => {
    if (!matches(FileInfo, file)) return [];
    const { id, name = "", mime_type: mimeType = "", size } = file;
    return [
      {
        ref: id,
        kind: mediaKindOf(mimeType),
        ...(name === "" ? {} : { name }),
        ...(mimeType === "" ? {} : { mimeType }),
        ...(size === undefined ? {} : { size }),
      },
    ];
  });
}

/** The post that a post links to. The server embeds it if the bot may read it. */
function linkedIn({ metadata }: Post): { readonly post: Post; readonly forwarded: InboundForward } | undefined {
  const { embeds } = Object(metadata) as { readonly embeds?: unknown }; // each entry is checked
  const embed = (Array.isArray(embeds) ? embeds : []).find((one: unknown): one is Linked => matches(Linked, one));
  if (!embed) return undefined;
  const { post, channel_display_name: from = "" } = embed.data;
  return { post, forwarded: { text: post.message, ...(from === "" ? {} : { from }) } };
}

/** A short id of something whose own id is long or secret. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

const QUIET = "@\u200d";
const MASS_MENTION = /@(?=(?:all|channel|here)(?![\p{L}\p{N}]))/giu;
/** A fenced block whose lines are all indented as its first one. */
const FENCE =
  /(?<![^\n])(?<indent> *)(?<fence>(?<mark>[`~])\k<mark>{2,})(?!\k<mark>)[^`\n]*\n(?:(?:\k<indent>[^\n]*|(?!\k<indent>)[ \t\r]*)\n)*?\k<indent> {0,3}\k<fence>\k<mark>*[ \t\r]*(?![^\n])/;
/** A code span within a line. */
const SPAN = /(?<![`\\])(?<ticks>`+)(?!`)[^\n]*?(?<!`)\k<ticks>(?!`)/;
/** After any other backtick, what is code depends on the rest of the Markdown: nothing counts as code. */
const UNCERTAIN = /(?<uncertain>`[^]*)/;
const PARTS = new RegExp([FENCE, SPAN, UNCERTAIN, MASS_MENTION].map(({ source }) => source).join("|"), "giu");

/** Mentions of everybody notify nobody: a zero-width joiner follows their `@`. Code is left alone: it notifies nobody. */
export function withoutMassMentions(text: string): string {
  return text.replace(PARTS, (part, _indent, _fence, _mark, _ticks, uncertain?: string) => {
    if (part === "@") return QUIET;
    return uncertain === undefined ? part : uncertain.replace(MASS_MENTION, QUIET);
  });
}

/**
 * An address as people write it: `<channel id>`, `channel:<id>`, `user:<id>`, `@username`.
 * @returns `undefined`: not an address
 */
export function addressOf(text: string): string | undefined {
  const [, prefix = "", rest = ""] = /^(channel:|user:|@)?(\S+)$/i.exec(text.trim()) ?? [];
  const name = rest.toLowerCase();
  if (prefix === "@") {
    const isName = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) && !["all", "channel", "here"].includes(name);
    return isName ? `@${name}` : undefined;
  }
  if (!isId(name)) return undefined;
  return prefix.toLowerCase() === "user:" ? `user:${name}` : name;
}
