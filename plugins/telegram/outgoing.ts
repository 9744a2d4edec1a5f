/** Addresses, and values of outgoing calls. Pure. */
import type { MenuCommand, MessageButton, OutboundMedia } from "@svc/sdk/channels";
import type { InlineKeyboardMarkup } from "grammy/types";

/** Maximum bytes of a picture that Telegram shows as such; larger ones are sent as a file. */
const MAX_PHOTO_BYTES = 10_000_000;
const PHOTO_TYPES = ["image/jpeg", "image/png", "image/webp"];
/** Maximum number of commands in the menu, and of characters of a description. */
const MAX_COMMANDS = 100;
const MAX_DESCRIPTION_CHARS = 256;
/** Thread id of the topic "General", which Telegram does not accept for messages. */
const GENERAL_TOPIC = "1";

/** `123`, `-100123`, `@name` or `https://t.me/name`. @returns the address; `undefined`: not an address */
export function targetOf(text: string): string | undefined {
  const address = text.trim();
  if (/^-?[1-9]\d{0,15}$/.test(address)) return address;
  const [, name] = /^(?:@|(?:https?:\/\/)?t\.me\/)([A-Za-z]\w{3,31})\/?$/.exec(address) ?? [];
  return name === undefined ? undefined : `@${name.toLowerCase()}`;
}

/** A name always belongs to a group: bots cannot write to people by name. */
export const chatTypeOf = (to: string) => (/^[-@]/.test(to) ? "group" : "direct");

export function threadOf(threadId: string | undefined, isMessage = true): { message_thread_id?: number } {
  if (threadId === undefined || !/^\d{1,15}$/.test(threadId) || (isMessage && threadId === GENERAL_TOPIC)) return {};
  return { message_thread_id: Number(threadId) };
}

export function keyboardOf(
  rows: readonly (readonly MessageButton[])[] | undefined,
): { reply_markup: InlineKeyboardMarkup } | undefined {
  if (!rows?.some((row) => row.length > 0)) return undefined;
  const keyboard = rows.map((row) =>
    row.map(({ label, value, style }) => ({ text: label, callback_data: value, ...(style ? { style } : {}) })),
  );
  return { reply_markup: { inline_keyboard: keyboard } };
}

/** How Telegram shows a file: the name of the field, which also names the method. */
export function fieldOf({ kind, mimeType, bytes, isVoice }: OutboundMedia) {
  const [type = ""] = mimeType.toLowerCase().split(";");
  if (type === "image/gif") return "animation";
  if (kind === "image") return PHOTO_TYPES.includes(type) && bytes.length <= MAX_PHOTO_BYTES ? "photo" : "document";
  if (kind === "audio") return isVoice === true && /\b(?:ogg|opus)\b/.test(type) ? "voice" : "audio";
  return kind === "video" ? "video" : "document";
}

/** The library writes the name without quotes into a header. */
export function fileNameOf(name: string): string {
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  return name.replace(/[\u0000-\u001f\u007f";\\/]+/g, "_").slice(-120) || "file";
}

/** Telegram's list has no variation selectors. */
export const reactionOf = (emoji: string) => emoji.replaceAll("\uFE0F", "");

export function menuOf(commands: readonly MenuCommand[]): { command: string; description: string }[] {
  return commands.slice(0, MAX_COMMANDS).map(({ name, description }) => ({
    command: name,
    description: description.trim().slice(0, MAX_DESCRIPTION_CHARS) || name,
  }));
}
