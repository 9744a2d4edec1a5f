/** How well a chunk fits the words of a query: BM25 over its text, its headings and its file's name. Pure. */

/** A word that stands for one of the query: itself, one that begins with it, or one that is spelled nearly so. */
export interface Form {
  readonly word: string;
  /** 0..1; 1: the word itself. */
  readonly weight: number;
  /** Chunks that have it. */
  readonly chunks: number;
}

/** What is looked for: the forms of each word of the query. */
export type Wanted = readonly (readonly Form[])[];

/** What is searched. */
export interface Corpus {
  readonly chunks: number;
  /** Words of a chunk. */
  readonly meanWords: number;
}

/** Words of a chunk, as `wordsOf` makes them. */
export interface ChunkWords {
  readonly text: readonly string[];
  readonly heading: readonly string[];
  /** Of the file. */
  readonly name: readonly string[];
}

/** The usual values: how soon repetition stops to count, and how much length does. */
const SATURATION = 1.2;
const LENGTH = 0.7;
/** Choice: what stands in a heading says more. */
const BOOST = { text: 1, heading: 2, name: 1 };
/** Choice: the sum of weights that counts as half of a perfect fit. */
const HALF_SCORE = 8;

/** @returns 0..1; 0: none of the words */
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

/** Grows with the count, and less with each. */
function saturated(count: number | undefined, stretch: number): number {
  return count === undefined ? 0 : (count * (SATURATION + 1)) / (count + stretch);
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
