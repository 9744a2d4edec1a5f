/** The event loop of the gateway's main thread, for a plugin that watches it. */
import { defineService } from "../service.ts";

/** A finished block of the event loop. */
export interface EventLoopBlock {
  /** Milliseconds. */
  readonly ms: number;
  /** Stack of the running code after one second, innermost call first; empty: unknown. */
  readonly stack: readonly string[];
}

/**
 * Attributes code that runs in the gateway's main thread to plugins. Every start and every reload of a plugin gets a
 * number of its own, never reused in this process; 0: no code of a plugin.
 */
export interface EventLoopOwners {
  /** One `Int32`: the owner of the code that runs now, up to its first `await`. Other threads may read it. */
  readonly running: SharedArrayBuffer;
  /** False if the log level omits errors. */
  readonly logsErrors: boolean;
  /** Owner of the async context of this call. */
  current(): number;
  /**
   * Calls `listen` for each current owner and each change; `undefined`: the plugin was stopped or reloaded. @returns a
   * function that ends the calls of `listen`
   */
  follow(listen: (owner: number, plugin: string | undefined) => void): () => void;
  /**
   * Counts a block in the statistics of its plugin and records it as an error of the plugin; a block by code of no
   * plugin is logged.
   */
  attribute(owner: number, block: EventLoopBlock): void;
}

/** Token of the service. */
export const EventLoopOwners = defineService<EventLoopOwners>()("gateway.event-loop", "1.0.0", {
  summary: "Attributes running code to plugins. Provided by the host; used by the plugin `watchdog`.",
});
