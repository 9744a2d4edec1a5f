/** The main thread's part of the watchdog: increments the counter, and attributes ended blocks to their plugins. */
import { url as debuggerUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import type { Logger } from "@svc/sdk";
import type { EventLoopOwners } from "@svc/sdk/gateway";
import { LOOK_MS } from "./detector.ts";
import { type BlockOver, type NamedMark, SHARED, type WatchdogTask } from "./messages.ts";
import { CONTEXT_MARK } from "./sampler.ts";

export interface WatchingOptions {
  readonly log: Logger;
  readonly owners: EventLoopOwners;
  /** File that stores blocks; it remains if the process has to be killed. */
  readonly reportFile: string;
}

/** Starts the watchdog's thread. @returns a function that stops the thread; safe to call twice */
export function startWatching({ log, owners, reportFile }: WatchingOptions): () => Promise<void> {
  Object.defineProperty(globalThis, CONTEXT_MARK, { value: () => owners.current(), configurable: true });
  const memory = new SharedArrayBuffer(SHARED.places * Int32Array.BYTES_PER_ELEMENT);
  const shared = new Int32Array(memory);
  const beat = () => {
    Atomics.store(shared, SHARED.excused, debuggerUrl() === undefined ? 0 : 1);
    Atomics.store(shared, SHARED.silent, owners.logsErrors ? 0 : 1);
    Atomics.add(shared, SHARED.beat, 1);
  };
  beat();
  const beating = setInterval(beat, LOOK_MS).unref();

  const task: WatchdogTask = { marks: owners.running, shared: memory, reportFile };
  const url = new URL("./worker.js", import.meta.url); // next to this file, both compiled and bundled
  const worker = new Worker(url, { name: "watchdog", workerData: task, execArgv: [], env: {} });
  const unfollow = owners.follow((mark, plugin) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    worker.postMessage([mark, plugin ?? null] satisfies NamedMark);
  });
  worker.on("message", ({ mark, ms, stack }: BlockOver) => owners.attribute(mark, { ms, stack }));
  worker.on("error", (error) => {
    log.warn({ err: error }, "the watchdog stopped; code that blocks the event loop is no longer reported");
  });
  worker.unref();
  return async () => {
    clearInterval(beating);
    unfollow();
    await worker.terminate();
  };
}
