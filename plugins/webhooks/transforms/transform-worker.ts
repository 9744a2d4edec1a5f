/** Entry point of the threads that check transforms or serve their calls. Bundled on its own. */
import { parentPort, workerData } from "node:worker_threads";
import { check } from "./check-task.ts";
import type { Timing } from "./invoke.ts";
import type { Task } from "./messages.ts";
import { serve } from "./serve-task.ts";

const port = parentPort;
if (port === null) throw new Error("transform-worker.ts runs as a worker thread only");
const task = workerData as Task; // set by thread.ts
const clock: Timing = {
  elapsed: () => performance.now(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
await (task.kind === "check" ? check(task, port, clock) : serve(task, port, clock));
