/**
 * Serializes values for another thread or process. Plain data is copied. What cannot be copied (functions, signals, iterators,
 * principals) is sent as a reference, and the other side gets a stand-in. Pure, except for the references.
 *
 * A packed object with the key `~` is always internal: foreign objects with that key are wrapped, so that no value can forge a reference.
 */
import type { Failure } from "./failures.ts";
import { errorOf, failureOf } from "./failures.ts";

const MARK = "~";
/** Deepest nesting; a deeper value is rejected as it is most likely circular. */
const DEEPEST = 100;

type Tagged =
  | { readonly [MARK]: "function"; readonly ref: number }
  /** A copy with the identity of the sender's object: sent back, it becomes that object. */
  | { readonly [MARK]: "same"; readonly ref: number; readonly copy: unknown }
  /** An object of the receiver. */
  | { readonly [MARK]: "yours"; readonly ref: number }
  | { readonly [MARK]: "signal"; readonly ref: number; readonly aborted: boolean }
  | { readonly [MARK]: "iterator"; readonly next: unknown; readonly end: unknown }
  | { readonly [MARK]: "error"; readonly failure: unknown }
  | { readonly [MARK]: "query"; readonly text: string }
  | { readonly [MARK]: "url"; readonly text: string }
  /** An object with non-enumerable properties, like a schema. */
  | { readonly [MARK]: "hidden"; readonly shown: unknown; readonly hidden: unknown }
  /** A foreign object that has the mark as a key. */
  | { readonly [MARK]: "raw"; readonly entries: readonly (readonly [string, unknown])[] };

type AnyFunction = (...args: unknown[]) => unknown;

/** Weight of each value other than strings and buffers: the cost of creating it on the other side. */
const VALUE_WEIGHT = 128;

/** Weight of a number or another primitive, about its length as JSON. */
const PLAIN_WEIGHT = 8;

/** How the sending side handles what cannot be copied. */
export interface Sender {
  /** Called for every packed value. @param weight approximate bytes. @throws Error the message becomes too large */
  weigh(weight: number, where: string): void;
  /** @returns the reference under which the other side may call it or send it back */
  handOut(value: object): number;
  /** The reference of an object that came from the other side. */
  refOf(value: object): number | undefined;
  /** Whether the object must keep its identity when the other side sends it back. */
  hasIdentity(value: object): boolean;
  /** @returns the reference under which the abort will be sent */
  watch(signal: AbortSignal): number;
}

export interface Receiver {
  /** Called for every primitive and leaf value. @param weight approximate bytes as JSON. Default: not measured */
  weigh?(weight: number): void;
  standIn(ref: number): AnyFunction;
  same(ref: number, copy: object): object;
  mine(ref: number): object;
  signal(ref: number, aborted: boolean): AbortSignal;
  iterable(next: AnyFunction, end: AnyFunction): AsyncIterable<unknown>;
}

/** Serializes a value. @throws Error with the path of what cannot be sent */
export function pack(value: unknown, sender: Sender, where = "value", depth = 0): unknown {
  if (typeof value === "function") return packFunction(value as AnyFunction, undefined, sender);
  if (typeof value === "symbol") throw new Error(`${where}: a symbol cannot be sent to another thread or process`);
  sender.weigh(weightOf(value), where);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST)
    throw new Error(`${where}: too deep to be sent to another thread or process; it may contain itself`);
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

/** Bound functions by object and method, so that each method is handed out once. */
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
  if (value instanceof Promise) throw new Error(`${where}: a promise cannot be sent to another thread or process`);
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

/** Own properties, including non-enumerable ones of schemas, and the methods of a class. */
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

/** Prototype of a class instance; `undefined` for plain objects. */
function prototypeOf(value: object): object | undefined {
  const type = Object.getPrototypeOf(value) as object | null;
  return type === null || type === Object.prototype ? undefined : type;
}

/** Restores a value packed by the other side. @throws Error it contains a reference that was never handed out */
export function unpack(packed: unknown, receiver: Receiver): unknown {
  if (typeof packed !== "object" || packed === null || isLeaf(packed)) {
    receiver.weigh?.(typeof packed === "string" ? packed.length : PLAIN_WEIGHT);
    return packed;
  }
  if (Array.isArray(packed)) return packed.map((item: unknown) => unpack(item, receiver));
  if (MARK in packed) return unpackTagged(packed as Tagged, receiver);
  return fromEntries(Object.entries(packed), receiver);
}

/** Builds an object; `__proto__` becomes an ordinary key. */
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
 * Makes a promise also usable as the async iterable it resolves to, for functions declared to return an iterable synchronously. Its
 * rejection is marked as handled: where a function is declared to return nothing, the caller ignores the promise.
 */
export function iterablePromise(promise: Promise<unknown>): Promise<unknown> {
  promise.catch(() => undefined);
  async function* iterate() {
    yield* (await promise) as AsyncIterable<unknown>; // iterated only where the function returns an iterable
  }
  return Object.assign(promise, { [Symbol.asyncIterator]: iterate });
}
