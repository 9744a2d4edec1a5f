/** Incoming messages and addresses, as the gateway has them. Pure. */
import { matches, type Static, type TSchema } from "@svc/sdk";
import type { InboundMessage, MediaKind } from "@svc/sdk/channels";
import * as events from "./events.ts";
import type { Contact, Message } from "./events.ts";

/** Digits of a phone number with its country code. */
const DIGITS = /^[1-9]\d{6,14}$/;
/** Id of a person who hides the number behind a username; each business has another one. */
const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;

/** Whether the address is the id of a person without a visible number. */
export const isUserId = (address: string) => USER_ID.test(address);

/** Digits, or the id of a person without a visible number; `undefined`: neither. */
export function addressOf(text: string): string | undefined {
  const plain = text
    .trim()
    .replace(/^(?:whatsapp|user):/i, "")
    .replace(/@s\.whatsapp\.net$/, "");
  const digits = /^\+[\d\s().-]+$/.test(plain) ? plain.replace(/\D/g, "") : plain;
  return DIGITS.test(digits) || isUserId(digits) ? digits : undefined;
}

/** What a message says, beside who wrote it. */
type Content = Pick<InboundMessage, "text" | "media" | "location" | "event">;
/** @returns a text: why the message is skipped */
type Reader = (raw: unknown) => Content | string;

/**
 * @param contacts of the delivery, for the name
 * @param own digits of the business number
 * @returns the message, or why it is skipped
 */
export function toInbound(message: Message, contacts: readonly Contact[], own: string): InboundMessage | string {
  const { id, type, from = "", from_user_id: userId = "", group_id: groupId, timestamp } = message;
  if (groupId !== undefined) return "it is from a group";
  const person = addressOf(from) ?? addressOf(userId);
  if (person === undefined) return "its sender is unknown";
  const content = contentOf(type, message);
  if (typeof content === "string") return content;
  const named = contacts.find((one) => one.wa_id === person || one.user_id === (userId || person));
  const name = (named ?? (contacts.length === 1 ? contacts[0] : undefined))?.profile?.name;
  const sender = { id: person, ...(name ? { name } : {}) };
  const { id: quoted, ...context } = matches(events.Context, message.context) ? message.context : {};
  const { event, text } = content;
  const at = Number(timestamp) * 1_000;
  return {
    id,
    chat: { type: "direct", ...sender },
    sender,
    mentioned: true,
    ...(at > 0 && Number.isSafeInteger(at) ? { at } : {}),
    ...content,
    ...(context.forwarded || context.frequently_forwarded ? { text: "", forwarded: { text } } : {}),
    ...(quoted !== undefined && !event ? { replyTo: { messageId: quoted, isOwn: context.from === own } } : {}),
    ...(quoted !== undefined && event?.kind === "button" ? { event: { ...event, messageId: quoted } } : {}),
  };
}

function contentOf(type: string, message: object): Content | string {
  const raw = (message as Readonly<Record<string, unknown>>)[type]; // the reader checks it
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  return read ? read(raw) : { text: `[a message of the type "${type}", which WhatsApp does not pass on]` };
}

const reader =
  <S extends TSchema>(schema: S, read: (content: Static<S>) => Content | string): Reader =>
  (raw) =>
    matches(schema, raw) ? read(raw) : "it is malformed";

const media = (kind: MediaKind) =>
  reader(events.Media, ({ id: ref, mime_type: mimeType, caption = "", filename: name, voice }) => {
    const more = { ...(mimeType ? { mimeType } : {}), ...(name ? { name } : {}), ...(voice ? { isVoice: true } : {}) };
    return { text: caption, media: [{ ref, kind, ...more }] };
  });
const notice = () => "it is a notice of WhatsApp";

const READERS: Readonly<Record<string, Reader>> = {
  text: reader(events.Text, ({ body }) => ({ text: body })),
  image: media("image"),
  sticker: media("image"),
  audio: media("audio"),
  video: media("video"),
  document: media("file"),
  location: reader(events.Location, ({ latitude, longitude, name, address }) => {
    return { text: "", location: { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}) } };
  }),
  contacts: reader(events.Cards, (cards) => ({ text: cards.map(cardOf).join("\n") })),
  reaction: reader(events.Reaction, ({ message_id: messageId, emoji = "" }) => {
    const what = emoji === "" ? { emoji: "(not named)", isRemoved: true } : { emoji };
    return { text: "", event: { kind: "reaction", messageId, ...what, isOwn: true } };
  }),
  interactive: reader(events.Interactive, ({ button_reply: button, list_reply: pressed = button }) => {
    if (!pressed) return { text: "[an answer to a form, which the agent cannot read]" };
    return { text: pressed.title, event: { kind: "button", value: pressed.id } };
  }),
  button: reader(events.TemplateButton, ({ text, payload }) => {
    return { text, event: { kind: "button", value: payload || text } };
  }),
  revoke: reader(events.Change, ({ original_message_id: messageId }) => {
    return { text: "", event: { kind: "deletion", messageId } };
  }),
  edit: reader(events.Change, ({ original_message_id: messageId, message = { type: "" } }) => {
    const content = contentOf(message.type, message);
    return typeof content === "string" ? content : { text: content.text, event: { kind: "edit", messageId } };
  }),
  system: notice,
  request_welcome: notice,
};

function cardOf({ name, phones = [], emails = [] }: Static<typeof events.Cards>[number]): string {
  const parts = [name?.formatted_name, ...phones.map(({ phone }) => phone), ...emails.map(({ email }) => email)];
  return `[contact: ${parts.filter(Boolean).join(", ") || "without a name"}]`;
}
