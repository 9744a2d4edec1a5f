/** The host side of a worker thread. */
import type { Worker } from "node:worker_threads";

/** A running thread. */
export interface Thread {
  post(message: unknown): void;
  /** @param received called with each message */
  onMessage(received: (message: unknown) => void): void;
  /** @param ended called once, with the reason as a message */
  onEnd(ended: (reason: string) => void): void;
  /** Terminates it at once. Safe to call twice. */
  end(): Promise<void>;
}

/** @param reasonOf message for the error that ended it */
export function threadOf(worker: Worker, reasonOf: (error: Error & { readonly code?: string }) => string): Thread {
  let failure: string | undefined;
  worker.on("error", (error) => (failure ??= reasonOf(error as Error))); // the thread may have thrown any value
  worker.on("messageerror", () => void worker.terminate()); // the lost message may be a result that a caller awaits
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    post: (message) => worker.postMessage(message),
    onMessage: (received) => void worker.on("message", received),
    onEnd: (ended) => void worker.once("exit", (code) => ended(failure ?? `it ended its thread (exit code ${code})`)),
    end: async () => void (await worker.terminate()),
  };
}
