/** Ends the process that reads a PDF from within, also where its one thread never comes back. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Bytes of the whole process: the runtime's own limit counts neither buffers nor pictures. Choice: ten times what it has to begin with. */
const MAX_BYTES = 768 * 1024 * 1024;
/** Milliseconds; who started it has given up long before, unless it is gone itself. */
const MAX_AGE = 120_000;
const LOOK_MS = 25;

const PROGRAM = `
  const { workerData: { maxBytes, maxAge } } = require("node:worker_threads");
  const isOver = () => process.memoryUsage.rss() > maxBytes || performance.now() > maxAge;
  setInterval(() => isOver() && process.kill(process.pid, "SIGKILL"), ${LOOK_MS});
`;

/** Resolves when it watches. */
export async function startWatchdog(limits = { maxBytes: MAX_BYTES, maxAge: MAX_AGE }): Promise<void> {
  const thread = new Worker(PROGRAM, { eval: true, workerData: limits });
  await once(thread, "online");
  thread.unref();
}
