/** Starts the threads in which transforms are checked and run. */
import { type ResourceLimits, Worker } from "node:worker_threads";
import type { Task } from "./messages.ts";

/** A running thread. */
export interface Thread {
  post(message: unknown): void;
  /** @param received called with each message */
  onMessage(received: (message: unknown) => void): void;
  /** Called once with the reason why the thread ended, for the author of a transform. */
  onEnd(ended: (reason: string) => void): void;
  /** Ends the thread, whatever it is doing. Safe to call twice. */
  end(): Promise<void>;
}

export type StartThread = (task: Task) => Thread;

/** MB, for objects only: the runtime does not count buffers. Choice: the compiler needs most of the first limit. */
const LIMITS: Readonly<Record<Task["kind"], ResourceLimits>> = {
  check: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
  serve: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 },
};

export const startThread: StartThread = (task) => {
  const quiet = task.kind === "check"; // the live version prints the same output again
  const url = new URL("./transform-worker.js", import.meta.url); // next to this file, both compiled and bundled
  const worker = new Worker(url, {
    name: `transforms-${task.kind}`,
    workerData: task,
    execArgv: [],
    resourceLimits: LIMITS[task.kind],
    stdout: quiet,
    stderr: quiet,
  });
  if (quiet) for (const stream of [worker.stdout, worker.stderr]) stream.resume();
  let failure: string | undefined;
  worker.on("error", (error) => (failure ??= reasonOf(error, LIMITS[task.kind])));
  worker.on("messageerror", () => void worker.terminate()); // an answer is lost
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    post: (message) => worker.postMessage(message),
    onMessage: (received) => void worker.on("message", received),
    onEnd: (ended) => void worker.once("exit", (code) => ended(failure ?? `it ended its thread (exit code ${code})`)),
    end: async () => void (await worker.terminate()),
  };
};

function reasonOf(error: unknown, { maxOldGenerationSizeMb }: ResourceLimits): string {
  const { code, message } = error as { code?: unknown; message?: unknown }; // any thrown value
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return `it used more than ${maxOldGenerationSizeMb} MB of memory`;
  return `it threw outside of any call: ${String(message ?? error)}`;
}
