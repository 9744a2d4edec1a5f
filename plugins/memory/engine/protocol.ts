/** Messages between the gateway and the index thread. Pure: types. */
import type { DeepReadonly, Static } from "@svc/sdk";
import type { MemorySync } from "@svc/sdk/memory";
import type { Endpoint } from "../embedding/endpoint.ts";
import type { LeftOut } from "../files/memory-files.ts";
import type { AgentMemory } from "../index/agent-memory.ts";
import type { MemoryHit, MemoryQuery, SearchMode } from "../search/ranking.ts";

export interface MemoryAnswer {
  /** Best first. */
  readonly hits: readonly MemoryHit[];
  /** Number of files searched. */
  readonly files: number;
  readonly leftOut: readonly LeftOut[];
  readonly mode: SearchMode;
  /** Why semantic search was partial or skipped, when an endpoint is configured. */
  readonly meaning?: string;
  /** Chunks without a vector yet; absent without an endpoint. */
  readonly pending?: number;
}

/** Result of a sync. */
export interface SyncReport extends Omit<DeepReadonly<Static<typeof MemorySync>>, "agentId"> {
  /** Absolute paths of the directories to watch. */
  readonly directories: readonly string[];
}

/** Figures of one agent's index. */
export interface Figures {
  readonly files: number;
  readonly chunks: number;
  readonly vectors: number;
  readonly pending?: number;
  /** Size of the file with all indexes. */
  readonly indexBytes: number;
  /** epoch ms; absent: never. */
  readonly lastIndexedAt?: number;
}

/** Requests and their answers. */
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
  /** The caller no longer waits for this answer. */
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "close" };

/** From the thread. */
export type Report =
  | { readonly kind: "answer"; readonly id: number; readonly value: Questions[Kind]["answer"] }
  /** `isKnown`: the message is for people; otherwise it is a bug. */
  | { readonly kind: "failure"; readonly id: number; readonly message: string; readonly isKnown: boolean }
  /** Another thread must recreate the file. */
  | { readonly kind: "damaged"; readonly id: number; readonly message: string }
  /** For the log. */
  | { readonly kind: "note"; readonly message: string };

/** Start data of a thread. */
export interface ThreadData {
  readonly file: string;
  /** Remove an existing file first. */
  readonly isFresh: boolean;
}
