/** Contents of outgoing events. Pure. */
import type { MessagePoll, OutboundMedia, OutboundMessage } from "@svc/sdk/channels";
import { POLL_START } from "./events.ts";

/** `@room` in a text, and names, notify nobody. */
const QUIET = { "m.mentions": {} };
const TYPES = { image: "m.image", audio: "m.audio", video: "m.video", file: "m.file" } as const;
const CHARACTERS: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

/** A text in HTML, as readable text. */
export function plainOf(html: string): string {
  return html
    .replace(/<a href="([^"]*)">([^]*?)<\/a>/g, (_, url: string, text: string) =>
      text === url || text === "" ? url : `${text} (${url})`,
    )
    .replace(/<blockquote>([^]*?)<\/blockquote>/g, (_, inner: string) => inner.replaceAll(/^/gm, "&gt; "))
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(?:lt|gt|quot|amp);/g, (name) => CHARACTERS[name] ?? name);
}

/** Clients ignore line breaks in HTML, except in `pre`. */
const broken = (html: string) => html.replaceAll(/<pre>[^]*?<\/pre>|\n/g, (part) => (part === "\n" ? "<br/>" : part));

function textOf(html: string) {
  const body = plainOf(html);
  return /<[a-z]/.test(html) ? { body, format: "org.matrix.custom.html", formatted_body: broken(html) } : { body };
}

/** @param url of the uploaded file */
export function messageOf({ text, media, silent, threadId, replyTo }: OutboundMessage, url: string): object {
  return {
    msgtype: silent === true ? "m.notice" : "m.text", // a notice raises no notification
    ...(text === "" ? {} : textOf(text)),
    ...(media ? fileOf(media, text, url) : {}),
    ...QUIET,
    ...relating(threadId, replyTo),
  };
}

function fileOf({ kind, bytes, name, mimeType, isVoice }: OutboundMedia, text: string, url: string): object {
  return {
    msgtype: TYPES[kind],
    ...(text === "" ? { body: name } : {}),
    filename: name,
    url,
    info: { mimetype: mimeType, size: bytes.length },
    ...(isVoice === true ? { "org.matrix.msc3245.voice": {}, "org.matrix.msc1767.audio": {} } : {}),
  };
}

export function pollOf({ poll, threadId, replyTo }: OutboundMessage & { readonly poll: MessagePoll }): object {
  const { question, options, maxSelections, isAnonymous } = poll;
  const words = (text: string) => ({ "org.matrix.msc1767.text": text });
  const list = options.map((option, index) => `${index + 1}. ${option}`).join("\n");
  return {
    [POLL_START]: {
      kind: `org.matrix.msc3381.poll.${isAnonymous === true ? "undisclosed" : "disclosed"}`,
      max_selections: maxSelections,
      question: words(question),
      answers: options.map((option, index) => ({ id: String(index + 1), ...words(option) })),
    },
    ...words(`${question}\n${list}`),
    ...QUIET,
    ...relating(threadId, replyTo),
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
function relating(threadId: string | undefined, replyTo: string | undefined): object {
  const reply = { "m.in_reply_to": { event_id: replyTo ?? threadId } };
  if (threadId === undefined) return replyTo === undefined ? {} : { "m.relates_to": reply };
  const isFallback = replyTo === undefined;
  return { "m.relates_to": { rel_type: "m.thread", event_id: threadId, is_falling_back: isFallback, ...reply } };
}
