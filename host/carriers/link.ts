/**
 * Calls between two threads or processes, both ways, over anything that carries structured clones in order.
 *
 * A function that crossed is called by its stand-in, which always returns a promise; one whose function returned an async
 * iterable can be iterated itself. A signal that crossed with a call lives until that call, or the iteration it answered
 * with, is over.
 */
import { iterablePromise, pack, type Receiver, type Sender, unpack } from "./crossing.ts";
import { errorOf, type Failure, failureOf } from "./failures.ts";
import { Exports, Imports } from "./references.ts";

type AnyFunction = (...args: unknown[]) => unknown;

type Message =
  | { readonly k: "root"; readonly value: unknown }
  | { readonly k: "call"; readonly id: number; readonly ref: number; readonly args: readonly unknown[] }
  | { readonly k: "done"; readonly id: number; readonly value: unknown }
  | { readonly k: "failed"; readonly id: number; readonly failure: unknown }
  | { readonly k: "abort"; readonly signal: number }
  | { readonly k: "over"; readonly signals: readonly number[] }
  | { readonly k: "drop"; readonly ref: number; readonly count: number };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** The signals that crossed with the call are of no use any more. */
  readonly over: () => void;
}

export interface LinkOptions {
  post(message: unknown): void;
  /** Objects that the other side may send back and mean the very object. Default: none. */
  hasIdentity?(value: object): boolean;
  /** Around each call that comes in. */
  run?<T>(work: () => T): T;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #exports = new Exports();
  readonly #imports = new Imports((ref, count) => this.#post({ k: "drop", ref, count }));
  readonly #waiting = new Map<number, Waiting>();
  /** Signals of the other side, while their calls last. */
  readonly #controllers = new Map<number, AbortController>();
  #calls = 0;
  #signals = 0;
  #closed: Error | undefined;
  #root: ((value: unknown) => void) | undefined;
  /** What the other side offers without being asked. */
  readonly root = new Promise<unknown>((resolve) => (this.#root = resolve));

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** References the other side holds. */
  get handedOut(): number {
    return this.#exports.size;
  }

  /** Calls that were not answered yet. */
  get underWay(): number {
    return this.#waiting.size;
  }

  offer(root: object): void {
    this.#post({ k: "root", value: pack(root, this.#sender([])) });
  }

  /** Fails all that waits and everything from now on, and aborts the signals of the other side. Safe to call twice. */
  close(error: Error): void {
    this.#closed ??= error;
    for (const { reject, over } of this.#waiting.values()) {
      over();
      reject(error);
    }
    this.#waiting.clear();
    for (const controller of this.#controllers.values()) controller.abort();
    this.#controllers.clear();
  }

  receive(message: unknown): void {
    const parsed = message as Message; // the other end of this very class sent it
    switch (parsed.k) {
      case "root":
        return this.#root?.(unpack(parsed.value, this.#receiver()));
      case "call":
        return void this.#answer(parsed.id, parsed.ref, parsed.args);
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

  #post(message: Message): void {
    if (!this.#closed) this.#options.post(message);
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
      this.#post({ k: "call", id, ref, args: packed });
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
      this.#post({ k: "done", id, value: pack(value, this.#sender([]), "result") });
    } catch (error) {
      this.#post({ k: "failed", id, failure: pack(plain(failureOf(error)), this.#sender([]), "error") });
    }
  }

  #sender(watched: (() => void)[], crossed: (signal: number) => void = () => undefined): Sender {
    return {
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

  /** @param iterating wraps what is to be done when an iteration has ended */
  #receiver(iterating: (ended: () => void) => () => void = (ended) => ended): Receiver {
    return {
      standIn: (ref) => this.#imports.take(ref, () => this.#standIn(ref)) as AnyFunction, // made by the next line only
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

/** Refusals may carry particulars that cannot cross; they are left out then. */
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
        const step = (await next()) as IteratorResult<unknown>; // packed by the other end
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
