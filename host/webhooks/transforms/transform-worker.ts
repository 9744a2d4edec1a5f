/** Entry of the threads that check transforms or answer their calls. Bundled on its own. */
import { parentPort, workerData } from "node:worker_threads";
import { check } from "./check-task.ts";
import type { Task } from "./messages.ts";
import { serve } from "./serve-task.ts";

const port = parentPort;
if (port === null) throw new Error("transform-worker.ts runs as a worker thread only");
const task = workerData as Task; // from thread.ts
await (task.kind === "check" ? check(task, port) : serve(task, port));
