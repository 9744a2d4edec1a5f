/**
 * Records in shared memory which plugin's code is running, so that another thread can read it while this thread is
 * blocked.
 *
 * Every start and every reload of a plugin creates a generation with a unique number, its mark; 0 means no plugin. The
 * record covers only code before the first `await`. The async context identifies the owner of later code, see
 * `current-owner.ts`.
 */
import type { Owner } from "../hooks/owner.ts";

/** The mark while no code of a plugin is running. */
export const NOBODY = 0;

/**
 * The mark of the running code. A process has one such number, as it has one event loop. The store is not atomic: an
 * atomic store costs six times as much.
 */
const running = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const owners = new Map<number, Owner>();
const numbers = new WeakMap<Owner, number>();
const listeners = new Set<MarkListener>();
let last = NOBODY;

/** Called for each new mark with its plugin, and with `undefined` when a mark is released. */
export type MarkListener = (mark: number, plugin: string | undefined) => void;

/** @returns a new mark for this owner, valid until `forgetMark` */
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

/** Runs `work` under this mark, then restores the mark of the surrounding code. */
export function runMarked<T>(mark: number, work: () => T): T {
  const around = running[0] ?? NOBODY;
  running[0] = mark;
  try {
    return work();
  } finally {
    running[0] = around;
  }
}

/** Shared memory with the mark of the running code. */
export function markMemory(): SharedArrayBuffer {
  return running.buffer as SharedArrayBuffer;
}

/** Reports all current marks, and every later change. @returns a function that unsubscribes `listen` */
export function tellMarks(listen: MarkListener): () => void {
  for (const [mark, { id }] of owners) listen(mark, id);
  listeners.add(listen);
  return () => void listeners.delete(listen);
}
