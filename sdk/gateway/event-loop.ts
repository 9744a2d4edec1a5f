/** The event loop of the gateway's own thread, for a plugin that watches it. */
import { defineService } from "../service.ts";

/** A block of the event loop that is over. */
export interface EventLoopBlock {
  /** Milliseconds */
  readonly ms: number;
  /** Where the code stood after a second, innermost call first; empty: unknown. */
  readonly stack: readonly string[];
}

/**
 * Whose code runs in the gateway's own thread, for a plugin that watches that thread. Every generation of a plugin has a number of its
 * own, never used again in this process; 0 stands for code of no plugin.
 */
export interface EventLoopOwners {
  /** Holds one `Int32`: the owner of the code that runs now, up to its first `await`. Other threads may read it. */
  readonly running: SharedArrayBuffer;
  /** False while the log leaves errors out. */
  readonly logsErrors: boolean;
  /** Owner of the async context this is called in. */
  current(): number;
  /** Calls `listen` with each owner there is now, and with each change: `undefined` when a generation has ended. @returns stops it */
  follow(listen: (owner: number, plugin: string | undefined) => void): () => void;
  /** Counts a block in the statistics of its plugin and charges the plugin with it; a block by code of no plugin goes to the log. */
  attribute(owner: number, block: EventLoopBlock): void;
}

/** Owners of running code. Provided by the host. */
export const EventLoopOwners = defineService<EventLoopOwners>()("gateway.event-loop", "1.0.0");
