/** The gateway's side of reading PDFs: each in its own process, with time and memory limits, killed afterwards. */
import { AnySignal, createSlots } from "@svc/kit/time";
import { type Clock, GatewayError, unavailable } from "@svc/sdk";
import { type ChildProcess, fork } from "node:child_process";
import type { PdfContent, PdfJob, PdfReport } from "./pdf-job.ts";

export interface PdfReader {
  /** @throws GatewayError `INVALID_REQUEST` for an unreadable PDF, `UNAVAILABLE` if too many are waiting; the signal's reason */
  read(job: PdfJob, signal?: AbortSignal): Promise<PdfContent>;
  /** Ends readings in progress. Safe to call twice. */
  close(): Promise<void>;
}

export interface PdfReaderOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** File that the process executes. */
  readonly program?: URL;
  /** Milliseconds per document, from the start of its process. Default 20,000. */
  readonly timeLimitMs?: number;
}

/** Choice: documents read at the same time, and documents that may wait. */
const AT_ONCE = 2;
const MAX_WAITING = 50;

/** Maximum MB of objects. Usually the watchdog ends the process earlier, because of its total memory. */
const MAX_HEAP_MB = 1024;

/** @throws GatewayError `UNAVAILABLE` */
export const refuseMore = (): never => unavailable("too many files are being read; try again in a minute");

export function createPdfReader(options: PdfReaderOptions): PdfReader {
  const slots = createSlots(() => AT_ONCE, MAX_WAITING, refuseMore);
  const closing = new AbortController();
  const readings = new Set<Promise<void>>();

  return {
    async read(job, signal) {
      const ending = new AnySignal(signal, closing.signal);
      try {
        const release = await slots.take(ending.signal);
        const { content, gone } = startReading(job, options, ending.signal);
        const over = gone.then(() => {
          readings.delete(over);
          release();
        });
        readings.add(over);
        return await content;
      } finally {
        ending.release();
      }
    },
    async close() {
      closing.abort(new GatewayError("UNAVAILABLE", "the plugin media is stopping; send the document again later"));
      await Promise.all(readings);
    },
  };
}

interface Reading {
  readonly content: Promise<PdfContent>;
  /** Resolves when its process has ended. Never rejects. */
  readonly gone: Promise<void>;
}

/**
 * Choice: a process, not a thread. A thread that reaches its memory limit within one large allocation takes the whole
 * gateway down, and so does a fault in the native drawing library.
 */
function startReading(job: PdfJob, options: PdfReaderOptions, signal: AbortSignal): Reading {
  const { program = new URL("./worker.js", import.meta.url) } = options; // next to this file, both compiled and bundled
  const child = fork(program, [], {
    env: {},
    execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"], // output that a document causes is not read
  });
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.on("error", () => child.pid === undefined && resolve());
  });
  const content = answerOf(child, job, options, signal).finally(() => child.kill("SIGKILL"));
  return { content, gone };
}

/** Waits for the first of: a report, the end of the process, the time limit, the signal. */
function answerOf(
  child: ChildProcess,
  job: PdfJob,
  options: PdfReaderOptions,
  signal: AbortSignal,
): Promise<PdfContent> {
  const { clock, timeLimitMs = 20_000 } = options;
  return new Promise<PdfContent>((resolve, reject) => {
    let isReady = false;
    const refuse = (message: string) => end(() => reject(new GatewayError("INVALID_REQUEST", message)));
    const onAbort = () => end(() => reject(signal.reason));
    const stops = [
      clock.setTimeout(
        () => refuse(`the PDF was not read within ${timeLimitMs / 1000} seconds; send fewer pages`),
        timeLimitMs,
      ),
      () => signal.removeEventListener("abort", onAbort),
    ];
    function end(settle: () => void): void {
      for (const stop of stops.splice(0)) stop();
      settle(); // later calls of resolve or reject have no effect
    }
    function onDeath(reason: string): void {
      if (isReady) refuse(BROKE);
      else end(() => reject(new Error(`the process that reads PDFs did not start: ${reason}`)));
    }
    function begin(): void {
      isReady = true;
      child.send(job, () => undefined); // if sending fails, the process ends, which is reported
    }
    child.on("message", (message) => {
      const report = message as PdfReport; // sent by worker.ts
      if (report.kind === "ready") begin();
      else if (report.kind === "read") end(() => resolve(report.content));
      else refuse(report.message);
    });
    child.on("error", (error) => onDeath(error.message));
    child.once("exit", (code, killedBy) => onDeath(`it ended with ${killedBy ?? `code ${code}`}`));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

const BROKE = "the process that read the PDF failed, probably for lack of memory; send fewer pages, or its text";

const HEADER = Buffer.from("%PDF-");
/** Readers accept some bytes before the header. */
const HEADER_WITHIN = 1024;

/** Whether the bytes have a PDF header. Without one, no process is started. */
export function looksLikePdf(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, HEADER_WITHIN)).includes(HEADER);
}
