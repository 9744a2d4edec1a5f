/** What all contract suites share: the test they run in, and patience. */

/** The part of `node:test`'s context that a contract suite uses. */
export interface ContractContext {
  after(cleanUp: () => Promise<void>): void;
  /** Adds a subtest. Resolves when it is over, however it went. */
  test(name: string, check: (t: ContractContext) => Promise<void>): Promise<void>;
}

/** Milliseconds something may take that should happen at once. Choice: generous, for machines under load. */
export const PATIENCE_MS = 5_000;

/** Settles as `promise`, or rejects with what should have happened. */
export async function inTime<T>(promise: PromiseLike<T>, ms: number, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} (waited ${ms} ms)`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What became of a promise, as a value. */
export async function outcomeOf<T>(promise: PromiseLike<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}
