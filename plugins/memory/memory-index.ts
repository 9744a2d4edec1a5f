/** What the tools search with. `word-index.ts` keeps one in memory; one on disk, or of vectors, would take its place. */

export interface MemoryQuery {
  readonly text: string;
  readonly maxResults: number;
  /** 0..1; weaker hits are left out. */
  readonly minScore: number;
}

/** A place that fits. */
export interface MemoryHit {
  /** Below the workspace, e.g. `memory/2026-01-02.md`. */
  readonly path: string;
  /** Counted from 1, both belong to it. */
  readonly startLine: number;
  readonly endLine: number;
  /** 0..1, higher is better. Says how hits of one search compare, and little else. */
  readonly score: number;
  /** Of these lines, what fits best. */
  readonly snippet: string;
}

/** A file that is not searched. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface MemoryAnswer {
  /** Best first. */
  readonly hits: readonly MemoryHit[];
  /** Files that were searched. */
  readonly files: number;
  readonly leftOut: readonly LeftOut[];
}

/** The memory of one agent. */
export interface MemoryIndex {
  /** Searches the files as they are now. @throws the signal's reason */
  search(query: MemoryQuery, signal: AbortSignal): Promise<MemoryAnswer>;
}
