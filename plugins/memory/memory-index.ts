/** What is asked of an index, and what it answers: the words between the gateway and the thread that keeps it. */

/** Where texts are sent to learn what they mean. */
export interface Endpoint {
  /** Names server and model: what one said is no use to another. Holds no secret. */
  readonly key: string;
  /** Of `POST`. */
  readonly url: string;
  readonly model: string;
  /** The key among them. */
  readonly headers: Readonly<Record<string, string>>;
}

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

/** The memory of one agent: where it is and how it is kept. */
export interface Place {
  readonly agentId: string;
  readonly workspace: string;
  /** Absolute. */
  readonly extraPaths: readonly string[];
  /** Estimated tokens of a chunk and of what it shares with the one before. */
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  /** Whether sqlite-vec may compare vectors. */
  readonly useExtension: boolean;
  /** Texts whose vectors are kept beside those of the index. 0: none. */
  readonly maxCached: number;
  /** `undefined`: only words are searched. */
  readonly endpoint?: Endpoint;
}

export interface MemoryQuery {
  readonly text: string;
  readonly maxResults: number;
  /** 0..1; weaker hits are left out. */
  readonly minScore: number;
  readonly hybrid: HybridSettings;
  /** Look for changed files first. An index that never looked does it in any case. */
  readonly refresh: boolean;
}

/** A place that fits. */
export interface MemoryHit {
  /** Below the workspace, e.g. `memory/2026-01-02.md`; absolute for one of `extraPaths`. */
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

/** By words, by words and meaning, by meaning. */
export type SearchMode = "keyword" | "hybrid" | "vector";

export interface MemoryAnswer {
  /** Best first. */
  readonly hits: readonly MemoryHit[];
  /** Files that were searched. */
  readonly files: number;
  readonly leftOut: readonly LeftOut[];
  readonly mode: SearchMode;
  /** Why meaning was searched in part or not at all, where an endpoint is set up. */
  readonly meaning?: string;
  /** Chunks that wait for their vector; absent without an endpoint. */
  readonly pending?: number;
}

/** What bringing an index up to date came to. */
export interface SyncReport {
  readonly files: number;
  readonly chunks: number;
  /** Files read anew, and files that are gone. */
  readonly changed: number;
  readonly removed: number;
  /** Chunks the endpoint was asked about. */
  readonly embedded: number;
  /** Chunks that wait; absent without an endpoint. */
  readonly pending?: number;
  readonly leftOut: readonly LeftOut[];
  /** Why they wait. */
  readonly error?: string;
  /** Absolute paths of the directories that tell of changes. */
  readonly directories: readonly string[];
}

/** Figures of one agent's index. */
export interface Figures {
  readonly files: number;
  readonly chunks: number;
  readonly vectors: number;
  readonly pending?: number;
  /** Of the file with all indexes. */
  readonly indexBytes: number;
  /** epoch ms; absent: never. */
  readonly lastIndexedAt?: number;
}
