/** Runs tasks one at a time, in the order they arrive. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Turns } from "@svc/sdk";

/** Runs `work` after all earlier work has settled. @returns the outcome of `work` */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

interface Turn {
  readonly of: Turns;
  /** The turn of another lock whose work requested this one. */
  readonly within: Turn | undefined;
  isOver: boolean;
}

/** One for all locks: up to Node 22 each further storage slows down every promise of the process, and is never released. */
const running = new AsyncLocalStorage<Turn | undefined>();

/** This turn, or the nearest one around it that is not over: async work started in a turn may outlive it. */
function unfinished(turn: Turn | undefined): Turn | undefined {
  return turn?.isOver ? unfinished(turn.within) : turn;
}

/** @param refuse throws; called when work requests the lock it already holds, which would deadlock */
export function createLock(refuse: () => never): Lock {
  const turns = new Turns();
  return async (work) => {
    const within = unfinished(running.getStore());
    for (let turn = within; turn; turn = unfinished(turn.within)) if (turn.of === turns) refuse();
    const turn: Turn = { of: turns, within, isOver: false };
    return turns.take("", () => running.run(turn, work).finally(() => (turn.isOver = true)));
  };
}
