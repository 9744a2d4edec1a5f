/** Reads pages in worker threads, so that a deliberately slow or large page does not affect the gateway. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, unavailable, untilAborted } from "@svc/sdk";
import { Worker } from "node:worker_threads";
import type { PageAnswer, PageQuestion, PageText } from "./messages.ts";

export interface ExtractionOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Milliseconds for one page. Default 8000. */
  readonly limitMs?: number;
  /** Pages read at the same time; others wait. Default 2. */
  readonly threads?: number;
  /** Starts a thread. */
  readonly startThread?: (question: PageQuestion) => Worker;
}

/**
 * Returns the best result so far when the page is done, its time is over or its memory is full.
 * @throws GatewayError `UNAVAILABLE` if there is no result by then; the signal's reason
 */
export type Extract = (question: PageQuestion, signal: AbortSignal) => Promise<PageText>;

/** Megabytes. */
const MEMORY = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };

function startPageThread(question: PageQuestion): Worker {
  const url = new URL("./worker.js", import.meta.url); // next to this file, both compiled and bundled
  return new Worker(url, { name: "web-page", workerData: question, execArgv: [], env: {}, resourceLimits: MEMORY });
}

export function createExtraction(options: ExtractionOptions): Extract {
  const { clock, limitMs = 8_000, threads = 2, startThread = startPageThread } = options;
  const waiting: (() => void)[] = [];
  let busy = 0;

  async function read(question: PageQuestion, signal: AbortSignal): Promise<PageText> {
    const worker = startThread(question);
    const late = () => `the page could not be read within ${limitMs / 1_000} s`;
    let best: PageText | undefined;
    const keep = (page: PageText) => {
      best = page;
    };
    try {
      await withDeadline({ ms: limitMs, clock, signals: [signal], late }, (ending) =>
        untilAborted(listen(worker, keep), ending),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (best === undefined) throw error;
    } finally {
      await worker.terminate();
    }
    return best ?? unavailable("the page could not be read");
  }

  async function inTurn(question: PageQuestion, signal: AbortSignal): Promise<PageText> {
    if (busy < threads) busy += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve)); // the next finished reading passes its slot on
    try {
      signal.throwIfAborted();
      return await read(question, signal);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else busy -= 1;
    }
  }

  return (question, signal) => untilAborted(inTurn(question, signal), signal);
}

/** Resolves at the end of the thread's messages. @throws GatewayError `UNAVAILABLE` if the thread fails */
function listen(worker: Worker, keep: (page: PageText) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on("message", (answer: PageAnswer) => (answer === "end" ? resolve() : keep(answer.page)));
    worker.once("exit", () => resolve());
    worker.once("error", (error: Error & { readonly code?: string }) => {
      const why = error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "it needs too much memory" : error.message;
      reject(new GatewayError("UNAVAILABLE", `the page could not be read: ${why}`, { cause: error }));
    });
  });
}
