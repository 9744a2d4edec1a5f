/** One call of a transform: its deadline, and what it may return. Spec: http/webhooks.md §6.3. */
import type { Clock } from "../plugin.ts";
import { cut } from "../terminal-text.ts";
import type { Transform } from "../transform.ts";
import type { TransformCall } from "./transforms.ts";

/** Milliseconds a transform may take when its mapping sets no timeout. */
export const TRANSFORM_TIMEOUT_MS = 5_000;

const MAX_DEPTH = 100;
/** Choice: four times the default limit of a request body. */
const MAX_BYTES = 1_048_576;
/** Bytes counted for a value that is not text. */
const VALUE_BYTES = 8;

/** Why a transform cannot be used; the message is for its author. */
export class TransformFault extends Error {}

/**
 * Calls a transform; its signal aborts at the deadline.
 * @returns a JSON object, `null`, or `undefined` for everything else that is falsy
 * @throws any error of the transform; `TransformFault` for a missed deadline and for a result of another kind
 */
export async function callTransform(
  transform: Transform,
  { payload, headers, path, url }: TransformCall,
  timeoutMs: number,
  clock: Pick<Clock, "elapsed" | "setTimeout">,
): Promise<unknown> {
  const began = clock.elapsed();
  const late = () => new TransformFault(`no answer within ${timeoutMs} ms`);
  const controller = new AbortController();
  let cancel = () => {};
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.setTimeout(() => {
      const reason = late();
      reject(reason);
      controller.abort(reason);
    }, timeoutMs);
  });
  try {
    const context = { payload, headers, path, url: new URL(url), signal: controller.signal };
    const answer = (async () => transform(context))(); // a throw becomes a rejection
    const value = await Promise.race([answer, deadline]);
    // Choice: a late result does not count, even if a long computation delayed the deadline's timer.
    if (clock.elapsed() - began > timeoutMs) throw late();
    return checkedResult(value);
  } finally {
    cancel();
  }
}

function checkedResult(value: unknown): unknown {
  if (value === null) return null;
  if (!value) return undefined;
  if (typeof value === "object" && !Array.isArray(value)) return jsonCopy(value, "the result");
  const kind = Array.isArray(value) ? "an array" : `a ${typeof value}`;
  throw new TransformFault(
    `returned ${kind}; return an object, null to skip, or undefined to use the mapping as it is`,
  );
}

/**
 * A deep copy. Keys whose value is `undefined` are left out, as in JSON; so is `__proto__`, which a sender may have sent.
 * @param place name of the value in messages
 * @param most approximate limit in bytes; the copy stops there. Default 1 MiB
 * @throws TransformFault naming the place of a value that is not JSON, or the value that is too large
 */
export function jsonCopy(value: unknown, place: string, most: number = MAX_BYTES): unknown {
  return new JsonCopy(place, most).of(value);
}

class JsonCopy {
  readonly #root: string;
  readonly #most: number;
  #left: number;
  /** Keys and indexes from the root to the current value; formatted only for a message. */
  readonly #path: (string | number)[] = [];

  constructor(root: string, most: number) {
    this.#root = root;
    this.#most = most;
    this.#left = most;
  }

  of(value: unknown): unknown {
    if (this.#path.length > MAX_DEPTH) {
      const where = cut(this.#place, 100, `… (${this.#place.length} characters)`);
      throw new TransformFault(`${where} is nested more than ${MAX_DEPTH} deep, or in itself`);
    }
    this.#spend(typeof value === "string" ? value.length : VALUE_BYTES);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") {
      if (Number.isFinite(value)) return value;
      throw new TransformFault(`${this.#place} is ${value}, which JSON does not have`);
    }
    if (Array.isArray(value)) return Array.from(value, (item: unknown, index) => this.#inner(index, item));
    if (typeof value !== "object")
      throw new TransformFault(`${this.#place} is ${value === undefined ? "" : "a "}${typeof value}; return JSON only`);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype)
      throw new TransformFault(`${this.#place} is a ${className(prototype)}; return JSON only`);
    return this.#object(value as Readonly<Record<string, unknown>>); // by its prototype
  }

  /** Copies key by key, so that the limit stops it early: a list of all entries would cost as much as the largest object. */
  #object(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item === undefined || key === "__proto__") continue;
      this.#spend(key.length);
      copy[key] = this.#inner(key, item);
    }
    return copy;
  }

  #inner(key: string | number, item: unknown): unknown {
    this.#path.push(key);
    const copy = this.of(item);
    this.#path.pop();
    return copy;
  }

  #spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new TransformFault(`${this.#root} is larger than ${this.#most} bytes; return less`);
  }

  get #place(): string {
    return this.#path.reduce<string>(
      (place, key) => place + (typeof key === "number" ? `[${key}]` : `.${key}`),
      this.#root,
    );
  }
}

function className(prototype: unknown): string {
  const maker: unknown = (prototype as { constructor?: unknown }).constructor;
  return typeof maker === "function" && maker.name ? maker.name : "object of a class";
}
