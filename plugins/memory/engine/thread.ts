/** The gateway's side of the index thread. The first request starts the thread; it ends after a while without requests. */
import { type Clock, GatewayError, type Logger, unavailable } from "@svc/sdk";
import type { Worker } from "node:worker_threads";
import type { Instruction, Kind, Questions, Report, ThreadData } from "./protocol.ts";

/** Choice: idle milliseconds after which the thread ends and frees its memory. */
const IDLE_MS = 120_000;
/** Choice: pending requests; more are refused. */
const MAX_WAITING = 1_000;
/** Choice: milliseconds that a stop waits for the thread, which closes after its current work. */
const CLOSE_MS = 3_000;

export interface ThreadParts {
  /** Path of the index, read when a thread starts. */
  readonly file: () => string;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Pick<Logger, "warn" | "error">;
  /** Default 2 minutes. */
  readonly idleMs?: number;
  readonly startThread: (data: ThreadData) => Worker;
}

export interface Thread {
  /** @throws GatewayError `UNAVAILABLE` with the cause; the signal's reason */
  ask<K extends Kind>(kind: K, asked: Questions[K]["asked"], signal?: AbortSignal): Promise<Questions[K]["answer"]>;
  readonly isRunning: boolean;
  /** Safe to call twice. Later requests are refused. */
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (value: Questions[Kind]["answer"]) => void;
  readonly reject: (reason: unknown) => void;
}

/** The file is damaged: this thread ends, and the next one recreates the file. */
class Replaced extends Error {
  override readonly name = "Replaced";
}

interface Running {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
}

export function createThread(parts: ThreadParts): Thread {
  const { clock, log, idleMs = IDLE_MS, startThread } = parts;
  let running: Running | undefined;
  /** Resolves when the former thread has ended; the file is opened only after that. */
  let ending: Promise<unknown> | undefined;
  let isDamaged = false;
  let cancelIdle: (() => void) | undefined;
  let lastId = 0;
  let isClosed = false;

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  const post = (worker: Worker, instruction: Instruction) => worker.postMessage(instruction);

  function start(): Running {
    const worker = startThread({ file: parts.file(), isFresh: isDamaged });
    isDamaged = false;
    const started: Running = { worker, waiting: new Map() };
    let death: string | undefined;
    worker.on("message", (report: Report) => onReport(started, report));
    worker.on("error", (error) => void (death ??= error.message));
    worker.once("exit", (code) => {
      const wasAsked = running !== started;
      if (!wasAsked) running = undefined;
      const reason = death ?? `it ended with code ${code}`;
      if (!wasAsked) log.error({ reason }, "the memory index thread ended; the next search restarts it");
      refuseAll(
        started,
        new GatewayError("UNAVAILABLE", "the memory index stopped; try again", { retryAfterMs: 1_000 }),
      );
    });
    return started;
  }

  function replace(damaged: Running, reason: string): void {
    if (damaged !== running) return;
    log.warn({ reason }, "the memory index cannot be used; it is rebuilt");
    running = undefined;
    refuseAll(damaged, new Replaced());
    isDamaged = true;
    ending = closed(damaged);
  }

  function refuseAll({ waiting }: Running, reason: Error): void {
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
  }

  function onReport(from: Running, report: Report): void {
    if (report.kind === "note") return log.warn({}, report.message);
    if (report.kind === "damaged") return replace(from, report.message);
    const waiting = from.waiting.get(report.id);
    from.waiting.delete(report.id);
    if (report.kind === "answer") waiting?.resolve(report.value);
    else waiting?.reject(report.isKnown ? new GatewayError("UNAVAILABLE", report.message) : new Error(report.message));
    if (from === running) restartIdleTimer();
  }

  function restartIdleTimer(): void {
    cancelIdle?.();
    cancelIdle = clock.setTimeout(() => {
      if (running && running.waiting.size === 0) ending = end();
    }, idleMs);
  }

  async function end(): Promise<void> {
    const ended = running;
    running = undefined;
    if (ended) await closed(ended);
  }

  /**
   * Resolves when the thread has ended, or after `CLOSE_MS`. A slow thread is left to end by itself: terminating it inside
   * a call of the database library would abort the whole process.
   */
  async function closed({ worker, waiting }: Running): Promise<void> {
    post(worker, { kind: "close" });
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimeout(resolve, CLOSE_MS);
      worker.once("exit", () => {
        cancel();
        resolve();
      });
    });
    worker.unref();
    refuseAll({ worker, waiting }, new GatewayError("UNAVAILABLE", "the memory index stopped; try again"));
  }

  async function once<K extends Kind>(kind: K, asked: Questions[K]["asked"], signal?: AbortSignal) {
    await ending;
    signal?.throwIfAborted();
    if (isClosed) return unavailable("the plugin memory is stopping");
    const { worker, waiting } = (running ??= start());
    if (waiting.size >= MAX_WAITING)
      return unavailable("too many memory requests are pending; try again", { retryAfterMs: 1_000 });
    lastId += 1;
    const id = lastId;
    const abort = () => {
      waiting.get(id)?.reject(signal?.reason);
      waiting.delete(id);
      post(worker, { kind: "abort", id });
    };
    const answered = new Promise<Questions[Kind]["answer"]>((resolve, reject) => waiting.set(id, { resolve, reject }));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      post(worker, { kind, id, ...asked } as Instruction); // the compiler cannot relate `kind` to `asked`
      return (await answered) as Questions[K]["answer"]; // an answer has the kind of its request
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async function ask<K extends Kind>(kind: K, asked: Questions[K]["asked"], signal?: AbortSignal) {
    try {
      return await once(kind, asked, signal);
    } catch (thrown) {
      if (!(thrown instanceof Replaced)) throw thrown;
    }
    try {
      return await once(kind, asked, signal);
    } catch (thrown) {
      if (!(thrown instanceof Replaced)) throw thrown;
      return unavailable("the memory index was damaged again after its rebuild; check the disk");
    }
  }

  return {
    ask,
    get isRunning() {
      return running !== undefined;
    },
    async close() {
      isClosed = true;
      cancelIdle?.();
      await Promise.all([end(), ending]);
    },
  };
}
