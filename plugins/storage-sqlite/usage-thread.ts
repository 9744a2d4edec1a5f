/** Measures the tables of a database in a worker thread. */
import { GatewayError } from "@svc/sdk";
import { Worker } from "node:worker_threads";
import type { Space } from "./file-space.ts";
import { RETRY_AFTER_MS } from "./failures.ts";

/**
 * Size of each table including its indexes, by name.
 * @param signal ends the thread
 * @throws GatewayError `UNAVAILABLE` if the thread ends first
 */
export async function measureTables(file: string, signal: AbortSignal): Promise<ReadonlyMap<string, Space>> {
  const url = new URL("./usage-worker.js", import.meta.url); // next to this file, both compiled and bundled
  const worker = new Worker(url, { name: "storage usage", workerData: { file }, execArgv: [] });
  const end = () => void worker.terminate();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await new Promise((resolve, reject) => {
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
  } finally {
    signal.removeEventListener("abort", end);
  }
}
