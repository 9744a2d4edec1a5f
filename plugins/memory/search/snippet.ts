/** The lines of a chunk with most matches. Pure. */
import { wordsOf } from "../index/tokeniser.ts";

/** Choice: characters, about half a chunk. */
export const MAX_SNIPPET_CHARS = 700;

/** @param terms matching words, by `wordsOf` */
export function snippetOf(text: string, terms: readonly string[]): string {
  if (text.length <= MAX_SNIPPET_CHARS) return text;
  const lines = text.split("\n");
  const wanted = new Set(terms);
  const counts = lines.map((line) => new Set(wordsOf(line).filter((word) => wanted.has(word))).size);
  const { from, to } = widen(lines, counts.indexOf(Math.max(...counts)));
  const shown = lines.slice(from, to).join("\n");
  return shown.length <= MAX_SNIPPET_CHARS ? shown : around(shown, terms);
}

/** The line and as many neighbours as fit, later ones first. */
function widen(lines: readonly string[], best: number): { readonly from: number; readonly to: number } {
  let from = best;
  let to = best + 1;
  let left = MAX_SNIPPET_CHARS - (lines[best]?.length ?? 0);
  const fits = (index: number) => (lines[index]?.length ?? Infinity) < left;
  const take = (index: number) => void (left -= (lines[index]?.length ?? 0) + 1);
  for (;;) {
    if (fits(to)) take(to++);
    else if (fits(from - 1)) take(--from);
    else return { from, to };
  }
}

/** The part of a long line around its first literal match. */
function around(line: string, terms: readonly string[]): string {
  const lower = line.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const middle = places.length > 0 ? Math.min(...places) : 0;
  const from = Math.max(0, Math.min(middle - MAX_SNIPPET_CHARS / 2, line.length - MAX_SNIPPET_CHARS));
  return line.slice(from, from + MAX_SNIPPET_CHARS);
}
