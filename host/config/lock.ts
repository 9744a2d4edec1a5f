/** One at a time, in the order they came. */

/** Runs `work` when all that was given before is done, whatever became of it. @returns what `work` returns or throws */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

export function createLock(): Lock {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
