/** The memory of one agent. Pure: types. */
import type { Endpoint } from "../embedding/endpoint.ts";

/** Location and index settings of one agent's memory. */
export interface AgentMemory {
  readonly agentId: string;
  readonly workspace: string;
  /** Absolute. */
  readonly extraPaths: readonly string[];
  /** In estimated tokens. */
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  /** Whether sqlite-vec may be used. */
  readonly useExtension: boolean;
  /** Cached vectors of former texts. 0: none. */
  readonly maxCached: number;
  /** `undefined`: keyword search only. */
  readonly endpoint?: Endpoint;
}
