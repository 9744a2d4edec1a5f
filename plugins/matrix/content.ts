/** Contents of outgoing events. Pure. */
import type { MessagePoll, OutboundMedia, OutboundMessage } from "@svc/sdk/channels";
import { POLL_START } from "./events.ts";

/** `@room` in a text, and names, notify nobody. */
const QUIET = { "m.mentions": {} };

const TYPES = { image: "m.image", audio: "m.audio", video: "m.video", file: "m.file" } as const;

/** A text in HTML, as readable text. */
export function plainOf(html: string): string {
  return html
    .replace(/<a href="([^"]*)">([^]*?)<\/a>/g, (_, url: string, inner: string) =>
      inner === url || inner === "" ? url : `${inner} (${url})`,
    )
    .replace(/<blockquote>([^]*?)<\/blockquote>/g, (_, inner: string) => inner.replaceAll(/^/gm, "&gt; "))
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

/** Clients ignore line breaks in HTML, except in `pre`. */
const broken = (html: string) =>
  html
    .split(/(<pre>[^]*?<\/pre>)/)
    .map((part) => (part.startsWith("<pre>") ? part : part.replaceAll("\n", "<br/>")))
    .join("");

function textOf(html: string) {
  const body = plainOf(html);
  return /<[a-z]/.test(html) ? { body, format: "org.matrix.custom.html", formatted_body: broken(html) } : { body };
}

/** A notice raises no notification. */
const textType = (isSilent: boolean) => (isSilent ? "m.notice" : "m.text");

export function messageOf({ text, silent = false, threadId, replyTo }: OutboundMessage, file?: object): object {
  return {
    ...(file ? {} : { msgtype: textType(silent) }),
    ...(text === "" ? {} : textOf(text)),
    ...file,
    ...QUIET,
    ...relating(threadId, replyTo),
  };
}

/** @param url of the uploaded file */
export function fileOf({ kind, bytes, name, mimeType, isVoice }: OutboundMedia, text: string, url: string): object {
  return {
    msgtype: TYPES[kind],
    ...(text === "" ? { body: name } : {}),
    filename: name,
    url,
    info: { mimetype: mimeType, size: bytes.length },
    ...(isVoice === true ? { "org.matrix.msc3245.voice": {}, "org.matrix.msc1767.audio": {} } : {}),
  };
}

/** Answers have the position as their id, which `chosen` finds again in the event. */
export function pollOf({ question, options, maxSelections, isAnonymous }: MessagePoll): object {
  const list = options.map((option, index) => `${index + 1}. ${option}`).join("\n");
  return {
    [POLL_START]: {
      kind: `org.matrix.msc3381.poll.${isAnonymous === true ? "undisclosed" : "disclosed"}`,
      max_selections: maxSelections,
      question: { "org.matrix.msc1767.text": question },
      answers: options.map((option, index) => ({ id: String(index + 1), "org.matrix.msc1767.text": option })),
    },
    "org.matrix.msc1767.text": `${question}\n${list}`,
    ...QUIET,
  };
}

export function editOf(messageId: string, html: string): object {
  return {
    msgtype: "m.text",
    body: `* ${plainOf(html)}`,
    "m.new_content": { msgtype: "m.text", ...textOf(html), ...QUIET },
    ...QUIET,
    "m.relates_to": { rel_type: "m.replace", event_id: messageId },
  };
}

/** Clients without threads show the message of a thread as an answer. */
export function relating(threadId: string | undefined, replyTo: string | undefined): object {
  const reply = { "m.in_reply_to": { event_id: replyTo ?? threadId } };
  if (threadId !== undefined)
    return {
      "m.relates_to": {
        rel_type: "m.thread",
        event_id: threadId,
        is_falling_back: replyTo === undefined,
        ...reply,
      },
    };
  return replyTo === undefined ? {} : { "m.relates_to": reply };
}
