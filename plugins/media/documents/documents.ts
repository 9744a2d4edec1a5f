/** The `Documents` service. Spec: http/responses.md §4. */
import { sniffImage } from "@svc/kit/media";
import { invalidRequest } from "@svc/sdk";
import type { Documents } from "@svc/sdk/media";
import type { ImageBlock } from "@svc/sdk/models";
import { cutText } from "./cut.ts";
import { imageSizeOf } from "./image-size.ts";
import { looksLikePdf, type PdfReader } from "./pdf-reader.ts";
import { decodeText } from "./text.ts";

/** Maximum pixels of an image, from the contract of `Documents`. */
const MAX_IMAGE_PIXELS = 100_000_000;

export function createDocuments(pdf: Pick<PdfReader, "read">): Documents {
  return {
    async read({ bytes, mimeType, charset }, limits, signal) {
      signal?.throwIfAborted();
      const { maxChars } = limits;
      if (mimeType !== "application/pdf") return { ...cutText(decodeText(bytes, charset), maxChars), images: [] };
      requirePdf(bytes);
      const { texts, pictures, isCut } = await pdf.read({ bytes, maxChars, ...limits.pdf }, signal);
      const whole = texts.map(({ text }) => text.trim()).filter((text) => text !== "");
      const cut = cutText(whole.join("\n\n"), maxChars);
      return { text: cut.text, images: pictures.map(({ png }) => pngBlock(png)), isCut: isCut || cut.isCut };
    },
    async image(bytes, { maxPixels = MAX_IMAGE_PIXELS } = {}) {
      return imageBlock(bytes, maxPixels);
    },
  };
}

/** @throws GatewayError `INVALID_REQUEST` */
export function requirePdf(bytes: Uint8Array): void {
  if (!looksLikePdf(bytes)) invalidRequest("the file is not a PDF: it has no PDF header; send it with its real type");
}

export function pngBlock(png: Uint8Array): ImageBlock {
  return { type: "image", data: base64(png), mimeType: "image/png" };
}

function base64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function imageBlock(bytes: Uint8Array, maxPixels: number): ImageBlock {
  const mimeType = sniffImage(bytes);
  if (mimeType === undefined) invalidRequest("the file is not a png, jpeg, gif or webp image; send one of these");
  const size = imageSizeOf(bytes, mimeType);
  if (!size) invalidRequest(`the header of the ${mimeType} image is damaged; send another copy`);
  const { width, height } = size;
  if (width * height > maxPixels) {
    invalidRequest(`the image has ${width} x ${height} pixels; at most ${maxPixels} are allowed; send a smaller one`);
  }
  return { type: "image", data: base64(bytes), mimeType };
}
