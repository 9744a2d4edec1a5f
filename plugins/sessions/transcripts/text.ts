/** Short forms of messages for lists. Pure. */
import { cut } from "@svc/sdk/cli";
import type { Excerpt } from "./transcripts.ts";

/** Tool names shown for a message that only calls tools. */
const SHOWN_TOOLS = 2;

/** One line: white space of any kind becomes single spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}

/** Like `cut`, at the last space when that keeps at least half. */
export function cutAtWord(text: string, max: number): string {
  if (text.length <= max) return text;
  const space = text.lastIndexOf(" ", max - 1);
  return space >= max / 2 ? `${text.slice(0, space)}…` : cut(text, max);
}

/** The text of a message. Choice: without text, the called tools (`call read, write +1`), else the number of images. */
export function excerptText({ content }: Excerpt): string | undefined {
  const said = content
    .map(({ type, text }) => (type === "text" && text !== null ? text : ""))
    .join("")
    .trim();
  return said === "" ? (toolCalls(content) ?? images(content)) : said;
}

function toolCalls(content: Excerpt["content"]): string | undefined {
  const names = content.flatMap(({ type, name }) => (type === "toolCall" && name !== null ? [name] : []));
  if (names.length === 0) return undefined;
  const more = names.length > SHOWN_TOOLS ? ` +${names.length - SHOWN_TOOLS}` : "";
  return `call ${names.slice(0, SHOWN_TOOLS).join(", ")}${more}`;
}

function images(content: Excerpt["content"]): string | undefined {
  const count = content.filter(({ type }) => type === "image").length;
  if (count === 0) return undefined;
  return count === 1 ? "[image]" : `[${count} images]`;
}
