/** Ends the process that reads a PDF from within, even if its main thread never returns. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Bytes of the whole process: the runtime's own limit counts neither buffers nor pictures. Choice: ten times its initial memory. */
const MAX_BYTES = 768 * 1024 * 1024;
/**
 * Maximum milliseconds of the process. The gateway kills the process much earlier, unless the gateway itself has ended.
 */
const MAX_AGE = 120_000;
const LOOK_MS = 25;

const PROGRAM = `
  const { workerData: { maxBytes, maxAge } } = require("node:worker_threads");
  const isOver = () => process.memoryUsage.rss() > maxBytes || performance.now() > maxAge;
  setInterval(() => isOver() && process.kill(process.pid, "SIGKILL"), ${LOOK_MS});
`;

/** Resolves when the watchdog is running. */
export async function startWatchdog(limits = { maxBytes: MAX_BYTES, maxAge: MAX_AGE }): Promise<void> {
  const thread = new Worker(PROGRAM, { eval: true, workerData: limits });
  await once(thread, "online");
  thread.unref();
}
