/** What the gateway and the thread with the indexes say to each other. Pure: types. */
import type { Endpoint, Figures, MemoryAnswer, MemoryQuery, Place, SyncReport } from "./memory-index.ts";

/** Questions, and what is answered. */
export interface Questions {
  readonly search: { readonly asked: { place: Place; query: MemoryQuery }; readonly answer: MemoryAnswer };
  readonly sync: { readonly asked: { place: Place; force: boolean }; readonly answer: SyncReport };
  readonly figures: { readonly asked: { place: Place }; readonly answer: Figures | undefined };
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
