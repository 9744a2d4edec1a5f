/** The indexed words that match a query word: equal, by prefix, or misspelled. Pure. */
import { editDistance } from "@svc/sdk/errors";
import type { KnownWord } from "../index/text-rows.ts";
import type { Form } from "./keyword-score.ts";

/** Choice: shorter words do not match as a prefix. */
export const MIN_PREFIX_CHARS = 4;
/** Choice: shorter words must be spelled correctly. */
export const MIN_SLIP_CHARS = 6;
/** Choice: leading letters of a misspelled word that must match. */
export const SURE_CHARS = 2;

const PREFIX_WEIGHT = 0.5;
const SLIP_WEIGHT = 0.3;
/** Choice: forms per query word; the most similar ones count. */
const MAX_FORMS = 16;

/** The word itself and longer words that begin with it. @param starting indexed words that begin with it */
export function formsOf(word: string, starting: readonly KnownWord[]): Form[] {
  const forms = starting.flatMap(({ word: found, chunks }) => {
    if (found === word) return [{ word, weight: 1, chunks }];
    if (word.length < MIN_PREFIX_CHARS || !found.startsWith(word)) return [];
    const weight = (PREFIX_WEIGHT * word.length) / (word.length + 0.3 * (found.length - word.length));
    return [{ word: found, weight, chunks }];
  });
  return forms.toSorted((one, other) => other.weight - one.weight).slice(0, MAX_FORMS);
}

/** For a word that is not indexed: words with at most one error per five letters, and two in all. @param near words with the same first letters */
export function slipsOf(word: string, near: readonly KnownWord[]): Form[] {
  if (word.length < MIN_SLIP_CHARS) return [];
  const limit = Math.min(2, Math.floor(word.length / 5));
  const forms = near.flatMap(({ word: found, chunks }) => {
    const slips = editDistance(word, found, limit);
    if (slips === 0 || slips > limit) return [];
    return [{ word: found, weight: (SLIP_WEIGHT * word.length) / (word.length + slips), chunks }];
  });
  return forms.toSorted((one, other) => other.weight - one.weight).slice(0, MAX_FORMS);
}

/** FTS5 query for chunks with any of the words, quoted so that no word is an operator. */
export function anyOf(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** The first text after all texts with this prefix, in UTF-8 order; `undefined`: none. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1;
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next);
  }
  return undefined;
}
