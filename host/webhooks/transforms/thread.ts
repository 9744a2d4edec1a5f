/** Starts the threads that transforms are checked and run in. */
import { type ResourceLimits, Worker } from "node:worker_threads";
import { type Thread, threadOf } from "../../thread.ts";
import type { Task } from "./messages.ts";

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
  return threadOf(worker, (error) => reasonOf(error, LIMITS[task.kind]));
};

function reasonOf(error: unknown, { maxOldGenerationSizeMb }: ResourceLimits): string {
  const { code, message } = error as { code?: unknown; message?: unknown }; // whatever was thrown there
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return `it used more than ${maxOldGenerationSizeMb} MB of memory`;
  return `it threw outside of any call: ${String(message ?? error)}`;
}
