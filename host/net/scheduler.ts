/**
 * Shares the event loop among connections. A connection that makes little work is served at once. One that keeps the loop busy is read and served in
 * short turns behind those who do not, so that the calls of others wait for one turn and not for all who flood. Networks take turns, so that a flood
 * over many connections gains nothing.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Duplex } from "node:stream";
import { networkOf } from "../auth/client-address.ts";

/** Choice: milliseconds of work after which the event loop looks who else waits. */
const TURN_MS = 2;
/** Choice: milliseconds of recent work above which a connection keeps the loop busy. */
const GREEDY_MS = 5;
/** Milliseconds that one connection works before the next is chosen. */
const QUANTUM_MS = 1;
/** Milliseconds of work that a new connection is counted with: whoever comes anew for each flood gains little. */
const NEW_MS = 3;
/** Milliseconds that a byte of a large message takes in the end: it is counted as it comes, so that large messages end in turns, too. */
const BYTE_MS = 3 / 1_048_576;
/** Part of the time that a connection may work without ever waiting. */
const FREE = 1 / 20;
/** Milliseconds of work that are remembered of a connection: a flood is forgiven after 2 s. */
const MOST_MS = 100;
/** Work below that is not worth an entry in the event loop's queue. */
const NOTICED_MS = 1;
/** Milliseconds without the work of another connection after which one is alone. */
const LATELY_MS = 100;

/** Where a connection's bytes come from. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** Shares that wait. Each network has its turn, whatever the number of its connections; the longest wait of a network goes first. */
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
  /** Those with little recent work, and those with more. */
  readonly #modest = new Line();
  readonly #greedy = new Line();
  /** Who queues something must not be blamed for the work of the others. */
  readonly #outside = AsyncLocalStorage.snapshot();
  /** Milliseconds of work since others had their turn. */
  #spent = 0;
  /** Milliseconds of work ever. */
  #charged = 0;
  #scheduled = false;
  /** Whose work was counted last, and since when (monotonic ms) nobody else's was. */
  #last: Share | undefined;
  #changedAt = 0;
  #working = false;
  /** One of `#greedy` was served in this turn. */
  #tookGreedy = false;
  /** Until then, connections that keep the loop busy wait: what took too long is followed by as long a rest. monotonic ms */
  #restsUntil = 0;
  #rest: NodeJS.Timeout | undefined;

  get isOver(): boolean {
    return this.#spent >= GREEDY_MS;
  }

  /** Milliseconds of work ever, of all shares. */
  get charged(): number {
    return this.#charged;
  }

  /** Whether nobody else had work lately: then taking turns would only cost time. */
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
    // One of those that keep the loop busy has its part of each turn: the others, however many, do not shut it out.
    const share = modest ?? (now < this.#restsUntil || (isOver && this.#tookGreedy) ? undefined : this.#greedy.take());
    if (!share) return this.#end(isOver);
    this.#tookGreedy ||= !modest;
    const charged = this.#charged;
    let ended: number | undefined;
    let next: ReturnType<Share["work"]>;
    // Behind what promises do next, even when its work throws.
    queueMicrotask(() =>
      process.nextTick(() => {
        const worked = (ended ?? performance.now()) - now - (this.#charged - charged);
        share.charge(Math.max(0, worked));
        if (share.waits) this.add(share);
        // What it reads may be the end of a large message: the event loop reads it before another one may read.
        if (next === "reads" && !modest) this.#end(true);
        else this.#serve(begun);
      }),
    );
    next = share.work(now + QUANTUM_MS);
    if (next !== "goes on") ended = performance.now(); // what else promises do is the work of others
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

/** A process has one event loop, so all gateways in it share one. */
const scheduler = new Scheduler();
const shares = new WeakMap<Duplex, Share>();

/** The share of a socket, the same one each time. */
export function shareOf(socket: Duplex): Share {
  const known = shares.get(socket);
  if (known) return known;
  const share = new Share(socket);
  shares.set(socket, share);
  return share;
}

/** One connection's part in the scheduler. */
export class Share {
  /** Where the connection comes from. */
  readonly network: string;
  readonly #socket: Duplex;
  #source: Source;
  /** Milliseconds of work, less what is free; as of `#asOf`. */
  #recent = NEW_MS;
  #asOf = performance.now();
  /** When what is under way began. monotonic ms */
  #begun: number | undefined;
  /** Milliseconds that the bytes being read will take. */
  #comingMs = 0;
  #works: (() => void)[] = [];
  /** They go before what else waits: parts of a work that was begun. */
  #parts: (() => void)[] = [];
  #held = false;
  #paused = false;
  #isStopped = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#source = socket;
    this.network = networkOf((socket as Duplex & { readonly remoteAddress?: string }).remoteAddress ?? "");
  }

  /** Counts what the listeners do that read the socket; again when others read it now. @param source as they pause it */
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

  /** It reads no more for now when it has work that waits, or has made much. */
  readonly #endRead = (): void => {
    if (this.#begun === undefined) return;
    this.charge(Math.max(this.#comingMs, performance.now() - this.#begun));
    this.#begun = undefined;
    if (this.#works.length > 0 || this.#held || this.#isGreedy(0)) this.#pause();
  };

  /** Does `work` now or, in order, as soon as it is this connection's turn. */
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

  /** Does `work` now, whosever turn it is, and counts it. */
  measure(work: () => void): void {
    const begun = performance.now();
    try {
      work();
    } finally {
      this.charge(performance.now() - begun);
    }
  }

  /** Waits for this connection's turn, ahead of what it is to `run`. @returns undefined when it has it already */
  pass(): Promise<void> | undefined {
    if (!this.#isLight(0)) return this.turn();
    const begun = performance.now();
    const { charged } = scheduler;
    const after = () => this.charge(Math.max(0, performance.now() - begun - (scheduler.charged - charged)));
    queueMicrotask(() => process.nextTick(after));
    return undefined;
  }

  /** The same, and lets others have their turn in any case. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.push(resolve);
      scheduler.add(this);
    });
  }

  /** Nothing else of this connection runs until `work` is over. */
  async hold(work: Promise<void>): Promise<void> {
    this.#held = true;
    try {
      await work;
    } finally {
      this.#held = false;
      if (this.waits) scheduler.add(this);
    }
  }

  /** Works until the time given, or until nothing waits; then it reads on. Meant for the scheduler. `goes on`: a promise of it does next. */
  work(until: number): "goes on" | "reads" | undefined {
    const part = this.#parts.shift();
    if (part) {
      part();
      return "goes on";
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

  /** Forgets what it was to `run`. */
  leave(): void {
    this.#works = [];
  }

  /** Reads nothing more, whosever turn it is. */
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
    this.#source.pause(); // again: whoever reads a body resumes its socket
  }
}
