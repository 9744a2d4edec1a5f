/**
 * How values cross to another thread or process. Plain data goes as it is; what cannot be copied (functions, signals,
 * iterators, principals) goes as a reference and is stood in for on the other side. Pure but for the references.
 *
 * An object with the key `~` is always one of ours: such keys of others are wrapped, so that nobody can make up a reference.
 */
import type { Failure } from "./failures.ts";
import { errorOf, failureOf } from "./failures.ts";

const MARK = "~";
/** Deeper values are refused; they are most likely circular. */
const DEEPEST = 100;

type Tagged =
  | { readonly [MARK]: "function"; readonly ref: number }
  /** A copy that stands for the very object when it is sent back. */
  | { readonly [MARK]: "same"; readonly ref: number; readonly copy: unknown }
  /** One of the receiver's own. */
  | { readonly [MARK]: "yours"; readonly ref: number }
  | { readonly [MARK]: "signal"; readonly ref: number; readonly aborted: boolean }
  | { readonly [MARK]: "iterator"; readonly next: unknown; readonly end: unknown }
  | { readonly [MARK]: "error"; readonly failure: unknown }
  | { readonly [MARK]: "query"; readonly text: string }
  | { readonly [MARK]: "url"; readonly text: string }
  /** With properties that are not enumerable: schemas have such. */
  | { readonly [MARK]: "hidden"; readonly shown: unknown; readonly hidden: unknown }
  /** An object of somebody else that has our mark for a key. */
  | { readonly [MARK]: "raw"; readonly entries: readonly (readonly [string, unknown])[] };

type AnyFunction = (...args: unknown[]) => unknown;

/** What a value weighs beside its bytes: what it costs the other side to make one. */
const VALUE_WEIGHT = 128;

/** A number and the like, as JSON. */
const PLAIN_WEIGHT = 8;

/** What one side does with what cannot be copied. */
export interface Sender {
  /** Told of everything that crosses. @param weight about its bytes. @throws Error that is too much for one message */
  weigh(weight: number, where: string): void;
  /** @returns the reference under which the other side may call or name it */
  handOut(value: object): number;
  /** The reference of an object that came from the other side. */
  refOf(value: object): number | undefined;
  /** Whether the other side has to be able to send the very object back. */
  hasIdentity(value: object): boolean;
  /** @returns the reference under which it will be told of the abort */
  watch(signal: AbortSignal): number;
}

export interface Receiver {
  /** Told of everything that is no object. @param weight about its bytes as JSON. Default: nobody asks */
  weigh?(weight: number): void;
  standIn(ref: number): AnyFunction;
  same(ref: number, copy: object): object;
  mine(ref: number): object;
  signal(ref: number, aborted: boolean): AbortSignal;
  iterable(next: AnyFunction, end: AnyFunction): AsyncIterable<unknown>;
}

/** @throws Error naming what cannot cross, and where it stands */
export function pack(value: unknown, sender: Sender, where = "value", depth = 0): unknown {
  if (typeof value === "function") return packFunction(value as AnyFunction, undefined, sender);
  if (typeof value === "symbol") throw new Error(`${where}: a symbol cannot cross to another thread or process`);
  sender.weigh(weightOf(value), where);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST)
    throw new Error(`${where}: too deep to cross to another thread or process; it may contain itself`);
  const theirs = sender.refOf(value);
  if (theirs !== undefined) return { [MARK]: "yours", ref: theirs } satisfies Tagged;
  if (isLeaf(value)) return value;
  if (Array.isArray(value)) return value.map((item, index) => pack(item, sender, `${where}[${index}]`, depth + 1));
  return packObject(value, sender, where, depth);
}

function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  return value instanceof Map || value instanceof Set ? VALUE_WEIGHT * (1 + value.size) : VALUE_WEIGHT;
}

function packFunction(called: AnyFunction, self: object | undefined, sender: Sender): Tagged {
  const theirs = sender.refOf(called);
  if (theirs !== undefined) return { [MARK]: "yours", ref: theirs };
  return { [MARK]: "function", ref: sender.handOut(self ? bound(self, called) : called) };
}

/** The same bound function for the same method, so that it is handed out once. */
const bindings = new WeakMap<object, WeakMap<AnyFunction, AnyFunction>>();

function bound(self: object, method: AnyFunction): AnyFunction {
  const own = bindings.get(self) ?? new WeakMap<AnyFunction, AnyFunction>();
  bindings.set(self, own);
  const known = own.get(method) ?? ((...args: unknown[]) => method.apply(self, args));
  own.set(method, known);
  return known;
}

function isLeaf(value: object): boolean {
  return (
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value) ||
    value instanceof Map ||
    value instanceof Set
  );
}

function packObject(value: object, sender: Sender, where: string, depth: number): unknown {
  if (value instanceof Error) {
    const failure = failureOf(value);
    return { [MARK]: "error", failure: pack(failure, sender, where, depth + 1) } satisfies Tagged;
  }
  if (value instanceof AbortSignal) {
    return { [MARK]: "signal", ref: sender.watch(value), aborted: value.aborted } satisfies Tagged;
  }
  if (value instanceof URLSearchParams) return { [MARK]: "query", text: value.toString() } satisfies Tagged;
  if (value instanceof URL) return { [MARK]: "url", text: value.href } satisfies Tagged;
  if (value instanceof Promise) throw new Error(`${where}: a promise cannot cross to another thread or process`);
  if (isAsyncIterable(value)) {
    const iterator = value[Symbol.asyncIterator]();
    const next = () => iterator.next();
    const end = async () => void (await iterator.return?.());
    return {
      [MARK]: "iterator",
      next: packFunction(next, undefined, sender),
      end: packFunction(end, undefined, sender),
    } satisfies Tagged;
  }
  const fields = packFields(value, sender, where, depth);
  if (!sender.hasIdentity(value)) return fields;
  return { [MARK]: "same", ref: sender.handOut(value), copy: fields } satisfies Tagged;
}

function isAsyncIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === "function";
}

function packFields(value: object, sender: Sender, where: string, depth: number): unknown {
  const packed: [string, unknown][] = [];
  const hidden: [string, unknown][] = [];
  for (const [key, inner, shown] of propertiesOf(value)) {
    const entry = typeof inner === "function" ? packFunction(inner as AnyFunction, value, sender) : undefined;
    (shown ? packed : hidden).push([key, entry ?? pack(inner, sender, `${where}.${key}`, depth + 1)]);
  }
  const shown = packed.some(([key]) => key === MARK)
    ? ({ [MARK]: "raw", entries: packed } satisfies Tagged)
    : Object.fromEntries(packed);
  return hidden.length === 0
    ? shown
    : ({ [MARK]: "hidden", shown, hidden: Object.fromEntries(hidden) } satisfies Tagged);
}

/** Own properties, hidden ones of schemas too, and the methods of a class. */
function* propertiesOf(value: object): Generator<readonly [key: string, value: unknown, shown: boolean]> {
  const seen = new Set<string>();
  for (const key of Object.getOwnPropertyNames(value)) {
    const shown = Object.prototype.propertyIsEnumerable.call(value, key);
    if (!shown && !key.startsWith(MARK)) continue;
    seen.add(key);
    yield [key, (value as Record<string, unknown>)[key], shown];
  }
  for (let type = prototypeOf(value); type; type = prototypeOf(type)) {
    for (const key of Object.getOwnPropertyNames(type)) {
      if (key === "constructor" || seen.has(key)) continue;
      seen.add(key);
      yield [key, (value as Record<string, unknown>)[key], true];
    }
  }
}

/** That of a class; `undefined` for plain objects. */
function prototypeOf(value: object): object | undefined {
  const type = Object.getPrototypeOf(value) as object | null;
  return type === null || type === Object.prototype ? undefined : type;
}

/** What was packed on the other side. @throws Error it names what it was never given */
export function unpack(packed: unknown, receiver: Receiver): unknown {
  if (typeof packed !== "object" || packed === null || isLeaf(packed)) {
    receiver.weigh?.(typeof packed === "string" ? packed.length : PLAIN_WEIGHT);
    return packed;
  }
  if (Array.isArray(packed)) return packed.map((item: unknown) => unpack(item, receiver));
  if (MARK in packed) return unpackTagged(packed as Tagged, receiver);
  return fromEntries(Object.entries(packed), receiver);
}

/** `__proto__` becomes a key like any other. */
function fromEntries(entries: readonly (readonly [string, unknown])[], receiver: Receiver): object {
  return Object.fromEntries(entries.map(([key, value]) => [key, unpack(value, receiver)]));
}

function unpackTagged(tagged: Tagged, receiver: Receiver): unknown {
  switch (tagged[MARK]) {
    case "function":
      return receiver.standIn(tagged.ref);
    case "same":
      return receiver.same(tagged.ref, unpack(tagged.copy, receiver) as object);
    case "yours":
      return receiver.mine(tagged.ref);
    case "signal":
      return receiver.signal(tagged.ref, tagged.aborted);
    case "iterator":
      return receiver.iterable(
        unpack(tagged.next, receiver) as AnyFunction,
        unpack(tagged.end, receiver) as AnyFunction,
      );
    case "error":
      return errorOf(unpack(tagged.failure, receiver) as Failure);
    case "query":
      return new URLSearchParams(tagged.text);
    case "url":
      return new URL(tagged.text);
    case "hidden": {
      const shown = unpack(tagged.shown, receiver) as object;
      for (const [key, value] of Object.entries(unpack(tagged.hidden, receiver) as object))
        Object.defineProperty(shown, key, { value, enumerable: false });
      return shown;
    }
    case "raw":
      return fromEntries(tagged.entries, receiver);
  }
}

/**
 * Where a function is declared to return an iterable at once, its promise serves as one. Where it is declared to return
 * nothing, nobody looks at the promise: its failure is no stray error of the caller.
 */
export function iterablePromise(promise: Promise<unknown>): Promise<unknown> {
  promise.catch(() => undefined);
  async function* iterate() {
    yield* (await promise) as AsyncIterable<unknown>; // whoever iterates expects one
  }
  return Object.assign(promise, { [Symbol.asyncIterator]: iterate });
}
