/** Errors that nobody awaits, of code that somebody else wrote: whose they are. */
import { AsyncLocalStorage } from "node:async_hooks";

type Handler = (error: unknown) => void;

const context = new AsyncLocalStorage<Handler>();

/**
 * Runs code of somebody else. What it throws later (a timer, a promise nobody awaits) goes to `handle` instead of being charged
 * to the plugin that runs it, in whatever carrier that runs.
 */
export function withStrayErrors<T>(handle: (error: unknown) => void, work: () => T): T {
  return context.run(handle, work);
}

/** Who takes the stray errors of the code that runs now. For hosts. */
export function strayErrorHandler(): ((error: unknown) => void) | undefined {
  return context.getStore();
}
