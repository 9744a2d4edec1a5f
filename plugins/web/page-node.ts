/** The properties of a parsed page that this plugin uses. Pure. */

/** A node of any parser. */
export interface PageNode {
  /** 1: an element, 3: a text. */
  readonly nodeType: number;
  /** Name of an element. */
  readonly localName?: string | null;
  readonly textContent: string | null;
  readonly childNodes: Iterable<PageNode>;
  getAttribute?(name: string): string | null;
}

/** How text is formatted. */
export interface Style {
  /** false: plain text, without marks and URLs. */
  readonly markdown: boolean;
  /** Base of relative URLs. */
  readonly base: string;
}

/** Lower-case name of an element; `undefined` for other nodes. */
export function nameOf(node: PageNode): string | undefined {
  return node.nodeType === 1 ? (node.localName ?? "").toLowerCase() : undefined;
}

const NO_TEXT = new Set(
  "audio button canvas datalist dialog embed head iframe input link map math meta noembed noframes noscript object script select style svg template textarea title video".split(
    " ",
  ),
);

const OUT_OF_SIGHT = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Whether a reader would not see the node: comments, scripts, and content that a page hides, e.g. to address machines only. */
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
