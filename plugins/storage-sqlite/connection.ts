/** The main thread's connection to one database thread, from its start to its end. */
import { GatewayError, messageOf } from "@svc/sdk";
import type { Worker } from "node:worker_threads";
import { RETRY_AFTER_MS } from "./failures.ts";
import type { Answer, Failure, Instruction, Report, Request, Value, Work } from "./messages.ts";

/** Choice: maximum number of calls that wait for one thread; limits memory when the disk hangs. */
export const MAX_WAITING = 10_000;
/**
 * Choice: maximum number of reads sent to the thread at a time; further reads wait here. Rows of many reads would
 * arrive together and block the main thread.
 */
const MAX_READS = 16;
/**
 * Milliseconds of delivering answers per turn of the event loop, and the maximum if other work of the turn takes
 * longer.
 */
const TURN_MS = 3;
const MOST_TURN_MS = 10;

export interface Connection {
  /** Resolves when the file is open; rejects with a plain `Error` that names the file and the next step. */
  readonly ready: Promise<Ready>;
  /** @throws GatewayError `CONFLICT`, `UNAVAILABLE`; `Error` for invalid SQL */
  call(work: Work): Promise<Value>;
  /** Finishes waiting calls, closes the file and ends the thread. Safe to call twice. */
  close(): Promise<void>;
  /** Number of commits so far. */
  commits(): number;
}

export type Ready = Extract<Report, { readonly kind: "ready" }>;

interface Waiting {
  readonly kind: Work["kind"];
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: Error) => void;
}

export interface Watch {
  /** Called once if the thread ends unexpectedly. */
  died(reason: string): void;
  /** Called for each appended transaction that can never run. */
  skipped(reason: string): void;
}

export function connect(worker: Worker, watch: Watch): Connection {
  const waiting = new Map<number, Waiting>();
  let outbox: Request[] = [];
  /** Reads not yet sent to the thread. Writes overtake them. */
  let later: Request[] = [];
  let reads = 0;
  let lastId = 0;
  let commits = 0;
  let opened = false;
  let death: string | undefined;
  let closing: Promise<void> | undefined;

  const exit = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const ready = new Promise<Ready>((resolve, reject) => {
    worker.on("message", (report: Report) => {
      if (report.kind !== "ready") return;
      opened = true;
      resolve(report);
    });
    worker.once("exit", () => reject(new Error(death ?? "the database thread ended before it was ready")));
  });
  ready.catch(() => {}); // after a restart of the thread, no caller awaits `ready`; waiting calls get the reason

  /** Answers not yet delivered to their callers. */
  const answers: Answer[] = [];
  let delivering = false;
  let turnEnds: number | undefined;
  let stopped = 0;

  function settle(answer: Answer): void {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (call && isRead(call.kind)) reads -= 1;
    if ("failure" in answer) call?.reject(errorOf(answer.failure));
    else call?.resolve(answer.value);
  }

  /** Delivers one answer at a time, including the caller's reaction, within the time limit of a turn of the event loop. */
  function deliver(): void {
    delivering = true;
    if (turnEnds === undefined) beginTurn(TURN_MS);
    else if (performance.now() > turnEnds) return void (stopped = performance.now()); // the next turn continues
    const answer = answers.shift();
    if (!answer) return void (delivering = false);
    settle(answer);
    if (later.length > 0) flush();
    queueMicrotask(() => process.nextTick(deliver)); // after the reactions to the promise of this answer
  }

  function beginTurn(ms: number): void {
    turnEnds = performance.now() + ms;
    setImmediate(nextTurn);
  }

  /**
   * The time for delivering answers: about as long as other work of the event loop took. With less time, calls would
   * pile up.
   */
  function nextTurn(): void {
    turnEnds = undefined;
    if (!delivering) return;
    beginTurn(Math.min(MOST_TURN_MS, Math.max(TURN_MS, performance.now() - stopped)));
    deliver();
  }

  worker.on("message", (report: Report) => {
    if (report.kind === "failed") death = report.message;
    if (report.kind === "skipped") watch.skipped(report.reason);
    if (report.kind !== "answers") return;
    commits = report.commits;
    answers.push(...report.answers);
    if (!delivering) deliver();
  });
  worker.on("error", (error) => (death ??= messageOf(error)));
  worker.on("messageerror", (error) => {
    death ??= error.message;
    void worker.terminate(); // an answer is lost: its caller must get an error
  });
  worker.once("exit", (code) => {
    for (const answer of answers.splice(0)) settle(answer);
    const asked = closing !== undefined && waiting.size === 0 && death === undefined;
    const reason = death ?? `the database thread ended with code ${code}`;
    if (!asked) watch.died(reason);
    for (const { kind, reject } of waiting.values()) reject(deathError(kind, opened, reason));
    waiting.clear();
  });

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  const post = (instruction: Instruction) => worker.postMessage(instruction);

  function flush(most = MAX_READS): void {
    const requests = outbox.filter(({ kind }) => !isRead(kind));
    const waitingReads = [...later, ...outbox.filter(({ kind }) => isRead(kind))];
    const now = waitingReads.splice(0, Math.max(0, most - reads));
    outbox = [];
    later = waitingReads;
    reads += now.length;
    requests.push(...now);
    if (requests.length > 0) post({ kind: "work", requests });
  }

  function close(): Promise<void> {
    flush(Number.POSITIVE_INFINITY);
    post({ kind: "close" });
    return exit;
  }

  return {
    ready,
    commits: () => commits,
    call(work) {
      if (waiting.size >= MAX_WAITING) return Promise.reject(busyError());
      return new Promise((resolve, reject) => {
        lastId += 1;
        waiting.set(lastId, { kind: work.kind, resolve, reject });
        if (outbox.push({ ...work, id: lastId }) === 1) queueMicrotask(() => flush()); // calls of one tick are sent together
      });
    },
    close: () => (closing ??= close()),
  };
}

function isRead(kind: Work["kind"]): boolean {
  return kind === "all" || kind === "get";
}

function errorOf({ code, message, retryAfterMs, cause }: Failure): Error {
  const options = cause === undefined ? {} : { cause: new Error(cause) };
  if (code === "FAULT") return new Error(message, options);
  return new GatewayError(code, message, retryAfterMs === undefined ? options : { ...options, retryAfterMs });
}

/**
 * The error of a write in progress. The write may or may not have happened, so the caller must not simply repeat it.
 */
function deathError(kind: Work["kind"], opened: boolean, reason: string): GatewayError {
  const cause = new Error(reason);
  if (!opened || isRead(kind)) {
    return new GatewayError("UNAVAILABLE", "the database stopped; try again", { retryAfterMs: RETRY_AFTER_MS, cause });
  }
  const message = "the database stopped; check whether the change was made before you repeat it";
  return new GatewayError("UNAVAILABLE", message, { details: { outcome: "unknown" }, cause });
}

export function busyError(): GatewayError {
  const message = "too many calls are waiting for the database; try again";
  return new GatewayError("UNAVAILABLE", message, { retryAfterMs: RETRY_AFTER_MS });
}
