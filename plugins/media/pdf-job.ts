/** What travels between the gateway and the process that reads one PDF. */

/** First and last page, both included, from 1. */
export type PageRange = readonly [first: number, last: number];

/** One PDF to read. */
export interface PdfJob {
  readonly bytes: Uint8Array;
  /** Which pages. Default: from the first. */
  readonly ranges?: readonly PageRange[];
  /** Pages that are looked at. */
  readonly maxPages: number;
  /** Characters of text, all pages together. */
  readonly maxChars: number;
  /** Width times height of a rendered page. */
  readonly maxPixels: number;
  /** With less text than this, trimmed, pages are rendered as well. */
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

/** What was read. */
export interface PdfContent {
  /** Pages of the whole document. */
  readonly pageCount: number;
  /** The pages that were looked at. */
  readonly texts: readonly PageText[];
  /** Empty where the text was enough, or nothing can render here. */
  readonly pictures: readonly PagePicture[];
  /** Some pages, or some of the text, are left out. */
  readonly isCut: boolean;
}

/** What the process says. `ready` comes first: what goes wrong before it is no fault of the document. */
export type PdfReport =
  | { readonly kind: "ready" }
  | { readonly kind: "read"; readonly content: PdfContent }
  | { readonly kind: "refused"; readonly message: string };
