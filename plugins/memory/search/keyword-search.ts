/** Keyword search: chunks that contain words of the query, with their scores. */
import { nameOf, type TextRows } from "../index/text-rows.ts";
import { wordsOf } from "../index/tokeniser.ts";
import { type Form, keywordScore, type Wanted } from "./keyword-score.ts";
import { afterPrefix, anyOf, formsOf, MIN_PREFIX_CHARS, MIN_SLIP_CHARS, slipsOf, SURE_CHARS } from "./spelling.ts";

/** Choice: distinct query words that count. */
const MAX_TERMS = 32;
/** Choice: indexed words read for one query word. */
const MAX_STARTING = 64;
const MAX_NEAR = 5_000;
/** Choice: chunks that are scored: all of a small memory, the best ones by FTS5's `bm25()` of a large one. */
export const MIN_SCORED = 200;

export interface WordHits {
  /** 0..1 by chunk; chunks without any of the words are absent. */
  readonly scores: ReadonlyMap<number, number>;
  /** Indexed words that match the query. */
  readonly words: readonly string[];
}

export function findByWords(rows: TextRows, agent: number, query: string, limit: number): WordHits {
  const terms = [...new Set(wordsOf(query))].slice(0, MAX_TERMS);
  const wanted: Wanted = terms.map((term) => formsIn(rows, agent, term)).filter((forms) => forms.length > 0);
  const words = [...new Set(wanted.flatMap((forms) => forms.map(({ word }) => word)))];
  if (words.length === 0) return { scores: new Map(), words };
  const corpus = rows.corpus(agent);
  const ids = rows.matching(agent, anyOf(words), Math.max(MIN_SCORED, limit));
  const scores = new Map<number, number>();
  for (const { id, text, heading, path } of rows.chunks(agent, ids)) {
    const chunk = { text: wordsOf(text), heading: wordsOf(heading), name: wordsOf(nameOf(path)) };
    scores.set(id, keywordScore(wanted, corpus, chunk));
  }
  return { scores, words };
}

function formsIn(rows: TextRows, agent: number, word: string): Form[] {
  const exact = rows.word(agent, word);
  const after = afterPrefix(word);
  const longer =
    word.length < MIN_PREFIX_CHARS || after === undefined ? [] : rows.wordsBetween(agent, word, after, MAX_STARTING);
  const others = longer.filter((known) => known.word !== word);
  const forms = formsOf(word, exact ? [exact, ...others] : others);
  if (forms.length > 0 || word.length < MIN_SLIP_CHARS) return forms;
  const sure = Array.from(word).slice(0, SURE_CHARS).join("");
  const beyond = afterPrefix(sure);
  return beyond === undefined ? [] : slipsOf(word, rows.wordsBetween(agent, sure, beyond, MAX_NEAR));
}
