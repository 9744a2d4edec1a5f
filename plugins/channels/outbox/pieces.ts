/** Divides an outgoing message into the messages that the network carries. Pure. */
import { createHash } from "node:crypto";
import { split } from "@svc/kit/channels";
import type { ChannelCapabilities, MessageButton, MessagePoll } from "@svc/sdk/channels";
import { withoutMarkers } from "@svc/sdk/external-content";
import type { NewText } from "./outbox-store.ts";

/** One message of the network. */
export interface Piece {
  /** Same for each attempt. */
  readonly id: string;
  /** Markdown. */
  readonly text: string;
  /** Id of a stored file. */
  readonly media?: string;
  readonly replyTo?: string;
  readonly buttons?: readonly (readonly MessageButton[])[];
  readonly poll?: MessagePoll;
}

type Content = Omit<Piece, "id" | "replyTo" | "buttons">;

/**
 * The files, each in a message of its own, then the text; a text that fits is in the message of the only file. With
 * `mediaLast`, the text comes first, so that it may replace a draft. Buttons are below the last message. The result does
 * not change while the plugin of the channel stays the same.
 */
export function piecesOf(
  message: NewText,
  capabilities: Pick<ChannelCapabilities, "maxCaptionChars">,
): readonly Piece[] {
  const { id, maxChars, extras = {} } = message;
  const { media = [], mediaLast = false, poll, replyTo, repliesAlways = false, buttons } = extras;
  const text = withoutMarkers(message.text);
  const [only, another] = media;
  const fits = text.trim().length <= (capabilities.maxCaptionChars ?? maxChars);
  const files = media.map((file) => ({ text: "", media: file }));
  const parts = split(text, maxChars).map((part) => ({ text: part }));
  const contents: readonly Content[] = mediaLast
    ? [...parts, ...files]
    : only !== undefined && another === undefined && fits
      ? [{ text: text.trim(), media: only }]
      : [...files, ...parts];
  const all: readonly Content[] = poll === undefined ? contents : [...contents, { text: "", poll }];
  return all.map((content, index) => ({
    ...content,
    id: createHash("sha256").update(`${id}\n${index}`).digest("hex").slice(0, 32),
    ...(replyTo !== undefined && (index === 0 || repliesAlways) ? { replyTo } : {}),
    ...(buttons !== undefined && index === all.length - 1 ? { buttons } : {}),
  }));
}
