/** Converts a page to markdown or plain text. Pure; independent of the parser. */
import { inlineText, isApart } from "./inline-text.ts";
import { isHidden, nameOf, type PageNode, type Style } from "./page-node.ts";

/** Inline elements; all others start a new line. */
const INLINE = new Set(
  "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span strong sub sup time tt u var wbr".split(
    " ",
  ),
);

/** Maximum nesting depth of blocks; of deeper blocks, only the plain text is used. */
const MAX_DEPTH = 100;

/** Paragraphs, headings, lists, tables and code below `root`. */
export function toText(root: PageNode, style: Style): string {
  return blocksOf(root, style, 0).join("\n\n");
}

function blocksOf(parent: PageNode, style: Style, depth: number): string[] {
  if (depth > MAX_DEPTH) return paragraph(parent.textContent ?? "");
  const blocks: string[] = [];
  let line = "";
  const endLine = () => {
    blocks.push(...paragraph(line));
    line = "";
  };
  for (const node of parent.childNodes) {
    const name = nameOf(node);
    if (isHidden(node, name)) continue;
    if (name === undefined || (INLINE.has(name) && (name === "a" || !isApart(node)))) {
      line += inlineText(node, style, depth);
      continue;
    }
    endLine();
    blocks.push(...blockOf(node, name, style, depth + 1));
  }
  endLine();
  return blocks;
}

function blockOf(node: PageNode, name: string, style: Style, depth: number): string[] {
  if (/^h[1-6]$/.test(name)) {
    const sign = style.markdown ? `${"#".repeat(Number(name[1]))} ` : "";
    return paragraph(contentOf(node, style, depth)).map((text) => sign + text.replace(/\n/g, " "));
  }
  if (name === "ul" || name === "ol" || name === "menu") return listOf(node, name === "ol", style, depth);
  if (name === "pre") return codeOf(node, style);
  if (name === "blockquote") {
    const text = blocksOf(node, style, depth).join("\n\n");
    return text === "" ? [] : [indent(text, "> ", "> ")];
  }
  if (name === "table") return tableOf(node, style, depth);
  if (name === "hr") return style.markdown ? ["---"] : [];
  return blocksOf(node, style, depth);
}

/** Collapses white space; empty if no text is left. */
function paragraph(line: string): string[] {
  const text = line
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .trim();
  return text === "" ? [] : [text];
}

function contentOf(node: PageNode, style: Style, depth: number): string {
  return blocksOf(node, style, depth).join(" ");
}

function listOf(list: PageNode, numbered: boolean, style: Style, depth: number): string[] {
  const items: string[] = [];
  for (const item of list.childNodes) {
    const name = nameOf(item);
    if (name === undefined || isHidden(item, name)) continue;
    const text = blocksOf(item, style, depth + 1).join("\n");
    const mark = numbered ? `${items.length + 1}. ` : "- ";
    if (text !== "") items.push(indent(text, mark, " ".repeat(mark.length)));
  }
  return items.length === 0 ? [] : [items.join("\n")];
}

function indent(text: string, first: string, others: string): string {
  return first + text.replaceAll("\n", `\n${others}`);
}

/** A code block whose fence is longer than any fence in the code. */
function codeOf(node: PageNode, { markdown }: Style): string[] {
  const code = (node.textContent ?? "").replace(/^\n+|\s+$/g, "");
  if (code.trim() === "") return [];
  if (!markdown) return [code];
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).slice(0, 1_000).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}\n${code}\n${fence}`];
}

/** One line per row; a layout table is replaced by its content. */
function tableOf(table: PageNode, style: Style, depth: number): string[] {
  const rows: string[][] = [];
  const blocks: string[] = [];
  const collect = (parent: PageNode, below: number): void => {
    for (const node of parent.childNodes) {
      const name = nameOf(node);
      if (name === undefined || isHidden(node, name)) continue;
      if (name === "tr") rows.push(cellsOf(node, style, below));
      else if (["thead", "tbody", "tfoot"].includes(name) && below <= MAX_DEPTH) collect(node, below + 1);
      else blocks.push(...blockOf(node, name, style, below + 1));
    }
  };
  collect(table, depth);
  const lines = rows.filter((cells) => cells.some((cell) => cell !== ""));
  const isLayout = Math.max(0, ...lines.slice(0, 1_000).map((cells) => cells.length)) < 2;
  if (isLayout) return [...blocks, ...lines.flat()];
  return [...blocks, lines.map((cells, index) => rowText(cells, index, style)).join("\n")];
}

function cellsOf(row: PageNode, style: Style, depth: number): string[] {
  const cells: string[] = [];
  for (const cell of row.childNodes) {
    const name = nameOf(cell);
    if (name === undefined || isHidden(cell, name)) continue;
    cells.push(contentOf(cell, style, depth + 1).replace(/\s*\n\s*/g, " "));
  }
  return cells;
}

function rowText(cells: readonly string[], index: number, { markdown }: Style): string {
  if (!markdown) return cells.join(" | ");
  const row = `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return index === 0 ? `${row}\n|${" --- |".repeat(cells.length)}` : row;
}
