/**
 * Records whose code is running in shared memory, which another thread can read while this one is busy.
 *
 * Every generation of a plugin has a number of its own, never used again; 0 is nobody. Only what runs before the first
 * `await` is marked: the rest is found through the async context, see `current-owner.ts`.
 */
import type { Owner } from "../hooks/owner.ts";

/** The mark of no plugin. */
export const NOBODY = 0;

/** Of this whole process: there is one event loop. Written plainly, since an atomic store costs six times as much. */
const running = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const owners = new Map<number, Owner>();
const numbers = new WeakMap<Owner, number>();
const listeners = new Set<MarkListener>();
let last = NOBODY;

/** Told of each number and whose it is; `undefined`: it is nobody's any more. */
export type MarkListener = (mark: number, plugin: string | undefined) => void;

/** @returns a number for this owner, until `forgetMark` */
export function newMark(owner: Owner): number {
  const mark = ++last;
  owners.set(mark, owner);
  numbers.set(owner, mark);
  for (const listen of listeners) listen(mark, owner.id);
  return mark;
}

/** Safe to call twice. */
export function forgetMark(mark: number): void {
  if (!owners.delete(mark)) return;
  for (const listen of listeners) listen(mark, undefined);
}

export function ownerOf(mark: number): Owner | undefined {
  return owners.get(mark);
}

export function markOf(owner: Owner | undefined): number {
  return (owner && numbers.get(owner)) ?? NOBODY;
}

/** Runs `work` under this number; whatever ran around it gets its own back. */
export function runMarked<T>(mark: number, work: () => T): T {
  const around = running[0] ?? NOBODY;
  running[0] = mark;
  try {
    return work();
  } finally {
    running[0] = around;
  }
}

/** Holds the number of whoever runs. */
export function markMemory(): SharedArrayBuffer {
  return running.buffer as SharedArrayBuffer;
}

/** Tells the numbers there are, and those there will be. @returns stops telling */
export function tellMarks(listen: MarkListener): () => void {
  for (const [mark, { id }] of owners) listen(mark, id);
  listeners.add(listen);
  return () => void listeners.delete(listen);
}
