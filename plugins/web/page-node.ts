/** A parsed page, as far as it is read. Pure. */

/** A node of whichever parser. */
export interface PageNode {
  /** 1: an element, 3: a text. */
  readonly nodeType: number;
  /** Of an element. */
  readonly localName?: string | null;
  readonly textContent: string | null;
  readonly childNodes: Iterable<PageNode>;
  getAttribute?(name: string): string | null;
}

/** How a page is put into words. */
export interface Style {
  /** Else plain text: no marks, no addresses. */
  readonly markdown: boolean;
  /** What relative addresses are relative to. */
  readonly base: string;
}

/** Lower-case name of an element; `undefined`: it is none. */
export function nameOf(node: PageNode): string | undefined {
  return node.nodeType === 1 ? (node.localName ?? "").toLowerCase() : undefined;
}

const NO_TEXT = new Set(
  "audio button canvas datalist dialog embed head iframe input link map math meta noembed noframes noscript object script select style svg template textarea title video".split(
    " ",
  ),
);

const OUT_OF_SIGHT = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Whether a reader would not see it: comments, scripts, and what a page keeps out of sight, e.g. to talk to machines only. */
export function isHidden(node: PageNode, name: string | undefined): boolean {
  if (name === undefined) return node.nodeType !== 3;
  const attribute = (key: string) => node.getAttribute?.(key) ?? null;
  return (
    NO_TEXT.has(name) ||
    attribute("hidden") !== null ||
    attribute("aria-hidden")?.toLowerCase() === "true" ||
    OUT_OF_SIGHT.test(attribute("style")?.slice(0, 2_000) ?? "")
  );
}
