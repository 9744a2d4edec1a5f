/** What the gateway and the thread with the indexes say to each other. Pure: types. */
import type { Endpoint } from "../embedding/endpoint.ts";
import type { LeftOut } from "../files/memory-files.ts";
import type { AgentMemory } from "../index/agent-memory.ts";
import type { MemoryHit, MemoryQuery, SearchMode } from "../search/ranking.ts";

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

/** Questions, and what is answered. */
export interface Questions {
  readonly search: { readonly asked: { memory: AgentMemory; query: MemoryQuery }; readonly answer: MemoryAnswer };
  readonly sync: { readonly asked: { memory: AgentMemory; force: boolean }; readonly answer: SyncReport };
  readonly figures: { readonly asked: { memory: AgentMemory }; readonly answer: Figures | undefined };
  readonly probe: { readonly asked: { endpoint: Endpoint }; readonly answer: string | undefined };
  readonly keep: { readonly asked: { agentIds: readonly string[] }; readonly answer: void };
}

export type Kind = keyof Questions;

/** To the thread. */
export type Instruction =
  | { [K in Kind]: { readonly kind: K; readonly id: number } & Questions[K]["asked"] }[Kind]
  /** Nobody waits for this answer any longer. */
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "close" };

/** From the thread. */
export type Report =
  | { readonly kind: "answer"; readonly id: number; readonly value: Questions[Kind]["answer"] }
  /** `isKnown`: the message is for people; else it is a mistake of ours. */
  | { readonly kind: "failure"; readonly id: number; readonly message: string; readonly isKnown: boolean }
  /** The file has to be made anew, by another thread. */
  | { readonly kind: "damaged"; readonly id: number; readonly message: string }
  /** For the log. */
  | { readonly kind: "note"; readonly message: string };

/** What a thread begins with. */
export interface ThreadData {
  readonly file: string;
  /** What stands there is removed first. */
  readonly isFresh: boolean;
}
