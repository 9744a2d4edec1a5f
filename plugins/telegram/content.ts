/** Files and words of a message. Pure. */
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundMedia, MediaKind } from "@svc/sdk/channels";
import type { Message } from "grammy/types";
import { given } from "./given.ts";

interface TelegramFile {
  readonly file_id: string;
  readonly file_name?: string | undefined;
  readonly mime_type?: string | undefined;
  readonly file_size?: number | undefined;
}

/** The files of a message; Telegram has one per message. */
export function mediaOf(message: Message): readonly InboundMedia[] {
  const { photo, voice, audio, video, video_note: note, animation, document, sticker } = message;
  const largest = photo?.reduce((best, size) => (size.width * size.height > best.width * best.height ? size : best));
  if (largest) return [fileOf(largest, "image", "image/jpeg")];
  if (voice) return [{ ...fileOf(voice, "audio", "audio/ogg"), isVoice: true }];
  if (audio) return [fileOf(audio, "audio", "audio/mpeg")];
  if (video) return [fileOf(video, "video", "video/mp4")];
  if (note) return [fileOf(note, "video", "video/mp4")];
  if (animation) return [fileOf(animation, "video", "video/mp4")]; // Telegram repeats it as `document`
  if (document) return [fileOf(document, mediaKindOf(document.mime_type ?? ""))];
  if (sticker && !sticker.is_animated && !sticker.is_video) return [fileOf(sticker, "image", "image/webp")];
  return [];
}

function fileOf(file: TelegramFile, kind: MediaKind, mimeType?: string): InboundMedia {
  return {
    ref: file.file_id,
    kind,
    ...given("name", file.file_name),
    ...given("mimeType", file.mime_type ?? mimeType),
    ...given("size", file.file_size),
  };
}

/** What a message says without text: a contact, the emoji of a moving sticker or of a dice. */
export function wordsOf({ contact, sticker, dice }: Message): string {
  if (contact) {
    const { first_name: first, last_name: last = "", phone_number: phone, user_id: id } = contact;
    const name = `${first} ${last}`.trim();
    return `Contact: ${name}, ${phone}${id === undefined ? "" : ` (Telegram id ${id})`}`;
  }
  if (sticker && (sticker.is_animated || sticker.is_video)) return sticker.emoji ?? "";
  return dice ? `${dice.emoji} ${dice.value}` : "";
}
