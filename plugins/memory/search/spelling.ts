/** Which words of an index stand for one of a query. Pure. */
import type { KnownWord } from "../index/text-rows.ts";
import type { Form } from "./keyword-score.ts";

/** Choice: a shorter word is not taken for the beginning of others. */
export const MIN_PREFIX_CHARS = 4;
/** Choice: a slip in a shorter word makes another word. */
export const MIN_SLIP_CHARS = 6;
/** Choice: letters at its beginning that must be right. */
export const SURE_CHARS = 2;

const PREFIX_WEIGHT = 0.5;
const SLIP_WEIGHT = 0.3;
/** Choice: forms of one word that count, the most similar ones. */
const MAX_FORMS = 16;

/** The word itself and longer ones that begin with it. @param starting words of the index that begin with it */
export function formsOf(word: string, starting: readonly KnownWord[]): Form[] {
  const forms = starting.flatMap(({ word: found, chunks }) => {
    if (found === word) return [{ word, weight: 1, chunks }];
    if (word.length < MIN_PREFIX_CHARS || !found.startsWith(word)) return [];
    const weight = (PREFIX_WEIGHT * word.length) / (word.length + 0.3 * (found.length - word.length));
    return [{ word: found, weight, chunks }];
  });
  return forms.toSorted((one, other) => other.weight - one.weight).slice(0, MAX_FORMS);
}

/** For a word that is written nowhere: those with a slip in every five letters, two at most. @param near words with the same first letters */
export function slipsOf(word: string, near: readonly KnownWord[]): Form[] {
  if (word.length < MIN_SLIP_CHARS) return [];
  const limit = Math.min(2, Math.floor(word.length / 5));
  const forms = near.flatMap(({ word: found, chunks }) => {
    const slips = distance(word, found, limit);
    if (slips === 0 || slips > limit) return [];
    return [{ word: found, weight: (SLIP_WEIGHT * word.length) / (word.length + slips), chunks }];
  });
  return forms.toSorted((one, other) => other.weight - one.weight).slice(0, MAX_FORMS);
}

/** Letters to change, add, leave out or swap with the next; some number above `limit` where it is more. */
export function distance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) > limit) return limit + 1;
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const here = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = one[row - 1] === other[at - 1];
      let least = Math.min((above[at] ?? 0) + 1, (here[at - 1] ?? 0) + 1, (above[at - 1] ?? 0) + (same ? 0 : 1));
      const swapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      if (swapped) least = Math.min(least, (before[at - 2] ?? 0) + 1);
      here.push(least);
    }
    if (Math.min(...here) > limit) return limit + 1;
    before = above;
    above = here;
  }
  return above[other.length] ?? limit + 1;
}

/** FTS5's query for chunks with any of the words; nothing in a word is taken for an operator. */
export function anyOf(words: readonly string[]): string {
  return words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
}

/** The first text that no longer begins with `prefix`, in the order of UTF-8; `undefined`: there is none. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last + 1 >= 0xd800 && last + 1 <= 0xdfff ? 0xe000 : last + 1;
    if (next <= 0x10ffff) return String.fromCodePoint(...points, next);
  }
  return undefined;
}
