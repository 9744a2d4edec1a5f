/** Words and meaning weighed together; age; places that say the same. Pure. */

/** How words and meaning are weighed. */
export interface HybridSettings {
  readonly enabled: boolean;
  readonly vectorWeight: number;
  readonly textWeight: number;
  readonly candidateMultiplier: number;
  /** `undefined`: places that say the same stay where they are. */
  readonly mmrLambda?: number;
  /** `undefined`: age does not count. */
  readonly halfLifeDays?: number;
}

/** A place that may be given. */
export interface Candidate {
  readonly path: string;
  /** 0..1 */
  readonly textScore: number;
  /** Cosine of its vector and that of the query; `undefined`: it has none. */
  readonly similarity: number | undefined;
}

export interface Scored<C> {
  readonly candidate: C;
  /** 0..1 */
  readonly score: number;
}

/** Choice: below this likeness a place without any word of the query says something else. */
const MIN_SIMILARITY = 0.2;

type Weights = Pick<HybridSettings, "enabled" | "vectorWeight" | "textWeight">;

/** Best first. Weights count by their proportion; two of 0 are taken for equal ones. */
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

/** A note whose name has a date counts half after each `halfLifeDays`; others do not age. @param now epoch ms */
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
 * One after the other the place that fits best and differs most from those before it. Scores stay.
 * @param lambda 1: only what fits counts; 0: only what differs
 * @param words of each place, to compare them by
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

/** Words both have, of those either has: 0..1. */
function overlap(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const word of one) if (other.has(word)) both += 1;
  const all = one.size + other.size - both;
  return all === 0 ? 0 : both / all;
}
