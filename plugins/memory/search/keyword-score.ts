/**
 * BM25 score of a chunk over its text, headings and file name. Pure.
 *
 * FTS5's `bm25()` only preselects chunks: it scores a word in half of all chunks as 0, which is common in a small memory,
 * and it cannot give prefixes and misspellings a lower weight.
 */

/** An indexed word that matches a query word: equal, longer, or with a small misspelling. */
export interface Form {
  readonly word: string;
  /** 0..1; 1: equal. */
  readonly weight: number;
  /** Number of chunks that contain it. */
  readonly chunks: number;
}

/** The forms of each query word. */
export type Wanted = readonly (readonly Form[])[];

/** Figures of all chunks of an agent. */
export interface Corpus {
  readonly chunks: number;
  /** Mean number of words per chunk. */
  readonly meanWords: number;
}

/** Words of a chunk, by `wordsOf`. */
export interface ChunkWords {
  readonly text: readonly string[];
  readonly heading: readonly string[];
  /** Of the file name. */
  readonly name: readonly string[];
}

/** The usual BM25 parameters k1 and b. */
const SATURATION = 1.2;
const LENGTH = 0.7;
/** Choice: a match in a heading counts double. */
const BOOST = { text: 1, heading: 2, name: 1 };
/** Choice: the BM25 sum that maps to a score of 0.5. */
const HALF_SCORE = 8;

/** @returns 0..1; 0: no match */
export function keywordScore(wanted: Wanted, { chunks, meanWords }: Corpus, words: ChunkWords): number {
  const counts = { text: countsOf(words.text), heading: countsOf(words.heading), name: countsOf(words.name) };
  const stretch = SATURATION * (1 - LENGTH + (LENGTH * words.text.length) / Math.max(1, meanWords));
  let sum = 0;
  for (const forms of wanted) {
    let best = 0;
    for (const { word, weight, chunks: having } of forms) {
      const rarity = Math.log(1 + (chunks - having + 0.5) / (having + 0.5));
      const fit =
        BOOST.text * saturated(counts.text.get(word), stretch) +
        BOOST.heading * saturated(counts.heading.get(word), SATURATION) +
        BOOST.name * saturated(counts.name.get(word), SATURATION);
      best = Math.max(best, weight * Math.max(0, rarity) * fit);
    }
    sum += best;
  }
  return sum / (sum + HALF_SCORE);
}

/** Term frequency with saturation. */
function saturated(count: number | undefined, stretch: number): number {
  return count === undefined ? 0 : (count * (SATURATION + 1)) / (count + stretch);
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
