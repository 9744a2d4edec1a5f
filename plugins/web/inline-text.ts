/** Text of inline elements of a page. Pure. */
import { isHidden, nameOf, type PageNode, type Style } from "./page-node.ts";

/** Maximum nesting depth from the top of the page; of deeper elements, only the plain text is used. */
const MAX_DEPTH = 150;

export function inlineText(node: PageNode, style: Style, depth: number): string {
  const name = nameOf(node);
  if (isHidden(node, name)) return "";
  if (name === undefined || depth > MAX_DEPTH) return (node.textContent ?? "").replace(/\s+/g, " ");
  if (name === "br") return "\n";
  if (name === "img") return imageText(node, style);
  const text = Array.from(node.childNodes, (child) => inlineText(child, style, depth + 1)).join(
    isApart(node) ? " " : "",
  );
  return style.markdown ? marked(node, name, text, style) : text;
}

/** Whether an inline element contains blocks, e.g. a link around a heading: blanks separate the texts of the blocks. */
export function isApart(node: PageNode): boolean {
  for (const child of node.childNodes)
    if (/^(?:article|div|h[1-6]|li|ol|p|pre|section|table|ul)$/.test(nameOf(child) ?? "")) return true;
  return false;
}

function marked(node: PageNode, name: string, text: string, style: Style): string {
  const words = text.trim();
  if (words === "") return text;
  const around = (mark: string) => text.replace(words, () => `${mark}${words}${mark}`);
  if (name === "a") return linkText(node, words, text, style);
  if (name === "strong" || name === "b") return around("**");
  if (name === "em" || name === "i") return around("*");
  if (["code", "kbd", "samp", "tt"].includes(name) && !words.includes("`")) return around("`");
  return text;
}

function linkText(node: PageNode, words: string, text: string, { base }: Style): string {
  const href = node.getAttribute?.("href")?.trim() ?? "";
  const address = href.startsWith("#") ? undefined : addressOf(href, base);
  return address === undefined ? text : text.replace(words, () => `[${words.replace(/\s+/g, " ")}](${address})`);
}

function imageText(node: PageNode, { markdown, base }: Style): string {
  const words = (node.getAttribute?.("alt") ?? "").replace(/\s+/g, " ").trim();
  const address = addressOf(node.getAttribute?.("src") ?? "", base);
  if (!markdown || words === "" || address === undefined) return words;
  return `![${words}](${address})`;
}

/** Absolute http(s) or mailto URL, with parentheses escaped; `undefined` for anything else. */
function addressOf(text: string, base: string): string | undefined {
  if (text === "" || text.length > 2_000 || !URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return undefined;
  return url.href.replaceAll("(", "%28").replaceAll(")", "%29");
}
