/** The `Documents` service: files and pictures in the form a model can be shown. */
import { defineService } from "../service.ts";
import type { ImageBlock } from "../models/messages.ts";

/** How much of a document is read. Spec: http/responses.md §4. */
export interface DocumentLimits {
  /** Characters of text; the rest is cut off. */
  readonly maxChars: number;
  readonly pdf: {
    /** Pages that are looked at. */
    readonly maxPages: number;
    /** Width times height of a rendered page. */
    readonly maxPixels: number;
    /** A PDF with less text than this is rendered to pictures as well. */
    readonly minTextChars: number;
  };
}

/** What a document says. */
export interface ReadDocument {
  readonly text: string;
  /** Rendered pages of a PDF without enough text; else none. */
  readonly images: readonly ImageBlock[];
  /** Some of it was cut off. */
  readonly isCut: boolean;
}

/** A file to read. */
export interface DocumentFile {
  readonly bytes: Uint8Array;
  /** Lower case, without parameters; `application/pdf` is a PDF, everything else text. */
  readonly mimeType: string;
  /** Default, and where it is unknown: UTF-8. */
  readonly charset?: string;
}

/** Reads documents and pictures. Hostile ones cost a process of their own at most. */
export interface Documents {
  /** @throws GatewayError `INVALID_REQUEST` for a file that cannot be read; the signal's reason */
  read(file: DocumentFile, limits: DocumentLimits, signal?: AbortSignal): Promise<ReadDocument>;
  /**
   * A picture as models take it: PNG, JPEG, GIF or WebP, as it is. The bytes decide what it is, not its declared type.
   * @throws GatewayError `INVALID_REQUEST` when it is none of these, or has more than `maxPixels` (default 100,000,000)
   */
  image(bytes: Uint8Array, options?: { readonly maxPixels?: number }): Promise<ImageBlock>;
}

/** Reading documents. Provided by the plugin `media`. */
export const Documents = defineService<Documents>()("documents", "1.0.0");
