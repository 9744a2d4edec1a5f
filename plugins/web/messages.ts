/** Messages between the gateway and the thread that reads a page. */

export interface PageQuestion {
  readonly html: string;
  /** URL of the page. */
  readonly url: string;
  readonly mode: "markdown" | "text";
  readonly maxChars: number;
}

export interface PageText {
  readonly title?: string;
  readonly text: string;
  /** `readability`: the article; `page`: the whole page; `none`: it was text already. */
  readonly extractor: "readability" | "page" | "none";
  readonly truncated: boolean;
}

/** Results for the page, each better than the previous one; the last result before `end` is the best. */
export type PageAnswer = { readonly page: PageText } | "end";
