/** The host side of a worker thread. */
import type { Worker } from "node:worker_threads";

/** A thread that was started. */
export interface Thread {
  post(message: unknown): void;
  /** @param received called with each message */
  onMessage(received: (message: unknown) => void): void;
  /** Called once, with why it ended: in words for people. */
  onEnd(ended: (reason: string) => void): void;
  /** Ends it whatever it is doing. Safe to call twice. */
  end(): Promise<void>;
}

/** @param reasonOf words for the error that ended it */
export function threadOf(worker: Worker, reasonOf: (error: Error & { readonly code?: string }) => string): Thread {
  let failure: string | undefined;
  worker.on("error", (error) => (failure ??= reasonOf(error as Error))); // or whatever was thrown there
  worker.on("messageerror", () => void worker.terminate()); // an answer is lost for good
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    post: (message) => worker.postMessage(message),
    onMessage: (received) => void worker.on("message", received),
    onEnd: (ended) => void worker.once("exit", (code) => ended(failure ?? `it ended its thread (exit code ${code})`)),
    end: async () => void (await worker.terminate()),
  };
}
