/** The main thread's part of the watchdog: it beats, and hears of what is over. */
import { url as debuggerUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import { currentOwner } from "../blame.ts";
import { LOOK_MS } from "./judge.ts";
import { markMemory, markOf, ownerOf, tellMarks } from "./marks.ts";
import { type BlockOver, type NamedMark, SHARED, type WatchdogTask } from "./messages.ts";
import type { WatchdogOptions } from "./options.ts";
import { CONTEXT_MARK } from "./sight.ts";

/** @returns ends it; safe to call twice */
export function startWatching({ log, reportFile, blocked }: WatchdogOptions): () => Promise<void> {
  Object.defineProperty(globalThis, CONTEXT_MARK, { value: () => markOf(currentOwner()), configurable: true });
  const memory = new SharedArrayBuffer(SHARED.places * Int32Array.BYTES_PER_ELEMENT);
  const shared = new Int32Array(memory);
  const beat = () => {
    Atomics.store(shared, SHARED.excused, debuggerUrl() === undefined ? 0 : 1);
    Atomics.store(shared, SHARED.silent, log.isLevelEnabled("error") ? 0 : 1);
    Atomics.add(shared, SHARED.beat, 1);
  };
  beat();
  const beating = setInterval(beat, LOOK_MS).unref();

  const task: WatchdogTask = { marks: markMemory(), shared: memory, reportFile };
  const url = new URL("./watchdog-worker.js", import.meta.url); // beside this file both compiled and bundled
  const worker = new Worker(url, { name: "watchdog", workerData: task, execArgv: [], env: {} });
  const untell = tellMarks((mark, plugin) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
    worker.postMessage([mark, plugin ?? null] satisfies NamedMark);
  });
  worker.on("message", ({ mark, ms, stack }: BlockOver) => blocked({ owner: ownerOf(mark), ms, stack }));
  worker.on("error", (error) => {
    log.warn({ err: error }, "the watchdog ended; from now on nobody is named who blocks the event loop");
  });
  worker.unref();
  return async () => {
    clearInterval(beating);
    untell();
    await worker.terminate();
  };
}
