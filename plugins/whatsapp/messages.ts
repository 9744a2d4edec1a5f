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

/** A link `<url|text>`, without a link in its text. */
const LINK = /<([^<>|\s]+)(?:\|([^<>]*))?>/g;

/** Converts `mrkdwn`: WhatsApp has the same marks, but no named links, and escapes nothing. */
export function whatsAppText(mrkdwn: string): string {
  const plain = (_: string, url: string, words = "") => (words === "" || words === url ? url : `${words} (${url})`);
  const unlinked = mrkdwn.replace(LINK, plain).replace(LINK, plain); // twice, for an image in a link
  return unlinked.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const textBody = (text: string): Body => ({
  type: "text",
  text: { body: text, preview_url: /https?:\/\//i.test(text) },
});

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
  const titles = titlesOf(buttons, isList ? ROWS.chars : BUTTONS.chars);
  const choices = buttons.map(({ label, value: id }, index) => ({ id, title: titles[index] ?? label, label }));
  const rows = choices.map(({ label, ...row }) =>
    row.title === label ? row : { ...row, description: shortened(label, ROWS.descriptionChars) },
  );
  const interactive = {
    type: isList ? "list" : "button",
    body: { text: fits && text !== "" ? text : CHOOSE },
    action: isList
      ? { button: CHOOSE, sections: [{ rows }] }
      : { buttons: choices.map(({ id, title }) => ({ type: "reply", reply: { id, title } })) },
  };
  return [...(fits ? [] : [textBody(text)]), { type: "interactive", interactive }];
}

/** WhatsApp refuses two buttons with the same title: the later one gets a number. */
function titlesOf(buttons: readonly MessageButton[], max: number): readonly string[] {
  const titles: string[] = [];
  for (const { label } of buttons) {
    const title = shortened(label, max);
    const number = ` ${titles.length + 1}`;
    titles.push(titles.includes(title) ? `${shortened(label, max - number.length)}${number}` : title);
  }
  return titles;
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

/** A file as WhatsApp gets it. */
export interface Upload {
  readonly type: "image" | "video" | "audio" | "document";
  readonly mimeType: string;
  readonly isVoice: boolean;
}

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
