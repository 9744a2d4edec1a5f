/** From the `attachments` of `chat.send` to the images a run takes. Pure. Spec: protocol/methods-chat.md §2. */
import { invalidRequest } from "@svc/sdk";
import type { ImageBlock } from "@svc/sdk/services";

/** Decoded bytes one attachment may have. */
export const MAX_ATTACHMENT_BYTES = 5_000_000;

/** An attachment whose content can be decoded. */
export interface ReadAttachment {
  readonly name: string;
  /** base64, without the head of a data URL */
  readonly data: string;
  /** MIME type by its first bytes; `undefined` when it is not an image we know. */
  readonly imageType: string | undefined;
}

const DATA_URL = /^data:[^,]*;base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The attachments that have content, in order; the others are dropped.
 * @throws GatewayError `INVALID_REQUEST` for content that is not base64, is empty or is larger than 5,000,000 bytes.
 */
export function readAttachments(items: readonly unknown[]): ReadAttachment[] {
  const read: ReadAttachment[] = [];
  for (const [index, item] of items.entries()) {
    const { content, fileName } = (item ?? {}) as { content?: unknown; fileName?: unknown }; // any JSON may stand here
    const text = contentText(content);
    if (text === undefined) continue;
    const name = typeof fileName === "string" && fileName !== "" ? fileName : `attachment ${index + 1}`;
    const data = decodable(name, text);
    read.push({ name, data, imageType: imageTypeOf(Buffer.from(data.slice(0, 64), "base64")) });
  }
  return read;
}

/** As images for a run; the ones that are no image are left out. */
export function imagesOf(attachments: readonly ReadAttachment[]): ImageBlock[] {
  return attachments.flatMap(({ data, imageType }) =>
    imageType === undefined ? [] : [{ type: "image" as const, data, mimeType: imageType }],
  );
}

/** In-process callers may pass bytes. */
function contentText(content: unknown): string | undefined {
  if (content instanceof Uint8Array) return Buffer.from(content).toString("base64") || undefined;
  return typeof content === "string" && content.trim() !== "" ? content.trim() : undefined;
}

function decodable(name: string, text: string): string {
  const data = text.replace(DATA_URL, "").replace(/\s+/g, "");
  if (data === "") invalidRequest(`${name}: it is empty (0 bytes)`);
  if (data.length % 4 !== 0 || !BASE64.test(data)) {
    invalidRequest(`${name}: content is not base64; send base64 text or a data URL`);
  }
  const bytes = (data.length / 4) * 3 - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0);
  if (bytes > MAX_ATTACHMENT_BYTES) {
    invalidRequest(
      `${name}: ${bytes} bytes are more than the ${MAX_ATTACHMENT_BYTES} that are allowed; send a smaller file`,
    );
  }
  return data;
}

/** Image formats by their first bytes; `undefined` for anything else, whatever it claims to be. */
export function imageTypeOf(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString("latin1");
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (/^RIFF[^]{4}WEBP/.test(text)) return "image/webp";
  if (/^BM[^]{4}\0\0\0\0/.test(text)) return "image/bmp";
  if (text.startsWith("II*\0") || text.startsWith("MM\0*")) return "image/tiff";
  const brand = /^[^]{4}ftyp([^]{4})/.exec(text)?.[1];
  if (brand === "avif" || brand === "avis") return "image/avif";
  if (brand !== undefined && /^(?:hei[cxms]|hev[cx]|mif1|msf1)$/.test(brand)) return "image/heic";
  return undefined;
}
