/** Shared parts of the contract suites: the test context, and timeouts. */

/** The part of `node:test`'s context that a contract suite uses. */
export interface ContractContext {
  after(cleanUp: () => Promise<void>): void;
  /** Adds a subtest. Resolves when it is over, whether it passed or failed. */
  test(name: string, check: (t: ContractContext) => Promise<void>): Promise<void>;
}

/** Milliseconds for something that should happen at once. Choice: generous, for machines under load. */
export const PATIENCE_MS = 5_000;

/** Settles like `promise`, or rejects with the expectation after `ms` milliseconds. */
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

/** The outcome of a promise, as a value. */
export async function outcomeOf<T>(promise: PromiseLike<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}
