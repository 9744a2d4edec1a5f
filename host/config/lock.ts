/** Runs tasks one at a time, in the order they arrive. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Turns } from "@svc/sdk";

/** Runs `work` after all earlier work has settled. @returns the outcome of `work` */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

/** @param refuse throws; called when work requests the lock it already holds, which would deadlock */
export function createLock(refuse: () => never): Lock {
  const turns = new Turns();
  const running = new AsyncLocalStorage<{ over: boolean }>();
  return async (work) => {
    if (running.getStore()?.over === false) refuse();
    const turn = { over: false }; // async work started in a turn may request the lock after the turn
    return turns.take("", () => running.run(turn, work).finally(() => (turn.over = true)));
  };
}
