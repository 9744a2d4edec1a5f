/** Combines keyword score and vector similarity; temporal decay; diversity (MMR). Pure. */

/** Weights of keyword and semantic search. */
export interface HybridSettings {
  readonly enabled: boolean;
  readonly vectorWeight: number;
  readonly textWeight: number;
  readonly candidateMultiplier: number;
  /** `undefined`: no diversity ranking. */
  readonly mmrLambda?: number;
  /** `undefined`: no temporal decay. */
  readonly halfLifeDays?: number;
}

/** A possible hit. */
export interface Candidate {
  readonly path: string;
  /** 0..1 */
  readonly textScore: number;
  /** Cosine with the query's vector; `undefined`: it has no vector. */
  readonly similarity: number | undefined;
}

export interface Scored<C> {
  readonly candidate: C;
  /** 0..1 */
  readonly score: number;
}

/** Choice: a chunk without any query word needs at least this cosine. */
const MIN_SIMILARITY = 0.2;

type Weights = Pick<HybridSettings, "enabled" | "vectorWeight" | "textWeight">;

/** Best first. Weights are relative; two weights of 0 count as equal. */
export function weighed<C extends Candidate>(candidates: readonly C[], given: Weights): Scored<C>[] {
  const [vector, text] = given.enabled ? [given.vectorWeight, given.textWeight] : [1, 0];
  const sum = vector + text;
  const share = sum === 0 ? 0.5 : vector / sum;
  const scored = candidates.flatMap((candidate) => {
    const { textScore, similarity = 0 } = candidate;
    if (textScore === 0 && similarity < MIN_SIMILARITY) return [];
    return [{ candidate, score: share * clamped(similarity) + (1 - share) * textScore }];
  });
  return inOrder(scored);
}

const clamped = (value: number) => Math.min(1, Math.max(0, value));

function inOrder<C>(scored: readonly Scored<C>[]): Scored<C>[] {
  return scored.toSorted((one, other) => other.score - one.score);
}

const DAY_MS = 86_400_000;

/** Halves the score of a note with a date in its name for every `halfLifeDays`; other notes do not age. @param now epoch ms */
export function aged<C extends Candidate>(
  scored: readonly Scored<C>[],
  halfLifeDays: number,
  now: number,
): Scored<C>[] {
  return inOrder(
    scored.map(({ candidate, score }) => {
      const day = dayOf(candidate.path);
      const days = day === undefined ? 0 : Math.max(0, (now - day) / DAY_MS);
      return { candidate, score: score * 0.5 ** (days / halfLifeDays) };
    }),
  );
}

/** epoch ms of the date in a file's name, e.g. `memory/2026-01-02.md`. */
export function dayOf(path: string): number | undefined {
  const [, year, month, day] = /(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)[^/]*$/.exec(path) ?? [];
  const time = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const isReal = Number.isFinite(time) && new Date(time).getUTCMonth() === Number(month) - 1;
  return isReal ? time : undefined;
}

/**
 * Maximal marginal relevance: picks the best candidate that differs most from those already picked. Scores do not change.
 * @param lambda 1: only relevance counts; 0: only difference
 * @param words of a candidate, for the comparison
 */
export function varied<C>(
  scored: readonly Scored<C>[],
  { lambda, count, words }: { lambda: number; count: number; words: (candidate: C) => ReadonlySet<string> },
): Scored<C>[] {
  const top = Math.max(...scored.map(({ score }) => score), Number.MIN_VALUE);
  const rest = scored.map((one) => ({ one, words: words(one.candidate), nearest: 0 }));
  const taken: Scored<C>[] = [];
  while (taken.length < count && rest.length > 0) {
    const values = rest.map(({ one, nearest }) => lambda * (one.score / top) - (1 - lambda) * nearest);
    const [best] = rest.splice(values.indexOf(Math.max(...values)), 1);
    if (!best) break;
    taken.push(best.one);
    for (const other of rest) other.nearest = Math.max(other.nearest, overlap(best.words, other.words));
  }
  return taken;
}

/** Jaccard similarity, 0..1. */
function overlap(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const word of one) if (other.has(word)) both += 1;
  const all = one.size + other.size - both;
  return all === 0 ? 0 : both / all;
}
