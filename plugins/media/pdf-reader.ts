/** The gateway's side of reading PDFs: each in a thread of its own, within limits of time and memory, ended afterwards. */
import { type Clock, GatewayError, messageOf } from "@svc/sdk";
import { Worker } from "node:worker_threads";
import type { PdfContent, PdfJob, PdfReport } from "./pdf-job.ts";
import { createSlots } from "./slots.ts";

export interface PdfReader {
  /** @throws GatewayError `INVALID_REQUEST` for what cannot be read, `UNAVAILABLE` when too many wait; the signal's reason */
  read(job: PdfJob, signal?: AbortSignal): Promise<PdfContent>;
  /** Ends what is under way. Safe to call twice. */
  close(): Promise<void>;
}

export interface PdfReaderOptions {
  readonly clock: Pick<Clock, "setTimeout" | "setInterval">;
  /** What the thread runs. */
  readonly program?: URL;
  /** Milliseconds for one document, from the start of its thread. Default 20,000. */
  readonly timeLimitMs?: number;
  /** Bytes the process has; default: as the system says. */
  readonly residentBytes?: () => number;
}

/** Choice: documents read at once, and those that may wait for it. */
const AT_ONCE = 2;
const MAX_WAITING = 50;

const MB = 1024 * 1024;
/** MB of objects in the thread. Choice: the library needs 30 of them, a page of dense text a few more. */
const MAX_HEAP_MB = 256;
/**
 * Bytes by which the whole process may grow while a document is read. The runtime does not count what lies in buffers
 * and pictures, so this is looked at from outside; other work of the gateway counts, too, hence the room.
 */
const MAX_GROWTH = 768 * MB;
const LOOK_MS = 100;

export function createPdfReader(options: PdfReaderOptions): PdfReader {
  const slots = createSlots(AT_ONCE, MAX_WAITING);
  const closing = new AbortController();
  const threads = new Set<Promise<unknown>>();

  return {
    async read(job, signal) {
      const ending = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
      const release = await slots.take(ending);
      const thread = startOr(release, () => startThread(job, options, ending));
      const gone = thread.gone.then(() => {
        threads.delete(gone);
        release();
      });
      threads.add(gone);
      return thread.content;
    },
    async close() {
      closing.abort(new GatewayError("UNAVAILABLE", "the plugin media is stopping; send the document again later"));
      await Promise.all(threads);
    },
  };
}

/** @param giveUp called when it cannot be started */
function startOr(giveUp: () => void, start: () => Thread): Thread {
  try {
    return start();
  } catch (error) {
    giveUp();
    throw error;
  }
}

interface Thread {
  readonly content: Promise<PdfContent>;
  /** It has ended. Never rejects. */
  readonly gone: Promise<void>;
}

function startThread(job: PdfJob, options: PdfReaderOptions, signal: AbortSignal): Thread {
  const { program = new URL("./worker.js", import.meta.url) } = options; // beside this file both compiled and bundled
  const bytes = new Uint8Array(job.bytes); // a copy to give away, without what may lie around it in its buffer
  const worker = new Worker(program, {
    name: "media-pdf",
    workerData: { ...job, bytes },
    transferList: [bytes.buffer],
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 32 },
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr]) stream.resume(); // nobody reads what a document makes it print
  const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const content = answerOf(worker, options, signal).finally(() => void worker.terminate());
  return { content, gone };
}

/** The first of: an answer, the end of the thread, a limit, the signal. */
function answerOf(worker: Worker, options: PdfReaderOptions, signal: AbortSignal): Promise<PdfContent> {
  const { clock, timeLimitMs = 20_000, residentBytes = () => process.memoryUsage.rss() } = options;
  return new Promise<PdfContent>((resolve, reject) => {
    let isReady = false;
    const before = residentBytes();
    const refuse = (message: string) => end(() => reject(new GatewayError("INVALID_REQUEST", message)));
    const onAbort = () => end(() => reject(signal.reason));
    const stops = [
      clock.setTimeout(
        () => refuse(`the PDF was not read within ${timeLimitMs / 1000} seconds; send fewer pages`),
        timeLimitMs,
      ),
      clock.setInterval(() => residentBytes() - before > MAX_GROWTH && refuse(TOO_LARGE), LOOK_MS),
      () => signal.removeEventListener("abort", onAbort),
    ];
    function end(settle: () => void): void {
      for (const stop of stops.splice(0)) stop();
      settle(); // a promise hears only the first
    }
    function onDeath(error?: unknown): void {
      if (isOutOfMemory(error)) refuse(TOO_LARGE);
      else if (isReady) refuse("the PDF cannot be read: something in it is not as it should be; send another copy");
      else end(() => reject(new Error(`the thread that reads PDFs did not start: ${messageOf(error)}`)));
    }
    worker.on("message", (report: PdfReport) => {
      if (report.kind === "ready") isReady = true;
      else if (report.kind === "read") end(() => resolve(report.content));
      else refuse(report.message);
    });
    worker.on("error", onDeath);
    worker.on("messageerror", onDeath);
    worker.once("exit", () => onDeath("it ended by itself"));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

const TOO_LARGE = "the PDF needs too much memory to be read; send fewer pages, or its text";

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}

const HEADER = Buffer.from("%PDF-");
/** Readers accept some bytes before the header. */
const HEADER_WITHIN = 1024;

/** Whether some bytes claim to be a PDF. No thread is started for anything else. */
export function looksLikePdf(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, HEADER_WITHIN)).includes(HEADER);
}
