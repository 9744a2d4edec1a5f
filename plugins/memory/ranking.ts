/** From words and meaning to the places that are given. */
import { aged, type Candidate, varied, weighed } from "./hybrid.ts";
import type { MemoryHit, MemoryQuery, SearchMode } from "./memory-index.ts";
import { snippetOf } from "./snippet.ts";
import type { ChunkRow, TextRows } from "./text-rows.ts";
import type { Near, VectorRows } from "./vector-rows.ts";
import { findByWords, type WordHits } from "./word-search.ts";
import { wordsOf } from "./words.ts";

export interface Sources {
  readonly text: TextRows;
  readonly vectors: VectorRows;
  readonly agent: number;
  readonly useExtension: boolean;
  /** epoch ms */
  readonly now: number;
}

interface Place extends Candidate {
  readonly chunk: ChunkRow;
}

/** Places looked at for one search. */
const MAX_CANDIDATES = 1_000;

/** @param vector of the query; `undefined`: only words are searched */
export function rank(
  sources: Sources,
  query: MemoryQuery,
  vector: Float32Array | undefined,
): { readonly hits: MemoryHit[]; readonly mode: SearchMode } {
  const { hybrid, maxResults, minScore } = query;
  const count = Math.min(MAX_CANDIDATES, maxResults * hybrid.candidateMultiplier);
  const mode = vector === undefined ? "keyword" : hybrid.enabled ? "hybrid" : "vector";
  const found = findByWords(sources.text, sources.agent, query.text, count);
  const near = vector ? sources.vectors.nearest(sources.agent, vector, count, sources.useExtension) : [];
  const places = placesOf(sources, mode === "vector" ? { ...found, scores: new Map() } : found, near, vector);
  // Where only words are searched, theirs is the whole score.
  let scored = weighed(places, mode === "keyword" ? { enabled: true, vectorWeight: 0, textWeight: 1 } : hybrid);
  if (hybrid.halfLifeDays !== undefined) scored = aged(scored, hybrid.halfLifeDays, sources.now);
  scored = scored.map(({ candidate, score }) => ({ candidate, score: Math.round(score * 1_000) / 1_000 }));
  scored = scored.filter(({ score }) => score >= minScore).slice(0, Math.max(count, maxResults));
  if (hybrid.mmrLambda !== undefined)
    scored = varied(scored, {
      lambda: hybrid.mmrLambda,
      count: maxResults,
      words: ({ chunk }) => new Set(wordsOf(chunk.text)),
    });
  const hits = scored.slice(0, maxResults).map(({ candidate: { chunk, path }, score }) => {
    const { startLine, endLine, text } = chunk;
    return { path, startLine, endLine, score, snippet: snippetOf(text, found.words) };
  });
  return { hits, mode };
}

function placesOf(
  { text, vectors, agent, useExtension }: Sources,
  { scores }: WordHits,
  near: readonly Near[],
  vector: Float32Array | undefined,
): Place[] {
  const similar = new Map(near.map(({ id, similarity }) => [id, similarity]));
  const others = [...scores.keys()].filter((id) => !similar.has(id));
  const further = vector ? vectors.similarities(agent, others, vector, useExtension) : new Map<number, number>();
  const chunks = text.chunks(agent, [...similar.keys(), ...others]);
  return chunks.map((chunk) => ({
    chunk,
    path: chunk.path,
    textScore: scores.get(chunk.id) ?? 0,
    similarity: similar.get(chunk.id) ?? further.get(chunk.id),
  }));
}
