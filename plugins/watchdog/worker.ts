/** The watchdog's thread: samples the main thread, and names the plugin that blocks it. Imports as little as possible. */
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { type BlockRecord, keepBlock, logBlock } from "./block-report.ts";
import { BlockDetector, type Finding, LOOK_MS } from "./detector.ts";
import { type BlockOver, type NamedMark, SHARED, type WatchdogTask } from "./messages.ts";
import { lookAtMainThread, type PendingSight } from "./sampler.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts only runs as a worker thread");

const task = workerData as WatchdogTask; // from watching.ts
const marks = new Int32Array(task.marks);
const shared = new Int32Array(task.shared);
const names = new Map<number, string>();
const detector = new BlockDetector();

/** Time a report waits for the inspection of the main thread. ms. An inspection takes 25 ms, on a busy machine up to 500 ms. */
const PATIENCE_MS = 2_000;

/** The current block. */
let block: { readonly at: number; readonly sight: PendingSight } | undefined;

port.on("message", ([mark, plugin]: NamedMark) => {
  if (plugin === null) names.delete(mark);
  else names.set(mark, plugin);
});

setInterval(() => {
  const finding = detector.look({
    now: performance.now(),
    beat: beatNow(),
    mark: Atomics.load(marks, 0),
    excused: Atomics.load(shared, SHARED.excused) !== 0,
  });
  if (finding) void tell(finding);
}, LOOK_MS);

function beatNow(): number {
  return Atomics.load(shared, SHARED.beat);
}

function sameBeat(): () => boolean {
  const then = beatNow();
  return () => beatNow() === then;
}

async function tell({ kind, ms, mark: seen }: Finding): Promise<void> {
  const { at, sight } = (block ??= { at: Date.now(), sight: lookAtMainThread(sameBeat()) });
  const over = kind === "over";
  if (over) block = undefined;
  const found = await Promise.race([sight.seen, setTimeout(PATIENCE_MS, undefined)]);
  if (over) sight.stop();
  const mark = seen || (found?.mark ?? 0); // the mark is certain; after an `await` only the async context identifies the plugin
  const stack = found?.stack ?? [];
  report({ at, pid: process.pid, plugin: names.get(mark), blockedMs: Math.round(ms), over, stack });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  if (over) port?.postMessage({ mark, ms: Math.round(ms), stack } satisfies BlockOver);
}

/** Stores the block, and logs it unless it is over: the host logs its end. */
function report(record: BlockRecord): void {
  const isHeard = Atomics.load(shared, SHARED.silent) === 0;
  if (!record.over && isHeard) logBlock(record);
  try {
    keepBlock(task.reportFile, record);
  } catch (error) {
    if (isHeard) logBlock(record, `${task.reportFile} cannot be written: ${String(error)}`);
  }
}
