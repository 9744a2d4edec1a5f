/** Markdown of agents as a tree of a few harmless elements. Pure. */

export interface Element {
  readonly tag: "p" | "strong" | "em" | "code" | "pre" | "a" | "ul" | "ol" | "li" | "blockquote" | "br";
  /** `http(s)` address of `a`. */
  readonly href?: string;
  /** First number of `ol`. */
  readonly start?: number;
  readonly children: readonly Node[];
}
export type Node = string | Element;

/** Emphasis inside emphasis, and quotes inside quotes, beyond this are plain text. */
const MAX_DEPTH = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const QUOTE = /^ {0,3}> ?/;

export function parse(markdown: string, depth = 0): Element[] {
  const lines = markdown.replaceAll("\r\n", "\n").split("\n");
  const blocks: Element[] = [];
  let at = 0;
  /** The following lines for which the condition holds. */
  const take = (holds: (line: string) => boolean) => {
    const start = at;
    while (at < lines.length && holds(lines[at] ?? "")) at += 1;
    return lines.slice(start, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const [, fence] = FENCE.exec(line) ?? [];
    if (line.trim() === "") at += 1;
    else if (fence !== undefined) {
      at += 1;
      const code = take((one) => !(one.trim().startsWith(fence) && /^(?:`+|~+)$/.test(one.trim())));
      at += 1;
      blocks.push({ tag: "pre", children: [{ tag: "code", children: [code.join("\n")] }] });
    } else if (HEADING.test(line)) {
      at += 1;
      const [, title = ""] = HEADING.exec(line) ?? [];
      blocks.push({ tag: "p", children: [{ tag: "strong", children: inline(title) }] });
    } else if (QUOTE.test(line) && depth < MAX_DEPTH) {
      const quoted = take((one) => QUOTE.test(one)).map((one) => one.replace(QUOTE, ""));
      blocks.push({ tag: "blockquote", children: parse(quoted.join("\n"), depth + 1) });
    } else if (ITEM.test(line)) blocks.push(list(take((one) => ITEM.test(one) || /^\s+\S/.test(one))));
    else {
      const isText = (one: string) =>
        one.trim() !== "" && ![FENCE, HEADING, QUOTE, ITEM].some((kind) => kind.test(one));
      at += 1;
      blocks.push({ tag: "p", children: inline([line, ...take(isText)].join("\n")) });
    }
  }
  return blocks;
}

/** Choice: lists inside lists are shown on one level. */
function list(lines: readonly string[]): Element {
  const items: string[][] = [];
  for (const line of lines) {
    const [, , text] = ITEM.exec(line) ?? [];
    if (text === undefined) items.at(-1)?.push(line.trim());
    else items.push([text]);
  }
  const children = items.map((item): Element => ({ tag: "li", children: inline(item.join("\n")) }));
  const [, number] = ITEM.exec(lines[0] ?? "") ?? [];
  return number === undefined ? { tag: "ul", children } : { tag: "ol", start: Number(number), children };
}

/** Code, links, bold, italic; the first one that begins earliest. */
const INLINE =
  /(`+)(?!`)([\s\S]*?[^`])\1(?!`)|\[([^\][]{1,500})\]\(([^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?)\)|(https?:\/\/[^\s<>"'`]{1,2000})|(\*\*|__)(?=\S)([\s\S]{0,2000}?\S)\6|(?<![\w*])([*_])(?=[^\s*_])([\s\S]{0,2000}?[^\s*])\8(?![\w*])|\n/g;

function inline(text: string, depth = 0): Node[] {
  if (depth >= MAX_DEPTH) return [text];
  const nodes: Node[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, , code, label, href, bare, , bold, , italic] = match;
    if (match.index > end) nodes.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) nodes.push({ tag: "code", children: [code.trim()] });
    else if (label !== undefined) nodes.push(link(href ?? "", inline(label, depth + 1), whole));
    else if (bare !== undefined) {
      const address = bare.replace(/[.,:;!?)\]*_]+$/, "");
      nodes.push(link(address, [address], bare), bare.slice(address.length));
    } else if (bold !== undefined) nodes.push({ tag: "strong", children: inline(bold, depth + 1) });
    else if (italic !== undefined) nodes.push({ tag: "em", children: inline(italic, depth + 1) });
    else nodes.push({ tag: "br", children: [] });
  }
  if (end < text.length) nodes.push(text.slice(end));
  return nodes.filter((node) => node !== "");
}

/** Only addresses of the web are links; anything else stays the text that it is. */
function link(href: string, children: readonly Node[], otherwise: string): Node {
  return /^https?:\/\//i.test(href) && URL.canParse(href) ? { tag: "a", href, children } : otherwise;
}
