/** Messages between the gateway and the process that reads one PDF. */

/** First and last page, both included, from 1. */
export type PageRange = readonly [first: number, last: number];

/** One PDF to read. */
export interface PdfJob {
  readonly bytes: Uint8Array;
  /** Requested pages. Default: from the first. */
  readonly ranges?: readonly PageRange[];
  /** Maximum number of pages to read. */
  readonly maxPages: number;
  /** Maximum characters of the text of all pages. */
  readonly maxChars: number;
  /** Maximum pixels (width times height) of a rendered page. */
  readonly maxPixels: number;
  /** If the trimmed text is shorter, pages are rendered as well. */
  readonly minTextChars: number;
}

export interface PageText {
  /** From 1. */
  readonly page: number;
  readonly text: string;
}

/** A rendered page. */
export interface PagePicture {
  readonly page: number;
  readonly png: Uint8Array;
}

/** Result of reading a PDF. */
export interface PdfContent {
  /** Pages of the whole document. */
  readonly pageCount: number;
  /** The pages that were read. */
  readonly texts: readonly PageText[];
  /** The rendered pages; empty if there was enough text, or if pages cannot be rendered. */
  readonly pictures: readonly PagePicture[];
  /** Whether some pages, or a part of the text, are left out. */
  readonly isCut: boolean;
}

/** Message of the process. `ready` comes first: an earlier failure is not caused by the document. */
export type PdfReport =
  | { readonly kind: "ready" }
  | { readonly kind: "read"; readonly content: PdfContent }
  | { readonly kind: "refused"; readonly message: string };
