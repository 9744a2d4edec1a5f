/** Converts a server's result of a call into a tool result. Pure except for the random id of the markers. */
import { externalLine, wrapExternalContent } from "@svc/sdk/external-content";
import type { ImageBlock } from "@svc/sdk/models";
import type { ToolResult } from "@svc/sdk/tools";

/**
 * Choice: maximum characters of text before the markers are added; below the limit of all tools, so that no marker is
 * cut.
 */
export const MAX_TEXT_CHARS = 80_000;
/** Choice: maximum pictures per result, and base64 characters per picture. */
export const MAX_IMAGES = 8;
const MAX_IMAGE_CHARS = 7_000_000;
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

interface Read {
  readonly texts: string[];
  readonly images: ImageBlock[];
}

/** @param from sender shown to the model. @param given result of `tools/call`, unchecked */
export function resultOf(from: string, given: Readonly<Record<string, unknown>>): ToolResult {
  const { content, structuredContent, isError } = given;
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  const read: Read = { texts: [], images: [] };
  for (const block of blocks) readBlock((block ?? {}) as Fields, read);
  if (read.texts.length === 0 && structuredContent !== undefined) read.texts.push(JSON.stringify(structuredContent));
  const text = bounded(read.texts.join("\n\n"));
  const told = text === "" && read.images.length === 0 ? "(no content)" : text;
  const wrapped =
    told === "" ? [] : [{ type: "text" as const, text: wrapExternalContent(told, { source: "external", from }) }];
  return {
    content: [...wrapped, ...read.images],
    ...(structuredContent === undefined ? {} : { details: structuredContent }),
    ...(isError === true ? { isError } : {}),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function readBlock(block: Fields, read: Read): void {
  const { type, text, resource, uri, name } = block;
  if (type === "text" && typeof text === "string") read.texts.push(text);
  else if (type === "image") readImage(block, read);
  else if (type === "resource") readResource((resource ?? {}) as Fields, read);
  else if (type === "resource_link") read.texts.push(`[link to ${line(name)}: ${line(uri)}]`);
  else read.texts.push(`[content of type ${line(type)} left out]`);
}

function readImage({ data, mimeType }: Fields, read: Read): void {
  const isPicture = typeof mimeType === "string" && IMAGES.test(mimeType);
  const isFit = typeof data === "string" && data.length <= MAX_IMAGE_CHARS && BASE64.test(data);
  if (!isPicture || !isFit) read.texts.push(`[content of type ${line(mimeType)} left out]`);
  else if (read.images.length >= MAX_IMAGES) read.texts.push("[one more picture left out]");
  else read.images.push({ type: "image", data, mimeType });
}

function readResource({ uri, text, blob, mimeType }: Fields, read: Read): void {
  if (typeof text === "string") read.texts.push(`${line(uri)}:\n${text}`);
  else readImage({ data: blob, mimeType }, read);
}

const line = (value: unknown) => (typeof value === "string" ? externalLine(value, 500) : "") || "unknown";

function bounded(text: string): string {
  const cut = text.length - MAX_TEXT_CHARS;
  return cut <= 0 ? text : `${text.slice(0, MAX_TEXT_CHARS)}\n[cut: ${cut} more characters]`;
}
