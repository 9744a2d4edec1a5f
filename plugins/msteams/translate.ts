/** Activities as messages for the gateway, and addresses. Pure. */
import { createHash } from "node:crypto";
import { mediaKindOf } from "@svc/kit/channels";
import { contentTypeOf } from "@svc/kit/media";
import { matches } from "@svc/sdk";
import type { InboundChat, InboundEvent, InboundMedia, InboundMessage, InboundReply } from "@svc/sdk/channels";
import { type Activity, Download, Html, Mention, Picture, Reaction } from "./activity.ts";
import type { StoredFile } from "./book.ts";
import { chosenOf, submittedOf } from "./cards.ts";
import { GUID, isWithin } from "./config.ts";

/** A message, and the addresses of its files by `InboundMedia.ref`. */
export interface Translated {
  readonly messages: readonly InboundMessage[];
  readonly files: ReadonlyMap<string, StoredFile>;
}

const NO_FILES: Translated["files"] = new Map();

/** Id of the conversation without the thread, and the root message of the thread. */
export function placeOf({ conversation }: Pick<Activity, "conversation">): {
  readonly id: string;
  readonly root?: string;
} {
  const [, id, root] = /^(.+?);messageid=(\d+)$/.exec(conversation.id) ?? [];
  return id === undefined || root === undefined ? { id: conversation.id } : { id, root };
}

/** An id that nobody else can take over: that of the directory, otherwise the one that Teams gave the person for this bot. */
export function personOf({ from: { aadObjectId, id } }: Pick<Activity, "from">): string {
  return aadObjectId !== undefined && GUID.test(aadObjectId) ? aadObjectId.toLowerCase() : id;
}

export function isDirect({ conversation: { conversationType, isGroup } }: Pick<Activity, "conversation">): boolean {
  return conversationType === undefined ? isGroup !== true : conversationType === "personal";
}

/** Empty for an activity that is no message and no event of one, or is the bot's own. */
export function toInbound(activity: Activity): Translated {
  const { type, from, recipient, timestamp = "", value, name } = activity;
  const only = (messages: readonly InboundMessage[]) => ({ messages, files: NO_FILES });
  if (from.id === recipient?.id || from.role === "bot") return only([]);
  const submitted = submittedOf(type === "invoke" ? actionOf(name, value) : type === "message" ? value : undefined);
  if (submitted?.svc === "button") {
    const messageId = activity.replyToId;
    const event = { kind: "button", value: submitted.value, ...(messageId ? { messageId } : {}) } as const;
    return only([{ ...basis(activity, "pressed"), text: submitted.label, mentioned: true, event }]);
  }
  if (submitted) {
    const options = chosenOf(submitted);
    const event = { kind: "poll-answer", pollId: submitted.poll, options } as const;
    return only([{ ...basis(activity, "voted"), text: options.join("\n"), event }]);
  }
  switch (type) {
    case "message":
    case "messageUpdate":
      return written(activity);
    case "messageDelete": {
      const { id: messageId } = activity;
      return only(
        messageId ? [{ ...basis(activity, "deleted"), text: "", event: { kind: "deletion", messageId } }] : [],
      );
    }
    case "messageReaction": {
      const { reactionsAdded: added = [], reactionsRemoved: removed = [] } = activity;
      const events = [...added.map((one) => [one, false] as const), ...removed.map((one) => [one, true] as const)];
      return only(
        events.flatMap(([reaction, isRemoved], index) => {
          const event = reactionOf(reaction, isRemoved, activity);
          return event ? [{ ...basis(activity, `reaction:${timestamp}:${index}`), text: "", event }] : [];
        }),
      );
    }
    default:
      return only([]);
  }
}

/** Data of a pressed `Action.Execute`. */
function actionOf(name: string | undefined, value: unknown): unknown {
  const { action } = Object(value) as { readonly action?: unknown }; // the data is checked
  return name === "adaptiveCard/action" ? (Object(action) as { readonly data?: unknown }).data : undefined;
}

/** @param what distinguishes activities about the same message */
function basis(activity: Activity, what = "") {
  const { id, conversation, timestamp, replyToId } = activity;
  const at = Date.parse(timestamp ?? "");
  const messageId = id ?? replyToId;
  const chat = chatOf(activity);
  const { name } = activity.from;
  return {
    ...(id === undefined ? {} : { id: [conversation.id, id, what].filter((part) => part !== "").join(" ") }),
    ...(messageId === undefined ? {} : { messageId }),
    chat,
    sender: { id: personOf(activity), ...(name === undefined ? {} : { name }) },
    ...(Number.isNaN(at) ? {} : { at }),
  };
}

function chatOf(activity: Activity): InboundChat {
  const { from, conversation, channelData: { team, channel } = {} } = activity;
  const direct = isDirect(activity);
  const { id, root } = placeOf(activity);
  const name = direct ? from.name : (channel?.name ?? conversation.name);
  return {
    type: direct ? "direct" : "group",
    id: direct ? `user:${personOf(activity)}` : id,
    ...(name === undefined ? {} : { name }),
    ...(root === undefined ? {} : { threadId: root }),
    ...(team?.id === undefined ? {} : { teamId: team.id }),
  };
}

function written(activity: Activity): Translated {
  const { type, id, timestamp = "", recipient, attachments = [] } = activity;
  const isEdit = type === "messageUpdate";
  if (isEdit && id === undefined) return { messages: [], files: NO_FILES };
  const mentions = (activity.entities ?? []).filter((one) => matches(Mention, one));
  const own = mentions.filter(({ mentioned }) => mentioned.id === recipient?.id).map((mention) => mention.text);
  const found = attachments.flatMap((attachment) => fileOf(attachment, activity.serviceUrl));
  const replyTo = quotedIn(attachments, recipient?.id);
  const message: InboundMessage = {
    ...basis(activity, isEdit ? `edited:${timestamp}` : ""),
    text: plainText(activity.text ?? "", own),
    mentioned: own.length > 0,
    ...(found.length > 0 ? { media: found.map(({ media }) => media) } : {}),
    ...(replyTo ? { replyTo } : {}),
    ...(isEdit && id !== undefined ? { event: { kind: "edit", messageId: id } as const } : {}),
  };
  return { messages: [message], files: new Map(found.map(({ media, file }) => [media.ref, file])) };
}

/** Without the leading mentions of the bot; other mentions are `@name`. @param own mentions of the bot, as they are in the text */
export function plainText(text: string, own: readonly string[]): string {
  let rest = text.replaceAll("&nbsp;", " ").trim();
  for (let mention: string | undefined; (mention = own.find((one) => rest.startsWith(one))) !== undefined;)
    rest = rest.slice(mention.length).replace(/^[\s:,]+/, "");
  return rest.replace(/<at(?: [^<>]*)?>([^<>]*)<\/at>/gi, "@$1");
}

/** A file of a message, by a reference that says nothing about its secret address. */
function fileOf(attachment: unknown, serviceUrl: string): { media: InboundMedia; file: StoredFile }[] {
  const refOf = (url: string) => createHash("sha256").update(url).digest("hex").slice(0, 32);
  if (matches(Download, attachment)) {
    const { name = "file", content } = attachment;
    const mimeType = contentTypeOf(name);
    const media = { ref: refOf(content.downloadUrl), kind: mediaKindOf(mimeType), name };
    return [{ media, file: { url: content.downloadUrl, needsToken: false } }];
  }
  if (matches(Picture, attachment)) {
    const { contentUrl: url, contentType, name } = attachment;
    const mimeType = contentType === "image/*" ? {} : { mimeType: contentType };
    const media = { ref: refOf(url), kind: "image" as const, ...mimeType, ...(name === undefined ? {} : { name }) };
    return [{ media, file: { url, needsToken: isWithin(url, [serviceUrl]) } }];
  }
  return [];
}

/** The message that a person quotes in a chat. */
function quotedIn(attachments: readonly unknown[], botId: string | undefined): InboundReply | undefined {
  const html = attachments.flatMap((one) => (matches(Html, one) ? [one.content] : [])).join("");
  const [, tag = "", inner = ""] =
    /<blockquote([^>]*schema\.skype\.com\/Reply[^>]*)>([^]*?)<\/blockquote>/i.exec(html) ?? [];
  const idIn = (text: string) => /\bitemid="([^"]{1,200})"/i.exec(text)?.[1];
  const messageId = idIn(tag);
  if (messageId === undefined) return undefined;
  const [, author = "", name = ""] = /<strong([^>]*itemprop="mri"[^>]*)>([^]*?)<\/strong>/i.exec(inner) ?? [];
  const [, words = ""] = /<p[^>]*itemprop="(?:preview|copy)"[^>]*>([^]*?)<\/p>/i.exec(inner) ?? [];
  const isOwn = botId !== undefined && idIn(author) === botId;
  return {
    messageId,
    ...(words === "" ? {} : { text: withoutTags(words) }),
    ...(name === "" ? {} : { senderName: withoutTags(name) }),
    isOwn,
  };
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " ", amp: "&" };

function withoutTags(html: string): string {
  return html
    .replace(/<br *\/?>/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (entity, name: string) => ENTITIES[name] ?? entity)
    .trim();
}

const REACTIONS: Readonly<Record<string, string>> = {
  like: "👍",
  heart: "❤️",
  laugh: "😂",
  surprised: "😮",
  sad: "😢",
  angry: "😠",
};

/** Teams reports reactions to messages of the bot only. */
function reactionOf(reaction: unknown, isRemoved: boolean, { replyToId }: Activity): InboundEvent | undefined {
  if (!matches(Reaction, reaction) || !replyToId) return undefined;
  const { type } = reaction;
  const [, points] = /^([0-9a-f]{4,5}(?:-[0-9a-f]{4,5})*)_/.exec(type) ?? []; // e.g. 1f389_partypopper
  const emoji = points?.split("-").map((point) => String.fromCodePoint(Number.parseInt(point, 16)));
  return {
    kind: "reaction",
    messageId: replyToId,
    emoji: REACTIONS[type] ?? emoji?.join("") ?? `:${type.slice(0, 60)}:`,
    ...(isRemoved ? { isRemoved } : {}),
    isOwn: true,
  };
}

/** `user:<id of a person>`, the id alone, or a conversation id, also after `conversation:`. @returns `undefined`: not an address */
export function addressOf(text: string): string | undefined {
  const address = text.trim();
  const [, person] = /^(?:user:)?([0-9a-f-]{36}|29:[\w-]{10,200})$/i.exec(address) ?? [];
  if (person !== undefined && (person.startsWith("29:") || GUID.test(person)))
    return `user:${person.startsWith("29:") ? person : person.toLowerCase()}`;
  const [, conversation] = /^(?:conversation:)?((?:19:[\w.-]+@[\w.]+|a:[\w-]+))$/.exec(address) ?? [];
  return conversation !== undefined && conversation.length <= 450 ? conversation : undefined;
}

/** Conversations with one person have ids of their own kinds. */
export const chatTypeOf = (to: string) => (/^(?:user:|a:)|@unq\.gbl\.spaces$/.test(to) ? "direct" : "group");
