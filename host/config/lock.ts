/** One at a time, in the order they came. */
import { AsyncLocalStorage } from "node:async_hooks";

/** Runs `work` when all that was given before is done, whatever became of it. @returns what `work` returns or throws */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

/** @param refuse throws, for work that asks for the lock it runs under: it would wait for itself */
export function createLock(refuse: () => never): Lock {
  const turns = new AsyncLocalStorage<{ over: boolean }>();
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    if (turns.getStore()?.over === false) refuse();
    const turn = { over: false }; // what was begun in a turn may ask again when that is over
    const mine = last.then(() => turns.run(turn, work)).finally(() => (turn.over = true));
    last = mine.catch(() => undefined);
    return mine;
  };
}
