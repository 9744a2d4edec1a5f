/** Activities as messages for the gateway, and addresses. Pure. */
import { createHash } from "node:crypto";
import { mediaKindOf } from "@svc/kit/channels";
import { contentTypeOf } from "@svc/kit/media";
import { matches } from "@svc/sdk";
import type { InboundMedia, InboundMessage, InboundReply } from "@svc/sdk/channels";
import { type Activity, Download, Html, Mention, Picture } from "./activity.ts";
import type { StoredFile } from "./store.ts";
import { chosenOf, submittedOf } from "./cards.ts";
import { GUID, isWithin } from "./config.ts";

/** `files`: addresses of the files of the messages by `InboundMedia.ref`. */
type Translated = { readonly messages: readonly InboundMessage[]; readonly files: ReadonlyMap<string, StoredFile> };

/** Where an activity happened, and who did it. `root`: first message of the thread. */
export function placeOf({ from, conversation }: Pick<Activity, "from" | "conversation">) {
  const [, id = conversation.id, root] = /^(.+?);messageid=(\d+)$/.exec(conversation.id) ?? [];
  const { conversationType = chatTypeOf(id) } = conversation;
  // Nobody can take over an id of the directory, nor one that Teams gave the person for this bot.
  const person = GUID.test(from.aadObjectId ?? "") ? (from.aadObjectId ?? "").toLowerCase() : from.id;
  return { id, root, person, isDirect: ["personal", "direct"].includes(conversationType) };
}

/** Empty for an activity that is no message and no event of one, or is the bot's own. */
export function toInbound(activity: Activity): Translated {
  const { type, id: messageId, from, recipient, timestamp } = activity;
  const nothing = { messages: [], files: new Map() };
  if (messageId === undefined || from.id === recipient?.id || from.role === "bot") return nothing;
  const events = eventsOf(activity);
  const messages = events.map((one, index) => ({ ...basis(activity, `${type} ${timestamp} ${index}`), ...one }));
  if (messages.length > 0) return { ...nothing, messages };
  if (type === "message") return written(activity, basis(activity));
  if (type !== "messageUpdate") return nothing;
  return written(activity, { ...basis(activity, `edit ${timestamp}`), event: { kind: "edit", messageId } });
}

/** What happened to messages. */
function eventsOf(activity: Activity): Pick<InboundMessage, "text" | "mentioned" | "event">[] {
  const { type, id: messageId = "", replyToId: about = "", value } = activity;
  const { action } = Object(value) as { readonly action?: { readonly data?: unknown } }; // the data is checked
  const card = submittedOf(type === "message" ? value : Object(action).data);
  if (card?.svc === "button") {
    const event = { kind: "button", value: card.value, ...(about === "" ? {} : { messageId: about }) } as const;
    return [{ text: card.label, mentioned: true, event }];
  }
  if (card) {
    const options = chosenOf(card);
    return [{ text: options.join("\n"), event: { kind: "poll-answer", pollId: card.poll, options } }];
  }
  if (type === "messageDelete") return [{ text: "", event: { kind: "deletion", messageId } }];
  if (type !== "messageReaction" || about === "") return [];
  const { reactionsAdded = [], reactionsRemoved = [] } = activity;
  // Teams reports reactions to messages of the bot only.
  const reaction = { kind: "reaction", messageId: about, isOwn: true } as const;
  const eventOf = (name: string, isRemoved: boolean) => ({ ...reaction, emoji: emojiOf(name), isRemoved });
  const events = [reactionsAdded, reactionsRemoved].map((list, at) =>
    list.map(({ type: name }) => eventOf(name, at > 0)),
  );
  return events.flat().map((event) => ({ text: "", event }));
}

/** Ids of Teams are unique within a conversation. @param what distinguishes activities about the same message */
function basis(activity: Activity, what = "") {
  const { id = "", from, conversation, timestamp, channelData: { team, channel } = {} } = activity;
  const { id: chatId, root, person, isDirect } = placeOf(activity);
  const name = isDirect ? from.name : (channel?.name ?? conversation.name);
  const at = Date.parse(timestamp ?? "");
  return {
    id: `${conversation.id} ${id} ${what}`.trimEnd(),
    messageId: id,
    chat: {
      type: isDirect ? ("direct" as const) : ("group" as const),
      id: isDirect ? `user:${person}` : chatId,
      ...(name === undefined ? {} : { name }),
      ...(root === undefined ? {} : { threadId: root }),
      ...(team?.id === undefined ? {} : { teamId: team.id }),
    },
    sender: { id: person, ...(from.name === undefined ? {} : { name: from.name }) },
    ...(Number.isNaN(at) ? {} : { at }),
  };
}

function written(activity: Activity, message: Omit<InboundMessage, "text">): Translated {
  const { text = "", entities = [], attachments = [], serviceUrl, recipient } = activity;
  const mentions = entities.filter((one) => matches(Mention, one));
  const own = mentions.filter(({ mentioned }) => mentioned.id === recipient?.id).map((one) => one.text);
  const found = attachments.flatMap((attachment) => fileOf(attachment, serviceUrl));
  const media = found.map((one) => one.media);
  const replyTo = quotedIn(attachments, recipient?.id);
  const more = { ...(media.length > 0 ? { media } : {}), ...(replyTo ? { replyTo } : {}) };
  const files = new Map(found.map((one) => [one.media.ref, one.file]));
  return { messages: [{ ...message, text: plainText(text, own), mentioned: own.length > 0, ...more }], files };
}

/** Without the leading mentions of the bot; other mentions are `@name`. @param own mentions of the bot, as in the text */
export function plainText(text: string, own: readonly string[]): string {
  const rest = text.replaceAll("&nbsp;", " ").trim();
  const mention = own.find((one) => rest.startsWith(one));
  if (mention !== undefined) return plainText(rest.slice(mention.length).replace(/^[\s:,]+/, ""), own);
  return rest.replace(/<at(?: [^<>]*)?>([^<>]*)<\/at>/gi, "@$1");
}

/** A file of a message. Its reference does not show its address. */
function fileOf(attachment: unknown, serviceUrl: string): { media: InboundMedia; file: StoredFile }[] {
  const refOf = (url: string) => createHash("sha256").update(url).digest("hex").slice(0, 32);
  if (matches(Download, attachment)) {
    const { name = "file", content } = attachment;
    const { downloadUrl: url } = content;
    const media = { ref: refOf(url), kind: mediaKindOf(contentTypeOf(name)), name };
    return [{ media, file: { url, needsToken: false } }];
  }
  if (!matches(Picture, attachment)) return [];
  const { contentUrl: url, contentType: mimeType, name } = attachment;
  const facts = { ...(mimeType === "image/*" ? {} : { mimeType }), ...(name === undefined ? {} : { name }) };
  const media: InboundMedia = { ref: refOf(url), kind: "image", ...facts };
  return [{ media, file: { url, needsToken: isWithin(url, [serviceUrl]) } }];
}

const QUOTE =
  /<blockquote[^>]{0,300}schema\.skype\.com\/Reply"[^>]{0,300}itemid="([^"]{1,200})"[^>]{0,300}>([^]{0,9000}?)<\/blockquote>/i;
const AUTHOR = /<strong[^>]{0,300}itemprop="mri"[^>]{0,300}itemid="([^"]{0,200})"[^>]{0,300}>([^<]{0,300})</i;
const WORDS = /<p[^>]{0,300}itemprop="(?:preview|copy)"[^>]{0,300}>([^]{0,9000}?)<\/p>/i;

/** The message that a person quotes in a chat. */
function quotedIn(attachments: readonly unknown[], botId = ""): InboundReply | undefined {
  const html = attachments.map((one) => (matches(Html, one) ? one.content : "")).join("");
  const [, messageId, inner = ""] = QUOTE.exec(html) ?? [];
  if (messageId === undefined) return undefined;
  const [, author, name = ""] = AUTHOR.exec(inner) ?? [];
  const [, words = ""] = WORDS.exec(inner) ?? [];
  return { messageId, text: unescaped(words), senderName: unescaped(name), isOwn: author === botId };
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " ", amp: "&" };
const unescaped = (html: string) =>
  html.replace(/<[^>]*>/g, " ").replace(/&(\S{2,4}?);/g, (entity, name: string) => ENTITIES[name] ?? entity);

const EMOJI = { like: "👍", heart: "❤️", laugh: "😂", surprised: "😮", sad: "😢", angry: "😠" };
const REACTIONS = new Map(Object.entries(EMOJI));

/** Newer reactions are named e.g. `1f389_partypopper`. */
export function emojiOf(name: string): string {
  const [, code] = /^([0-9a-f]{4,5})_/.exec(name) ?? [];
  if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
  return REACTIONS.get(name) ?? `:${name.slice(0, 60)}:`;
}

const PERSON = /^(?:user:)?([\da-f-]{36}|29:[\w-]{9,200})$/i;
const CONVERSATION = /^(?:conversation:)?(19:[\w.-]{1,200}@[\w.]{1,60}|a:[\w-]{1,400})$/;

/** An address as people write it, of a person or a conversation. @returns `undefined`: not an address */
export function addressOf(text: string): string | undefined {
  const [, person = ""] = PERSON.exec(text.trim()) ?? [];
  if (person.startsWith("29:")) return `user:${person}`;
  return GUID.test(person) ? `user:${person.toLowerCase()}` : CONVERSATION.exec(text.trim())?.[1];
}

/** Conversations with one person have ids of their own kinds. */
export const chatTypeOf = (to: string) => (/^(?:user:|a:)|@unq\.gbl\.spaces$/.test(to) ? "direct" : "group");
