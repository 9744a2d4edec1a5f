/** Starts the threads that transforms are checked and run in. */
import { type ResourceLimits, Worker } from "node:worker_threads";
import type { Task } from "./messages.ts";

/** A thread that was started. */
export interface Thread {
  post(message: unknown): void;
  /** @param received called with each message */
  onMessage(received: (message: unknown) => void): void;
  /** Called once, with why it ended: in words for the author of a transform. */
  onEnd(ended: (reason: string) => void): void;
  /** Ends it whatever it is doing. Safe to call twice. */
  end(): Promise<void>;
}

export type StartThread = (task: Task) => Thread;

/** MB. Objects only: what lies in buffers is not counted by the runtime. Choice: the compiler needs most of the first one. */
const LIMITS: Readonly<Record<Task["kind"], ResourceLimits>> = {
  check: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
  serve: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 },
};

export const startThread: StartThread = (task) => {
  const quiet = task.kind === "check"; // what it prints is printed again when it is live
  const url = new URL("./transform-worker.js", import.meta.url); // beside this file both compiled and bundled
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
  worker.on("messageerror", () => void worker.terminate()); // an answer is lost for good
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    post: (message) => worker.postMessage(message),
    onMessage: (received) => void worker.on("message", received),
    onEnd: (ended) => void worker.once("exit", (code) => ended(failure ?? `it ended its thread (exit code ${code})`)),
    end: async () => void (await worker.terminate()),
  };
};

function reasonOf(error: unknown, { maxOldGenerationSizeMb }: ResourceLimits): string {
  const { code, message } = error as { code?: unknown; message?: unknown }; // whatever was thrown there
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return `it used more than ${maxOldGenerationSizeMb} MB of memory`;
  return `it threw outside of any call: ${String(message ?? error)}`;
}
