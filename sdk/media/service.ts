/** The `Documents` service: converts files and pictures to a form that models accept. */
import { defineService } from "../service.ts";
import type { ImageBlock } from "../models/messages.ts";

/** Limits for reading a document. Spec: http/responses.md §4. */
export interface DocumentLimits {
  /** Characters of text; the rest is truncated. */
  readonly maxChars: number;
  readonly pdf: {
    /** Maximum number of pages read. */
    readonly maxPages: number;
    /** Width times height of a rendered page. */
    readonly maxPixels: number;
    /** A PDF with less text than this is also rendered to pictures. */
    readonly minTextChars: number;
  };
}

/** Content of a document. */
export interface ReadDocument {
  readonly text: string;
  /** Rendered pages of a PDF with too little text; otherwise empty. */
  readonly images: readonly ImageBlock[];
  /** The text was truncated. */
  readonly isCut: boolean;
}

/** A file to read. */
export interface DocumentFile {
  readonly bytes: Uint8Array;
  /** Lower case, without parameters; `application/pdf` is read as PDF, everything else as text. */
  readonly mimeType: string;
  /** Default, also for unknown values: UTF-8. */
  readonly charset?: string;
}

/** Reads documents and pictures. A malicious file can at most crash its own process. */
export interface Documents {
  /** @throws GatewayError `INVALID_REQUEST` for an unreadable file; the reason of the signal */
  read(file: DocumentFile, limits: DocumentLimits, signal?: AbortSignal): Promise<ReadDocument>;
  /**
   * A picture in a format that models accept, unchanged: PNG, JPEG, GIF or WebP. The format is detected from the bytes,
   * not from the declared type.
   * @throws GatewayError `INVALID_REQUEST` for other formats, or more than `maxPixels` pixels (default 100,000,000)
   */
  image(bytes: Uint8Array, options?: { readonly maxPixels?: number }): Promise<ImageBlock>;
}

/** Token of the service. */
export const Documents = defineService<Documents>()("documents", "1.0.0", {
  summary:
    "Reads documents and pictures. Provided by the plugin `media`; used by the HTTP endpoints that accept files.",
});

/** Converts speech to text. */
export interface Transcription {
  /** @throws GatewayError `INVALID_REQUEST` for an unreadable file; `UNAVAILABLE`; the reason of the signal */
  transcribe(file: Pick<DocumentFile, "bytes" | "mimeType">, signal?: AbortSignal): Promise<{ readonly text: string }>;
}

/** Token of the service. */
export const Transcription = defineService<Transcription>()("transcription", "1.0.0", {
  summary:
    "Converts speech to text. No bundled plugin provides it yet; used by the plugin `channels` for voice messages.",
});
