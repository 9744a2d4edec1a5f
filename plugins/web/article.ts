/** Extracts readable text from HTML: the article of a page, or the whole page. Runs in a worker thread. */
import { cut } from "@svc/sdk/cli";
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import type { PageQuestion, PageText } from "./messages.ts";
import { toText } from "./markdown.ts";
import type { PageNode, Style } from "./page-node.ts";

interface PageDocument {
  readonly body: PageNode;
  querySelector(selector: string): PageNode | null;
}

/** Characters below which the article found is probably only a part of it. */
const MIN_ARTICLE = 250;

/** Yields the whole page first, then its article if there is one: finding the article may take long. */
export function* readPage({ html, url, mode, maxChars }: PageQuestion): Generator<PageText> {
  const style: Style = { markdown: mode === "markdown", base: url };
  const { title, text } = wholePage(html, style);
  const about = title === undefined ? {} : { title };
  const page = (words: string) => ({ ...about, text: cut(words, maxChars, ""), truncated: words.length > maxChars });
  yield { ...page(text), extractor: "page" };
  const article = articleOf(html, style);
  if (article !== undefined && article.length >= MIN_ARTICLE) yield { ...page(article), extractor: "readability" };
}

function wholePage(html: string, style: Style): { readonly title: string | undefined; readonly text: string } {
  for (const source of [html, inShell(html)]) {
    const document = parse(source);
    const text = document ? toText(document.body, style) : "";
    const title = document?.querySelector("title")?.textContent?.trim();
    if (text !== "") return { title: title === "" ? undefined : title, text };
  }
  return { title: undefined, text: "" };
}

/** Adds the tags `<html>` and `<body>` if the HTML omits them: otherwise the parser would leave the body empty. */
function inShell(html: string): string {
  return `<!doctype html><html><head></head><body>${html}</body></html>`;
}

/** The parsed page; `undefined` for HTML without the tags `<html>` and `<body>`. */
function parse(html: string): PageDocument | undefined {
  if (!/<html[\s>]/i.test(html) || !/<body[\s>]/i.test(html)) return undefined;
  return (parseHTML(html) as { document: PageDocument }).document; // its types need the DOM types, which are not loaded
}

/** The article; `undefined` if there is no article, or if the library failed. */
function articleOf(html: string, style: Style): string | undefined {
  const document = parse(html) ?? parse(inShell(html));
  try {
    const options = { serializer: (node: unknown) => node as PageNode }; // returns the element itself, not its HTML
    const content = new Readability(document as never, options).parse()?.content; // as above
    return content ? toText(content, style) : undefined;
  } catch {
    return undefined;
  }
}
