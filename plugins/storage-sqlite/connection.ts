/** Main thread's side of one database thread, from its start to its end. */
import { GatewayError, messageOf } from "@svc/sdk";
import type { Worker } from "node:worker_threads";
import { RETRY_AFTER_MS } from "./failures.ts";
import type { Answer, Failure, Instruction, Report, Request, Value, Work } from "./messages.ts";

/** Calls that may wait for one thread; more are refused. Choice: bounds memory when the disk hangs. */
const MAX_WAITING = 10_000;
/** Choice: reads the thread has at a time; the others wait here. Their rows reach the main thread together, and hold it up together. */
const MAX_READS = 16;
/** Milliseconds of work with answers after which the event loop serves others, and most that it becomes when others take longer. */
const TURN_MS = 3;
const MOST_TURN_MS = 10;

export interface Connection {
  /** Settles when the file is open; rejects with a plain `Error` that names the file and what to do. */
  readonly ready: Promise<void>;
  /** @throws GatewayError `CONFLICT`, `UNAVAILABLE`; `Error` for a mistake in the SQL */
  call(work: Work): Promise<Value>;
  /** Finishes what waits, closes the file and ends the thread. Safe to call twice. */
  close(): Promise<void>;
  /** Commits so far. */
  commits(): number;
}

interface Waiting {
  readonly kind: Work["kind"];
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: Error) => void;
}

/** @param onDeath called once when the thread ends without having been asked to. */
export function connect(worker: Worker, onDeath: (reason: string) => void): Connection {
  const waiting = new Map<number, Waiting>();
  let outbox: Request[] = [];
  /** Reads that the thread does not have yet. A write overtakes them. */
  let later: Request[] = [];
  let reads = 0;
  let lastId = 0;
  let commits = 0;
  let opened = false;
  let death: string | undefined;
  let closing: Promise<void> | undefined;

  const exit = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const ready = new Promise<void>((resolve, reject) => {
    worker.on("message", (report: Report) => {
      if (report.kind !== "ready") return;
      opened = true;
      resolve();
    });
    worker.once("exit", () => reject(new Error(death ?? "the database thread ended before it was ready")));
  });
  ready.catch(() => {}); // a later start has nobody who waits for it; its calls hear the reason

  /** Answers whose callers have not heard them yet. */
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

  /** One answer at a time, what its caller does with it included, and no more than fit into a turn of the event loop. */
  function deliver(): void {
    delivering = true;
    if (turnEnds === undefined) beginTurn(TURN_MS);
    else if (performance.now() > turnEnds) return void (stopped = performance.now()); // the next turn goes on
    const answer = answers.shift();
    if (!answer) return void (delivering = false);
    settle(answer);
    if (later.length > 0) flush();
    queueMicrotask(() => process.nextTick(deliver)); // after the promises that this answer settles
  }

  function beginTurn(ms: number): void {
    turnEnds = performance.now() + ms;
    setImmediate(nextTurn);
  }

  /** About as long as what else the event loop did meanwhile: if others got more, their calls would pile up. */
  function nextTurn(): void {
    turnEnds = undefined;
    if (!delivering) return;
    beginTurn(Math.min(MOST_TURN_MS, Math.max(TURN_MS, performance.now() - stopped)));
    deliver();
  }

  worker.on("message", (report: Report) => {
    if (report.kind === "failed") death = report.message;
    if (report.kind !== "answers") return;
    commits = report.commits;
    answers.push(...report.answers);
    if (!delivering) deliver();
  });
  worker.on("error", (error) => (death ??= messageOf(error)));
  worker.on("messageerror", (error) => {
    death ??= error.message;
    void worker.terminate(); // an answer is lost for good: its caller must hear something
  });
  worker.once("exit", (code) => {
    for (const answer of answers.splice(0)) settle(answer);
    const asked = closing !== undefined && waiting.size === 0 && death === undefined;
    const reason = death ?? `the database thread ended with code ${code}`;
    if (!asked) onDeath(reason);
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
        if (outbox.push({ ...work, id: lastId }) === 1) queueMicrotask(() => flush()); // calls of one tick travel together
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

/** A write that was under way may have happened or not, so the caller is not told to simply repeat it. */
function deathError(kind: Work["kind"], opened: boolean, reason: string): GatewayError {
  const cause = new Error(reason);
  if (!opened || isRead(kind)) {
    return new GatewayError("UNAVAILABLE", "the database stopped; try again", { retryAfterMs: RETRY_AFTER_MS, cause });
  }
  const message = "the database stopped; read again whether the change was made";
  return new GatewayError("UNAVAILABLE", message, { details: { outcome: "unknown" }, cause });
}

function busyError(): GatewayError {
  const message = "too many calls wait for the database; try again";
  return new GatewayError("UNAVAILABLE", message, { retryAfterMs: RETRY_AFTER_MS });
}
