/** Ranks chunks by keywords and vectors, and turns the best into hits. */
import type { DeepReadonly, Static } from "@svc/sdk";
import type { MemoryPlace } from "@svc/sdk/memory";
import type { ChunkRow, TextRows } from "../index/text-rows.ts";
import { wordsOf } from "../index/tokeniser.ts";
import type { Near, VectorRows } from "../index/vector-rows.ts";
import { aged, type Candidate, type HybridSettings, varied, weighed } from "./hybrid.ts";
import { findByWords, type WordHits } from "./keyword-search.ts";
import { snippetOf } from "./snippet.ts";

export interface MemoryQuery {
  readonly text: string;
  readonly maxResults: number;
  /** 0..1; hits with a lower score are dropped. */
  readonly minScore: number;
  readonly hybrid: HybridSettings;
  /** Check for changed files first. A new index always does. */
  readonly refresh: boolean;
}

/** A chunk that matches. */
export type MemoryHit = DeepReadonly<Static<typeof MemoryPlace>>;

/** By keywords, by both, or by vectors only. */
export type SearchMode = "keyword" | "hybrid" | "vector";

export interface Sources {
  readonly text: TextRows;
  readonly vectors: VectorRows;
  readonly agent: number;
  readonly useExtension: boolean;
  /** epoch ms */
  readonly now: number;
}

interface ChunkCandidate extends Candidate {
  readonly chunk: ChunkRow;
}

/** Chunks ranked in one search. */
const MAX_CANDIDATES = 1_000;

/** @param vector of the query; `undefined`: keyword search only */
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
  // Without vectors the keyword score is the whole score.
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
): ChunkCandidate[] {
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
