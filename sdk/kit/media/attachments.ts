/**
 * Attachments of a message: selects the images that models accept. Pure decisions. Spec: protocol/methods-chat.md §2.
 */
import { invalidRequest } from "@svc/sdk";
import type { ImageBlock } from "@svc/sdk/models";

/** Maximum bytes of one attachment, decoded. Spec: methods-chat.md §2. */
export const MAX_ATTACHMENT_BYTES = 5_000_000;

/** Outcome of reading the attachments of a message. */
export interface ReadAttachments {
  readonly images: readonly ImageBlock[];
  /** The dropped items and the reasons, for the log. */
  readonly dropped: readonly string[];
}

/**
 * Items without content are dropped silently; items that are not images are listed in `dropped`.
 * @throws GatewayError `INVALID_REQUEST`: invalid base64, or 0 or more than 5,000,000 bytes
 */
export function readAttachments(attachments: readonly unknown[] = []): ReadAttachments {
  const images: ImageBlock[] = [];
  const dropped: string[] = [];
  for (const [index, attachment] of attachments.entries()) {
    const { content, fileName } = fieldsOf(attachment);
    const name = typeof fileName === "string" && fileName !== "" ? fileName : `attachment ${index + 1}`;
    const data = base64Of(content);
    if (data === undefined) continue;
    checkBase64(data, name);
    const mimeType = sniffImage(Buffer.from(data.slice(0, 64), "base64"));
    if (mimeType === undefined) dropped.push(`${name} is not a png, jpeg, gif or webp image`);
    else images.push({ type: "image", data, mimeType });
  }
  return { images, dropped };
}

function fieldsOf(attachment: unknown): { content?: unknown; fileName?: unknown } {
  return typeof attachment === "object" && attachment !== null ? attachment : {};
}

const DATA_URL_HEAD = /^data:[^,]*;base64,/i;

/** Base64 text of a string, a data URL or (from callers inside the process) bytes; `undefined` for anything else. */
function base64Of(content: unknown): string | undefined {
  if (content instanceof Uint8Array) return Buffer.from(content).toString("base64");
  if (typeof content !== "string" || content.trim() === "") return undefined;
  return content.trim().replace(DATA_URL_HEAD, "").replace(/\s+/g, "");
}

function checkBase64(data: string, name: string): void {
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data))
    invalidRequest(`${name}: content is not base64; send base64 text or a data URL`);
  const bytes = (data.length / 4) * 3 - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);
  if (bytes === 0) invalidRequest(`${name}: is empty`);
  if (bytes > MAX_ATTACHMENT_BYTES) {
    invalidRequest(`${name}: ${bytes} bytes, at most ${MAX_ATTACHMENT_BYTES} are allowed; send a smaller image`);
  }
}

/**
 * Detects PNG, JPEG, GIF or WebP from the first 12 bytes, regardless of the declared type; `undefined`: none of these.
 */
export function sniffImage(head: Uint8Array): string | undefined {
  const ascii = Buffer.from(head.subarray(0, 12)).toString("latin1");
  if (ascii.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (ascii.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (ascii.startsWith("GIF87a") || ascii.startsWith("GIF89a")) return "image/gif";
  if (ascii.startsWith("RIFF") && ascii.slice(8, 12) === "WEBP") return "image/webp";
  return undefined;
}
