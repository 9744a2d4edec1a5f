/** One at a time, in the order they came. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Turns } from "@svc/sdk";

/** Runs `work` when all that was given before is done, whatever became of it. @returns what `work` returns or throws */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

/** @param refuse throws, for work that asks for the lock it runs under: it would wait for itself */
export function createLock(refuse: () => never): Lock {
  const turns = new Turns();
  const running = new AsyncLocalStorage<{ over: boolean }>();
  return async (work) => {
    if (running.getStore()?.over === false) refuse();
    const turn = { over: false }; // what was begun in a turn may ask again when that is over
    return turns.take("", () => running.run(turn, work).finally(() => (turn.over = true)));
  };
}
