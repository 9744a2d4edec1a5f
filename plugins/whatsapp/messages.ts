/** Bodies of outgoing messages. Pure. */
import { invalidRequest } from "@svc/sdk";
import type { MessageButton, OutboundMedia } from "@svc/sdk/channels";
import { isUserId } from "./translate.ts";

/** Limits of messages with buttons. */
const MAX_BODY_CHARS = 1_024;
const BUTTONS = { count: 3, chars: 20 };
const ROWS = { count: 10, chars: 24, descriptionChars: 72 };
/** Text of a message that only has buttons, and label of a list. */
const CHOOSE = "Choose:";

/** A body without the recipient. */
export type Body = Readonly<Record<string, unknown>>;

/** Who gets a message. */
export function recipient(to: string): object {
  const who = isUserId(to) ? { recipient: to } : { to };
  return { messaging_product: "whatsapp", recipient_type: "individual", ...who };
}

const textBody = (body: string): Body => ({ type: "text", text: { body, preview_url: /https?:\/\//i.test(body) } });

/**
 * A text with buttons: up to 3 as buttons, up to 10 as a list. A text that is too long for that precedes it.
 * @throws GatewayError `INVALID_REQUEST`: more than 10 buttons
 */
export function textBodies(text: string, buttons: readonly MessageButton[]): readonly Body[] {
  if (buttons.length === 0) return text === "" ? [] : [textBody(text)];
  if (buttons.length > ROWS.count)
    return invalidRequest(`WhatsApp shows at most ${ROWS.count} buttons; next: send fewer, or write the choices`);
  const fits = text.length <= MAX_BODY_CHARS;
  const isList = buttons.length > BUTTONS.count;
  const { chars } = isList ? ROWS : BUTTONS;
  const titles = buttons.map(({ label }) => shortened(label, chars));
  const choices = buttons.map(({ label, value: id }, index) => {
    const isTaken = titles.indexOf(titles[index] ?? "") < index; // WhatsApp refuses two buttons with the same title
    const title = shortened(isTaken ? `${index + 1} ${label}` : label, chars);
    return {
      id,
      title,
      ...(isList && title !== label ? { description: shortened(label, ROWS.descriptionChars) } : {}),
    };
  });
  const interactive = {
    type: isList ? "list" : "button",
    body: { text: fits && text !== "" ? text : CHOOSE },
    action: isList
      ? { button: CHOOSE, sections: [{ rows: choices }] }
      : { buttons: choices.map((reply) => ({ type: "reply", reply })) },
  };
  return [...(fits ? [] : [textBody(text)]), { type: "interactive", interactive }];
}

function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/\p{Cs}$/u, "")}…`;
}

/** Types that WhatsApp shows as what they are, with their maximum size; any other file is a document. */
const SHOWN = {
  image: { types: ["jpeg", "png"], maxBytes: 5_000_000 },
  video: { types: ["mp4", "3gpp"], maxBytes: 16_000_000 },
  audio: { types: ["aac", "mp4", "mpeg", "amr", "ogg"], maxBytes: 16_000_000 },
} as const;

/** How WhatsApp shows a file. */
export type Upload = { readonly type: string; readonly mimeType: string; readonly isVoice: boolean };

export function uploadOf({ kind, bytes, mimeType: given, isVoice = false }: OutboundMedia): Upload {
  const mimeType = given.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const document: Upload = { type: "document", mimeType, isVoice: false };
  if (kind === "file") return document;
  const { types, maxBytes } = SHOWN[kind];
  if (!types.some((type) => mimeType === `${kind}/${type}`) || bytes.byteLength > maxBytes) return document;
  if (mimeType !== "audio/ogg") return { ...document, type: kind };
  // The first page of an Ogg file names its codec; WhatsApp plays Opus only.
  const isOpus = Buffer.from(bytes.subarray(0, 64)).includes("OpusHead");
  return isOpus ? { type: kind, mimeType: "audio/ogg; codecs=opus", isVoice } : document;
}

/** A message with an uploaded file. Audio has no caption: the text follows it. */
export function fileBodies(id: string, { type, isVoice }: Upload, name: string, text: string): readonly Body[] {
  const file = {
    id,
    ...(text === "" || type === "audio" ? {} : { caption: text }),
    ...(type === "document" ? { filename: name } : {}),
    ...(isVoice ? { voice: true } : {}),
  };
  return [{ type, [type]: file }, ...(type === "audio" ? textBodies(text, []) : [])];
}
