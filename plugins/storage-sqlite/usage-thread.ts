/** Measures the tables of a database in a worker thread. */
import { GatewayError, untilAborted } from "@svc/sdk";
import type { Space } from "@svc/kit/storage";
import { Worker } from "node:worker_threads";
import { RETRY_AFTER_MS } from "./failures.ts";

/**
 * Size of each table including its indexes, by name.
 * @param signal ends the wait; the thread ends when its query has, because terminating it inside a call of the database
 *   library would abort the whole process
 * @throws GatewayError `UNAVAILABLE` if the thread fails; the signal's reason
 */
export async function measureTables(file: string, signal: AbortSignal): Promise<ReadonlyMap<string, Space>> {
  signal.throwIfAborted();
  const url = new URL("./usage-worker.js", import.meta.url); // next to this file, both compiled and bundled
  const worker = new Worker(url, { name: "storage usage", workerData: { file }, execArgv: [] });
  const measured = new Promise<ReadonlyMap<string, Space>>((resolve, reject) => {
    const fail = (cause?: unknown) =>
      reject(
        new GatewayError("UNAVAILABLE", "the tables could not be measured; try again", {
          retryAfterMs: RETRY_AFTER_MS,
          cause,
        }),
      );
    worker.once("message", resolve);
    worker.once("error", fail);
    worker.once("exit", () => fail());
  });
  try {
    return await untilAborted(measured, signal);
  } finally {
    worker.unref();
  }
}
