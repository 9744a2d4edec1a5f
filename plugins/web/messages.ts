/** What is said between the gateway and the thread that reads a page. */

export interface PageQuestion {
  readonly html: string;
  /** Where it came from. */
  readonly url: string;
  readonly mode: "markdown" | "text";
  readonly maxChars: number;
}

export interface PageText {
  readonly title?: string;
  readonly text: string;
  /** `readability`: its article; `page`: all of it; `none`: it was text already. */
  readonly extractor: "readability" | "page" | "none";
  readonly truncated: boolean;
}

/** Better and better readings of the page; the last one before the end is the best. */
export type PageAnswer = { readonly page: PageText } | "end";
