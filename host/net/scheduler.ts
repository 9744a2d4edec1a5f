/**
 * Shares the event loop among connections. A connection that causes little work is served at once. One that keeps the loop busy is read and served in
 * short turns after the others, so that a call of another connection waits for one turn, not for every flooding connection. Networks take turns, so
 * that flooding over many connections gains nothing.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Duplex } from "node:stream";
import { networkOf } from "../auth/client-address.ts";

/** Choice: milliseconds of work after which a turn ends and the event loop handles other events. */
const TURN_MS = 2;
/** Choice: a connection with at least this many milliseconds of recent work is greedy: it keeps the loop busy. */
const GREEDY_MS = 5;
/** Milliseconds that one connection works before the scheduler picks the next. */
const QUANTUM_MS = 1;
/** Milliseconds of work attributed to a new connection, so that reconnecting before each flood gains little. */
const NEW_MS = 3;
/** Estimated milliseconds that a byte of a large message costs in total, counted on arrival, so that large messages are read in turns, too. */
const BYTE_MS = 3 / 1_048_576;
/** Fraction of the time that a connection may work without ever waiting. */
const FREE = 1 / 20;
/** Maximum milliseconds of recent work remembered per connection: a flood is forgotten after 2 s. */
const MOST_MS = 100;
/** Milliseconds of work below which the scheduler queues no turn in the event loop. */
const NOTICED_MS = 1;
/** A connection counts as alone when no other connection has worked for this many milliseconds. */
const LATELY_MS = 100;

/** Source of a connection's bytes. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** Queue of waiting shares. Networks take turns, however many connections each has; the network that waited longest goes first. */
class Line {
  readonly #networks = new Map<string, Set<Share>>();

  get isEmpty(): boolean {
    return this.#networks.size === 0;
  }

  has(share: Share): boolean {
    return this.#networks.get(share.network)?.has(share) === true;
  }

  add(share: Share): void {
    const waiting = this.#networks.get(share.network);
    if (waiting) waiting.add(share);
    else this.#networks.set(share.network, new Set([share]));
  }

  take(): Share | undefined {
    const [next] = this.#networks;
    if (!next) return undefined;
    const [network, waiting] = next;
    const [first] = waiting;
    if (first) waiting.delete(first);
    this.#networks.delete(network);
    if (waiting.size > 0) this.#networks.set(network, waiting); // behind the other networks
    return first;
  }
}

class Scheduler {
  /** Waiting shares with little recent work, and those with more. */
  readonly #modest = new Line();
  readonly #greedy = new Line();
  /** Leaves the async context of the caller that queued a turn: the work of other connections must not be attributed to it. */
  readonly #outside = AsyncLocalStorage.snapshot();
  /** Milliseconds of work since other connections last had a turn. */
  #spent = 0;
  #charged = 0;
  #scheduled = false;
  /** The share whose work was counted last, and the time (monotonic ms) since which it is the only one. */
  #last: Share | undefined;
  #changedAt = 0;
  #working = false;
  /** A greedy share was served in this turn. */
  #tookGreedy = false;
  /** Greedy connections wait until this time: an equally long pause follows work that took too long. monotonic ms */
  #restsUntil = 0;
  #rest: NodeJS.Timeout | undefined;

  get isOver(): boolean {
    return this.#spent >= GREEDY_MS;
  }

  /** Milliseconds of work of all shares since the start. */
  get charged(): number {
    return this.#charged;
  }

  /** Whether no other share had work recently: then taking turns would only cost time. */
  isAlone(share: Share, now: number): boolean {
    return this.#last === share && now - this.#changedAt > LATELY_MS;
  }

  count(share: Share, ms: number): void {
    if (this.#last !== share) {
      this.#last = share;
      this.#changedAt = performance.now();
    }
    this.#spent += ms;
    this.#charged += ms;
    if (ms > 2 * GREEDY_MS) this.#restsUntil = Math.max(this.#restsUntil, performance.now() + ms);
    if (this.#spent >= NOTICED_MS) this.#schedule();
  }

  add(share: Share): void {
    if (!this.#modest.has(share) && !this.#greedy.has(share)) this.#queue(share);
    this.#schedule();
  }

  #queue(share: Share): void {
    const isModest = share.recent(performance.now()) < GREEDY_MS;
    (isModest ? this.#modest : this.#greedy).add(share);
  }

  #schedule(): void {
    if (this.#scheduled || this.#working) return;
    this.#scheduled = true;
    setImmediate(() => this.#outside(() => this.#begin()));
  }

  #begin(): void {
    this.#scheduled = false;
    this.#working = true;
    this.#tookGreedy = false;
    this.#spent = 0;
    this.#serve(performance.now());
  }

  /** @param begun when this turn began. monotonic ms */
  #serve(begun: number): void {
    const now = performance.now();
    const isOver = now - begun >= TURN_MS;
    const modest = isOver ? undefined : this.#modest.take();
    // Each turn serves one greedy share: the modest ones, however many, must not starve it.
    const share = modest ?? (now < this.#restsUntil || (isOver && this.#tookGreedy) ? undefined : this.#greedy.take());
    if (!share) return this.#end(isOver);
    this.#tookGreedy ||= !modest;
    const charged = this.#charged;
    let ended: number | undefined;
    let next: ReturnType<Share["work"]>;
    // Runs after the promise continuations of the work, even when the work throws.
    queueMicrotask(() =>
      process.nextTick(() => {
        const worked = (ended ?? performance.now()) - now - (this.#charged - charged);
        share.charge(Math.max(0, worked));
        if (share.waits) this.add(share);
        // Its next read may complete a large message: the event loop does that read before another share may read.
        if (next === "reads" && !modest) this.#end(true);
        else this.#serve(begun);
      }),
    );
    next = share.work(now + QUANTUM_MS);
    if (next !== "continues") ended = performance.now(); // later promise continuations do not count as work of this turn
  }

  #end(isLeft: boolean): void {
    this.#working = false;
    this.#spent = 0;
    if (isLeft) return this.#schedule();
    if (this.#greedy.isEmpty || this.#rest) return;
    const wait = () => {
      this.#rest = undefined;
      this.#schedule();
    };
    this.#rest = setTimeout(wait, Math.max(1, this.#restsUntil - performance.now()));
  }
}

/** A process has one event loop, so all its gateways share one scheduler. */
const scheduler = new Scheduler();
const shares = new WeakMap<Duplex, Share>();

/** @returns the share of a socket, always the same object */
export function shareOf(socket: Duplex): Share {
  const known = shares.get(socket);
  if (known) return known;
  const share = new Share(socket);
  shares.set(socket, share);
  return share;
}

/** A connection in the scheduler. */
export class Share {
  /** Network of the connection's remote address. */
  readonly network: string;
  readonly #socket: Duplex;
  #source: Source;
  /** Milliseconds of recent work minus the free fraction, as of `#asOf`. */
  #recent = NEW_MS;
  #asOf = performance.now();
  /** Start of the current read. monotonic ms */
  #begun: number | undefined;
  /** Estimated milliseconds that the bytes being read will cost. */
  #comingMs = 0;
  #works: (() => void)[] = [];
  /** Continuations of work that has begun; they run before `#works`. */
  #parts: (() => void)[] = [];
  #held = false;
  #paused = false;
  #isStopped = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#source = socket;
    this.network = networkOf((socket as Duplex & { readonly remoteAddress?: string }).remoteAddress ?? "");
  }

  /** Counts the work of the socket's `data` listeners; call it again when the listeners change. @param source what to pause and resume */
  watch(source: Source): void {
    this.#source = source;
    this.#socket.off("data", this.#beginRead).off("data", this.#endRead);
    this.#socket.prependListener("data", this.#beginRead).on("data", this.#endRead);
    if (!this.#isLight(0)) this.#pause();
  }

  /** Milliseconds of recent work. */
  recent(now: number): number {
    this.#recent = Math.max(0, this.#recent - (now - this.#asOf) * FREE);
    this.#asOf = now;
    return this.#recent;
  }

  get waits(): boolean {
    return this.#parts.length > 0 || (!this.#held && (this.#works.length > 0 || this.#paused));
  }

  charge(ms: number): void {
    this.#recent = Math.min(MOST_MS, this.recent(performance.now()) + ms);
    scheduler.count(this, ms);
  }

  readonly #beginRead = (bytes: Buffer): void => {
    this.#begun = performance.now();
    this.#comingMs = bytes.length * BYTE_MS;
  };

  /** Pauses reading while work is queued, and after much work. */
  readonly #endRead = (): void => {
    if (this.#begun === undefined) return;
    this.charge(Math.max(this.#comingMs, performance.now() - this.#begun));
    this.#begun = undefined;
    if (this.#works.length > 0 || this.#held || this.#isGreedy(0)) this.#pause();
  };

  /** Runs `work` now or, in order, at this connection's next turn. */
  run(work: () => void): void {
    const now = performance.now();
    const free = this.#works.length === 0 && !this.#held;
    if (!free || !this.#isLight(this.#begun === undefined ? 0 : now - this.#begun)) {
      this.#works.push(work);
      scheduler.add(this);
      if (this.#begun === undefined) this.#pause();
      return;
    }
    if (this.#begun === undefined) this.measure(work);
    else work(); // `#endRead` counts it
  }

  /** Runs `work` now, regardless of turns, and counts it. */
  measure(work: () => void): void {
    const begun = performance.now();
    try {
      work();
    } finally {
      this.charge(performance.now() - begun);
    }
  }

  /** Waits for this connection's turn, ahead of the work queued by `run`. @returns undefined when the work may continue at once */
  pass(): Promise<void> | undefined {
    if (!this.#isLight(0)) return this.turn();
    const begun = performance.now();
    const { charged } = scheduler;
    const after = () => this.charge(Math.max(0, performance.now() - begun - (scheduler.charged - charged)));
    queueMicrotask(() => process.nextTick(after));
    return undefined;
  }

  /** As `pass`, but always yields to other connections. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.push(resolve);
      scheduler.add(this);
    });
  }

  /** Starts no queued work of this connection until `work` settles. */
  async hold(work: Promise<void>): Promise<void> {
    this.#held = true;
    try {
      await work;
    } finally {
      this.#held = false;
      if (this.waits) scheduler.add(this);
    }
  }

  /** Called by the scheduler: works until the given time or until its queue is empty, then resumes reading. `continues`: the rest of the work runs in a promise continuation. */
  work(until: number): "continues" | "reads" | undefined {
    const part = this.#parts.shift();
    if (part) {
      part();
      return "continues";
    }
    while (!this.#held && performance.now() < until) {
      const next = this.#works.shift();
      if (!next) break;
      next();
    }
    if (this.#paused && !this.#held && this.#works.length === 0) {
      this.#paused = false;
      if (this.#isStopped) return undefined;
      this.#source.resume();
      return "reads";
    }
    return undefined;
  }

  /** Drops the work queued by `run`. */
  leave(): void {
    this.#works = [];
  }

  /** Stops reading for good. */
  stop(): void {
    this.#isStopped = true;
    this.#source.pause();
  }

  #isLight(worked: number): boolean {
    return !scheduler.isOver && !this.#isGreedy(worked);
  }

  #isGreedy(worked: number): boolean {
    const now = performance.now();
    return worked >= GREEDY_MS || (this.recent(now) + worked >= GREEDY_MS && !scheduler.isAlone(this, now));
  }

  #pause(): void {
    scheduler.add(this);
    this.#paused = true;
    this.#source.pause(); // even if paused: the reader of a body resumes the socket
  }
}
