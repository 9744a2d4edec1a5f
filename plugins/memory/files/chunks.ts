/** Cuts a Markdown text into searchable chunks: one per section, long sections at paragraphs. Pure. */

import { createHash } from "node:crypto";

/** The part of a chunk that is embedded. */
export interface ChunkText {
  readonly text: string;
  /** The headings above it, outermost first: `Projects > Alpha`. */
  readonly heading: string;
}

/** A run of lines. */
export interface Chunk extends ChunkText {
  /** Counted from 1. */
  readonly startLine: number;
  readonly endLine: number;
}

/** Sizes in estimated tokens, see `tokensOf`. */
export interface Chunking {
  /** Of a chunk. */
  readonly tokens: number;
  /** Repeated from the end of the previous chunk of the same section. */
  readonly overlap: number;
}

const MAX_HEADING_CHARS = 200;
const NEW_LINE = /\r\n|\n|\r/;

/** The lines of a text, as line numbers count them. */
export const linesOf = (text: string): string[] => text.split(NEW_LINE);

/** Estimated model tokens: 4 ASCII characters, or 1.5 others, are one token. */
export function tokensOf(text: string): number {
  let others = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) others += 1;
  return Math.ceil((text.length - others) / 4 + others / 1.5);
}

interface Section {
  readonly heading: string;
  /** Index of its first line, and of the one after its last. */
  readonly from: number;
  readonly to: number;
}

export function chunksOf(text: string, chunking: Chunking): Chunk[] {
  const lines = linesOf(text);
  return sectionsOf(lines).flatMap((section) => pieces(lines, section, chunking));
}

/** One section per heading; a `#` inside a fenced block is not a heading. */
function sectionsOf(lines: readonly string[]): Section[] {
  const sections: Section[] = [];
  const open: { readonly level: number; readonly title: string }[] = [];
  let fence: string | undefined;
  let from = 0;
  const end = (to: number) => {
    const heading = open.map(({ title }) => title).join(" > ");
    if (to > from) sections.push({ heading: heading.slice(0, MAX_HEADING_CHARS), from, to });
    from = to;
  };
  for (const [index, line] of lines.entries()) {
    const marker = /^ {0,3}(```|~~~)/.exec(line)?.[1];
    if (marker !== undefined && (fence === undefined || fence === marker))
      fence = fence === undefined ? marker : undefined;
    const level = fence === undefined ? (/^ {0,3}(#{1,6})[ \t]/.exec(line)?.[1]?.length ?? 0) : 0;
    if (level === 0) continue;
    end(index);
    while ((open.at(-1)?.level ?? 0) >= level) open.pop();
    open.push({ level, title: line.trim().slice(level).trim() });
  }
  end(lines.length);
  return sections;
}

/** A section as chunks of at most `tokens`. */
function pieces(lines: readonly string[], { heading, from, to }: Section, { tokens, overlap }: Chunking): Chunk[] {
  const chunks: Chunk[] = [];
  const cost = (index: number) => tokensOf(lines[index] ?? "") + 1;
  const add = (start: number, end: number) => {
    const chunk = trimmed(lines, start, end, heading);
    if (chunk) chunks.push(chunk);
  };
  for (let start = from; start < to;) {
    const end = fitting(lines, { start, to, most: tokens }, cost);
    if (end === start) {
      for (const part of slices(lines[start] ?? "", tokens)) {
        chunks.push({ startLine: start + 1, endLine: start + 1, text: part, heading });
      }
      start += 1;
      continue;
    }
    add(start, end);
    if (end >= to) break;
    start = withOverlap(start, end, { tokens, overlap }, cost);
  }
  return chunks;
}

/** Index after the last line that fits, or after the last paragraph that fits where that is at least half of `most`. */
function fitting(
  lines: readonly string[],
  { start, to, most }: { readonly start: number; readonly to: number; readonly most: number },
  cost: (index: number) => number,
): number {
  let tokens = 0;
  let paragraph = start;
  for (let index = start; index < to; index += 1) {
    tokens += cost(index);
    if (tokens > most) return paragraph > start ? paragraph : index;
    if (lines[index]?.trim() === "" && tokens >= most / 2) paragraph = index + 1;
  }
  return to;
}

/** Start of the next chunk: some lines back, unless they leave no room for the next line. */
function withOverlap(start: number, end: number, chunking: Chunking, cost: (index: number) => number): number {
  let tokens = 0;
  let back = end;
  while (back - 1 > start && tokens + cost(back - 1) <= chunking.overlap) {
    back -= 1;
    tokens += cost(back);
  }
  return tokens + cost(end) <= chunking.tokens ? back : end;
}

/** A chunk without blank lines at both ends; `undefined` for blank lines only. */
function trimmed(lines: readonly string[], start: number, end: number, heading: string): Chunk | undefined {
  let [first, last] = [start, end - 1];
  while (first <= last && lines[first]?.trim() === "") first += 1;
  while (last >= first && lines[last]?.trim() === "") last -= 1;
  if (first > last) return undefined;
  return { startLine: first + 1, endLine: last + 1, text: lines.slice(first, last + 1).join("\n"), heading };
}

/** Cuts a line that is too long for one chunk. */
function slices(line: string, tokens: number): string[] {
  const length = tokensOf(line) > line.length / 2 ? tokens : tokens * 4;
  const parts: string[] = [];
  for (let at = 0; at < line.length; at += length) parts.push(line.slice(at, at + length));
  return parts.filter((part) => part.trim() !== "");
}

/** The text sent for a chunk: its headings first, because a part of a section alone does not name its subject. */
export function embeddingText({ heading, text }: ChunkText): string {
  return heading === "" ? text : `${heading}\n${text}`;
}

/** Equal for equal embedding texts. */
export function digestOf(chunk: ChunkText): string {
  return createHash("sha256").update(embeddingText(chunk)).digest("base64url");
}
