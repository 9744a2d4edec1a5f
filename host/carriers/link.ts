/**
 * Calls between two threads or processes, in both directions, over any transport that delivers structured clones in order.
 *
 * A function that was sent is called through its stand-in, which always returns a promise; if the function returns an async
 * iterable, the promise itself can be iterated. A signal sent with a call is forwarded until that call, or the iteration it
 * returned, has ended.
 */
import { iterablePromise, pack, type Receiver, type Sender, unpack } from "./crossing.ts";
import { errorOf, type Failure, failureOf } from "./failures.ts";
import { Inbox, MAX_ON_THE_WAY } from "./inbox.ts";
import { Exports, Imports } from "./references.ts";

type AnyFunction = (...args: unknown[]) => unknown;

type Message =
  | { readonly k: "root"; readonly value: unknown }
  | { readonly k: "call"; readonly id: number; readonly ref: number; readonly args: readonly unknown[] }
  /** A one-way call, without a result. */
  | { readonly k: "tell"; readonly ref: number; readonly args: readonly unknown[] }
  | { readonly k: "done"; readonly id: number; readonly value: unknown }
  | { readonly k: "failed"; readonly id: number; readonly failure: unknown }
  | { readonly k: "abort"; readonly signal: number }
  | { readonly k: "over"; readonly signals: readonly number[] }
  | { readonly k: "drop"; readonly ref: number; readonly count: number }
  /** Confirms the total number of received messages. */
  | { readonly k: "got"; readonly count: number };

type Counted = Exclude<Message, { readonly k: "got" }>;

interface Later {
  readonly message: Message;
  readonly weight: number;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Releases the signals sent with the call. */
  readonly over: () => void;
}

/** Maximum weight of one message in approximate bytes: a larger one would block the receiver for too long. Choice. */
const MAX_WEIGHT = 32 * 2 ** 20;
/** Window of unconfirmed messages from a guest to the gateway; further messages wait in the guest. Choice. */
const WINDOW = { messages: MAX_ON_THE_WAY, weight: 8 * 2 ** 20 };
/** Weight that may wait in a guest before `tell` returns false, in approximate bytes. Choice: four times the window, for bursts. */
const MAX_WAITING_WEIGHT = 32 * 2 ** 20;

export interface LinkOptions {
  post(message: unknown): void;
  /** Whether an object keeps its identity when the other side sends it back. Default: none does. */
  hasIdentity?(value: object): boolean;
  /** Wraps each incoming call. */
  run?<T>(work: () => T): T;
  /** Whether this side respects the window of the other side. Default: it sends without a limit. */
  readonly isGuest?: boolean;
  /**
   * Called when the other side exceeds its window or sends an invalid message. If set, messages are received in turns, so that other work
   * runs in between.
   */
  onFault?(reason: string): void;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #exports = new Exports();
  readonly #imports = new Imports((ref, count) => this.#post({ k: "drop", ref, count }));
  readonly #waiting = new Map<number, Waiting>();
  /** Controllers for signals of the other side, while their calls are in progress. */
  readonly #controllers = new Map<number, AbortController>();
  #calls = 0;
  #signals = 0;
  #closed: Error | undefined;
  /** Messages to send, with their weight; those before `#next` are sent already. */
  #later: Later[] = [];
  /** Index of the first unsent message in `#later`. */
  #next = 0;
  #weightLater = 0;
  /** Weights of the unconfirmed messages. */
  #onTheWay: number[] = [];
  #weightOnTheWay = 0;
  #sent = 0;
  /** Queue for the messages of a guest; without one, messages are processed at once. */
  readonly #inbox: Inbox<Counted> | undefined;
  #heardAt = performance.now();
  #root: ((value: unknown) => void) | undefined;
  /** The root object offered by the other side. */
  readonly root = new Promise<unknown>((resolve) => (this.#root = resolve));

  constructor(options: LinkOptions) {
    this.#options = options;
    const { onFault } = options;
    if (!onFault) return;
    this.#inbox = new Inbox({
      take: (message) => this.#take(message),
      onTurn: (count) => this.#post({ k: "got", count }),
      onFault: (reason) => onFault(reason),
    });
  }

  /** References the other side holds. */
  get handedOut(): number {
    return this.#exports.size;
  }

  /** Time of the last message from the other side. monotonic ms */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Number of calls in flight. */
  get underWay(): number {
    return this.#waiting.size;
  }

  offer(root: object): void {
    const sender = this.#sender([]);
    this.#post({ k: "root", value: pack(root, sender) }, sender.weight);
  }

  /**
   * Calls a function of the other side one-way, without a result.
   * @returns whether it was accepted; false: too much is waiting already
   * @throws Error naming the argument that cannot be sent
   */
  tell<A extends unknown[]>(told: (...args: A) => void, ...args: A): boolean {
    const ref = this.#imports.refOf(told);
    if (ref === undefined) throw new Error("tell() needs a function that came from the other side");
    if (this.#weightLater > MAX_WAITING_WEIGHT) return false;
    const sender = this.#sender([]);
    const packed = args.map((arg, index) => pack(arg, sender, `argument ${index + 1}`));
    this.#post({ k: "tell", ref, args: packed }, sender.weight);
    return true;
  }

  /** Rejects all pending and future calls, and aborts the signals of the other side. Safe to call twice. */
  close(error: Error): void {
    this.#closed ??= error;
    for (const { reject, over } of this.#waiting.values()) {
      over();
      reject(error);
    }
    this.#waiting.clear();
    this.#later = [];
    this.#next = 0;
    this.#inbox?.clear();
    for (const controller of this.#controllers.values()) controller.abort();
    this.#controllers.clear();
  }

  receive(message: unknown): void {
    const parsed = message as Message; // unchecked: a guest may have sent anything
    this.#heardAt = performance.now();
    if (this.#inbox) return this.#inbox.receive(parsed as Counted); // this side sends without a window
    return parsed.k === "got" ? this.#confirmed(parsed.count) : this.#take(parsed);
  }

  #take(parsed: Counted): void {
    switch (parsed.k) {
      case "root":
        return this.#root?.(unpack(parsed.value, this.#receiver()));
      case "call":
        return void this.#answer(parsed.id, parsed.ref, parsed.args);
      case "tell":
        return this.#told(parsed.ref, parsed.args);
      case "done":
        return this.#done(parsed.id, parsed.value);
      case "failed":
        return this.#failed(parsed.id, errorOf(unpack(parsed.failure, this.#receiver()) as Failure));
      case "abort":
        return this.#controllers.get(parsed.signal)?.abort();
      case "over":
        for (const signal of parsed.signals) this.#controllers.delete(signal);
        return;
      case "drop":
        return this.#exports.dropped(parsed.ref, parsed.count);
    }
  }

  /** @param weight as measured by `pack` */
  #post(message: Message, weight = 0): void {
    if (this.#closed) return;
    if (!this.#options.isGuest) return this.#options.post(message);
    this.#later.push({ message, weight });
    this.#weightLater += weight;
    if (this.#later.length - this.#next === 1) this.#sendWaiting();
  }

  /** Sends waiting messages as far as the window allows; a message larger than the window is sent alone. */
  #sendWaiting(): void {
    const first = this.#next;
    for (; this.#next < this.#later.length; this.#next += 1) {
      const { message, weight } = this.#later[this.#next] as Later; // below the length
      const { length } = this.#onTheWay;
      if (length >= WINDOW.messages || (length > 0 && this.#weightOnTheWay + weight > WINDOW.weight)) break;
      this.#onTheWay.push(weight);
      this.#weightOnTheWay += weight;
      this.#weightLater -= weight;
      this.#options.post(message);
    }
    this.#sent += this.#next - first;
    if (this.#next * 2 < this.#later.length) return; // copying a long list each time would be expensive
    this.#later = this.#later.slice(this.#next);
    this.#next = 0;
  }

  /** @param count total number of messages the other side has received */
  #confirmed(count: number): void {
    const over = this.#onTheWay.length - (this.#sent - count);
    for (const weight of this.#onTheWay.splice(0, over)) this.#weightOnTheWay -= weight;
    this.#sendWaiting();
  }

  #call(ref: number, args: readonly unknown[]): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = ++this.#calls;
    const watched: (() => void)[] = [];
    const signals: number[] = [];
    const over = () => {
      for (const unwatch of watched.splice(0)) unwatch();
      if (signals.length > 0) this.#post({ k: "over", signals: signals.splice(0) });
    };
    try {
      const sender = this.#sender(watched, (signal) => void signals.push(signal));
      const packed = args.map((arg, index) => pack(arg, sender, `argument ${index + 1}`));
      const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject, over }));
      this.#post({ k: "call", id, ref, args: packed }, sender.weight);
      return answered;
    } catch (error) {
      this.#waiting.delete(id);
      over();
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #done(id: number, value: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!waiting) return;
    let iterated = false;
    const receiver = this.#receiver((end) => {
      iterated = true;
      return () => (end(), waiting.over());
    });
    try {
      waiting.resolve(unpack(value, receiver));
    } catch (error) {
      waiting.reject(error as Error); // thrown by unpack
    }
    if (!iterated) waiting.over();
  }

  #failed(id: number, error: Error): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.over();
    waiting?.reject(error);
  }

  async #answer(id: number, ref: number, args: readonly unknown[]): Promise<void> {
    try {
      const called = this.#exports.get(ref) as AnyFunction; // only functions and identities are handed out
      const given = args.map((arg) => unpack(arg, this.#receiver()));
      const { run = (work) => work() } = this.#options;
      const value = await run(() => called(...given));
      const sender = this.#sender([]);
      const packed = pack(value, sender, "result");
      this.#post({ k: "done", id, value: packed }, sender.weight);
    } catch (error) {
      this.#post({ k: "failed", id, failure: this.#failure(error) });
    }
  }

  /** Executes a one-way call. @throws Error the reference is unknown */
  #told(ref: number, args: readonly unknown[]): void {
    const called = this.#exports.get(ref) as AnyFunction; // only functions and identities are handed out
    const { run = (work) => work() } = this.#options;
    let weight = 0;
    const receiver: Receiver = { ...this.#receiver(), weigh: (more) => void (weight += more) };
    const given = args.map((arg) => unpack(arg, receiver));
    this.#inbox?.spend(weight);
    run(() => called(...given));
  }

  #failure(error: unknown): unknown {
    try {
      return pack(plain(failureOf(error)), this.#sender([]), "error");
    } catch (tooLarge) {
      return pack(failureOf(tooLarge), this.#sender([]), "error");
    }
  }

  #sender(
    watched: (() => void)[],
    crossed: (signal: number) => void = () => undefined,
  ): Sender & { readonly weight: number } {
    let total = 0;
    return {
      get weight() {
        return total;
      },
      weigh(weight, where) {
        total += weight;
        if (total > MAX_WEIGHT)
          throw new Error(
            `${where}: more than ${MAX_WEIGHT} bytes cannot be sent to another thread or process at once`,
          );
      },
      handOut: (value) => this.#exports.add(value),
      refOf: (value) => this.#imports.refOf(value),
      hasIdentity: (value) => this.#options.hasIdentity?.(value) ?? false,
      watch: (signal) => {
        const ref = ++this.#signals;
        const abort = () => this.#post({ k: "abort", signal: ref });
        signal.addEventListener("abort", abort, { once: true });
        watched.push(() => signal.removeEventListener("abort", abort));
        crossed(ref);
        return ref;
      },
    };
  }

  /** @param iterating wraps the callback for the end of an iteration */
  #receiver(iterating: (ended: () => void) => () => void = (ended) => ended): Receiver {
    return {
      standIn: (ref) => this.#imports.take(ref, () => this.#standIn(ref)) as AnyFunction, // created by `#standIn` only
      same: (ref, copy) => this.#imports.take(ref, () => copy),
      mine: (ref) => this.#exports.get(ref),
      signal: (ref, aborted) => {
        const controller = this.#controllers.get(ref) ?? new AbortController();
        this.#controllers.set(ref, controller);
        if (aborted) controller.abort();
        return controller.signal;
      },
      iterable: (next, end) =>
        remoteIterable(
          next,
          end,
          iterating(() => undefined),
        ),
    };
  }

  #standIn(ref: number): AnyFunction {
    return (...args) => iterablePromise(this.#call(ref, args));
  }
}

/** Drops the fields of a failure if they cannot be cloned. */
function plain(failure: Failure): Failure {
  try {
    return { ...failure, fields: structuredClone(failure.fields) };
  } catch {
    return { ...failure, fields: {} };
  }
}

function remoteIterable(next: AnyFunction, end: AnyFunction, ended: () => void): AsyncIterable<unknown> {
  const iterator: AsyncIterator<unknown> = {
    async next() {
      try {
        const step = (await next()) as IteratorResult<unknown>; // packed by the other side
        if (step.done) ended();
        return step;
      } catch (error) {
        ended();
        throw error;
      }
    },
    async return(value: unknown) {
      ended();
      await end();
      return { done: true, value };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
