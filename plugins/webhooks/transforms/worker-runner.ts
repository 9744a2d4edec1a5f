/**
 * Runs all calls of a transform in one worker thread. A call that blocks the thread, exhausts its memory or ends it
 * fails together with the other calls in that thread, without effect on the gateway; the next thread starts at once.
 */
import type { Clock } from "@svc/sdk";
import type { CallOutcome } from "./contract.ts";
import type { ServeReport, ServeRequest, ServeTask } from "./messages.ts";
import type { Runner } from "./runner.ts";
import type { StartThread, Thread } from "./thread.ts";

/** Choice: milliseconds after a deadline in which a responsive thread reports back. */
const GRACE_MS = 250;
/** Choice: milliseconds from the start of a thread until its transform is loaded; generous, for a machine under load. */
const READY_MS = 30_000;

interface Waiting {
  resolve(outcome: CallOutcome): void;
  reject(reason: Error): void;
}

interface Options {
  readonly clock: Clock;
  readonly startThread: StartThread;
}

/** Starts the first thread. `ready` rejects with the reason if the transform cannot be loaded. */
export function createWorkerRunner(
  task: ServeTask,
  { clock, startThread }: Options,
): Runner & { ready: Promise<void> } {
  let current: Serving | undefined;
  let stopped = false;
  let [underWay, idle] = [0, () => {}];

  function serving(): Serving {
    if (current) return current;
    const made = new Serving(startThread(task), clock, (wasReady) => {
      if (current === made) current = undefined;
      if (wasReady && !stopped) serving(); // a thread that failed to start is retried at the next call
    });
    return (current = made);
  }

  async function run(call: ServeRequest["call"], timeoutMs: number): Promise<CallOutcome> {
    if (stopped) throw new Error("this version was replaced; send the request again");
    underWay += 1;
    try {
      for (;;) {
        const thread = serving();
        if (await thread.isFit()) return await thread.call(call, timeoutMs);
        if (stopped) throw new Error("this version was replaced; send the request again");
      }
    } finally {
      underWay -= 1;
      if (underWay === 0) idle();
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    await current?.end("the gateway stopped or replaced this version");
  }

  async function retire(): Promise<void> {
    if (underWay > 0) await new Promise<void>((resolve) => (idle = resolve));
    await stop();
  }

  return { run, retire, stop, ready: serving().ready };
}

/** One thread, from its start to its end. */
class Serving {
  /** Rejects if the transform cannot be loaded. */
  readonly ready: Promise<void>;
  private readonly thread: Thread;
  private readonly clock: Clock;
  private readonly waiting = new Map<number, Waiting>();
  private readonly ended: Promise<void>;
  private lastId = 0;
  private death: string | undefined;
  /** Set from a missed deadline until the thread responds or ends; meanwhile it gets no further calls. */
  private doubt: ReturnType<typeof withResolvers<void>> | undefined;

  constructor(thread: Thread, clock: Clock, onEnd: (wasReady: boolean) => void) {
    this.thread = thread;
    this.clock = clock;
    let isReady = false;
    const { promise: ready, resolve, reject } = withResolvers<void>();
    this.ready = ready;
    ready.catch(() => {}); // of a later thread, no caller awaits `ready`; its calls get the reason
    const cancel = clock.setTimeout(() => void this.end(`it was not loaded within ${READY_MS} ms`), READY_MS);
    thread.onMessage((message) => {
      const report = message as ServeReport; // or a message of a transform itself, which is ignored
      if (report?.kind === "ready") {
        isReady = true;
        cancel();
        resolve();
      } else if (report?.kind === "failed") void this.end(report.problem);
      else this.settle(report);
    });
    const over = withResolvers<void>();
    this.ended = over.promise;
    thread.onEnd((reason) => {
      cancel();
      const why = this.death ?? reason;
      reject(new Error(why));
      for (const call of this.waiting.values()) call.reject(new Error(why));
      this.waiting.clear();
      this.death = why;
      onEnd(isReady);
      this.doubt?.resolve();
      over.resolve();
    });
  }

  /** Waits until the transform is loaded and the thread responds. @returns whether it accepts calls. @throws Error the transform cannot be loaded */
  async isFit(): Promise<boolean> {
    await this.ready;
    await this.doubt?.promise;
    return this.death === undefined;
  }

  call(call: ServeRequest["call"], timeoutMs: number): Promise<CallOutcome> {
    const id = (this.lastId += 1);
    const { promise, resolve, reject } = withResolvers<CallOutcome>();
    let cancel = this.clock.setTimeout(() => {
      reject(new Error(`no answer within ${timeoutMs} ms`));
      this.doubt ??= withResolvers<void>();
      cancel = this.clock.setTimeout(() => {
        if (this.waiting.has(id))
          void this.end(`its thread was ended, because a call blocked it for more than ${timeoutMs} ms`);
      }, GRACE_MS);
    }, timeoutMs);
    const done = () => cancel();
    this.waiting.set(id, {
      resolve: (outcome) => (done(), resolve(outcome)),
      reject: (reason) => (done(), reject(reason)),
    });
    this.thread.post({ id, call, timeoutMs } satisfies ServeRequest);
    return promise;
  }

  end(reason: string): Promise<void> {
    this.death ??= reason;
    void this.thread.end();
    return this.ended;
  }

  private settle(report: ServeReport | undefined): void {
    if (report?.kind !== "answer" && report?.kind !== "threw") return;
    this.doubt?.resolve();
    this.doubt = undefined;
    const call = this.waiting.get(report.id);
    this.waiting.delete(report.id);
    if (report.kind === "answer") return call?.resolve(report.outcome);
    const cause = Object.assign(new Error(report.problem), { stack: report.stack ?? report.problem });
    call?.reject(new Error(report.problem, { cause }));
  }
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<T>((one, other) => ([resolve, reject] = [one, other]));
  return { promise, resolve, reject };
}
