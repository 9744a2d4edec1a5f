/** The memory of one agent. Pure: types. */
import type { Endpoint } from "../embedding/endpoint.ts";

/** The memory of one agent: where it is and how it is kept. */
export interface AgentMemory {
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
