/** Contents of outgoing events. Pure. */
import { unescaped } from "@svc/kit/channels";
import type { MessagePoll, OutboundMessage } from "@svc/sdk/channels";
import { POLL_START } from "./events.ts";

/** `@room` in a text, and names, notify nobody. */
const QUIET = { "m.mentions": {} };

/** A text in HTML, as readable text. */
export function plainOf(html: string): string {
  const plain = html
    .replace(/<a href="([^"]*)">([^]*?)<\/a>/g, (_, url: string, text: string) =>
      text === url || text === "" ? url : `${text} (${url})`,
    )
    .replace(/<blockquote>([^]*?)<\/blockquote>/g, (_, inner: string) => inner.replaceAll(/^/gm, "&gt; "))
    .replaceAll(/<[^>]*>/g, "");
  return unescaped(plain);
}

/** Clients ignore line breaks in HTML, except in `pre`. */
const broken = (html: string) => html.replaceAll(/<pre>[^]*?<\/pre>|\n/g, (part) => (part === "\n" ? "<br/>" : part));

function textOf(html: string) {
  const body = plainOf(html);
  return /<[a-z]/.test(html) ? { body, format: "org.matrix.custom.html", formatted_body: broken(html) } : { body };
}

/** @param url of the uploaded file */
export function messageOf({ text, media, silent, threadId, replyTo }: OutboundMessage, url: string): object {
  const words = text === "" ? { body: media?.name ?? "" } : textOf(text);
  const end = { ...words, ...QUIET, ...relating(threadId, replyTo) };
  if (!media) return { msgtype: silent === true ? "m.notice" : "m.text", ...end }; // a notice raises no notification
  const { kind, bytes, name: filename, mimeType: mimetype, isVoice } = media;
  const voice = isVoice === true ? { "org.matrix.msc3245.voice": {}, "org.matrix.msc1767.audio": {} } : {};
  return { msgtype: `m.${kind}`, filename, url, info: { mimetype, size: bytes.length }, ...voice, ...end };
}

export function pollOf({ poll, threadId, replyTo }: OutboundMessage & { readonly poll: MessagePoll }): object {
  const { question, options, maxSelections, isAnonymous } = poll;
  const words = (text: string) => ({ "org.matrix.msc1767.text": text });
  const list = options.map((option, index) => `${index + 1}. ${option}`).join("\n");
  const kind = `org.matrix.msc3381.poll.${isAnonymous === true ? "undisclosed" : "disclosed"}`;
  const answers = options.map((option, index) => ({ id: String(index + 1), ...words(option) }));
  const start = { kind, max_selections: maxSelections, question: words(question), answers };
  return { [POLL_START]: start, ...words(`${question}\n${list}`), ...QUIET, ...relating(threadId, replyTo) };
}

export function editOf(messageId: string, html: string): object {
  const [text, relation] = [
    { msgtype: "m.text", ...QUIET },
    { rel_type: "m.replace", event_id: messageId },
  ];
  const content = { ...text, ...textOf(html) };
  return { ...text, body: `* ${plainOf(html)}`, "m.new_content": content, "m.relates_to": relation };
}

/** Clients without threads show the message of a thread as an answer. */
function relating(threadId: string | undefined, replyTo: string | undefined): object {
  const reply = { "m.in_reply_to": { event_id: replyTo ?? threadId } };
  if (threadId === undefined) return replyTo === undefined ? {} : { "m.relates_to": reply };
  const isFallback = replyTo === undefined;
  return { "m.relates_to": { rel_type: "m.thread", event_id: threadId, is_falling_back: isFallback, ...reply } };
}
