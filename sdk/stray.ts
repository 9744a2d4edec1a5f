/** Attribution of unhandled errors in third-party code. */
import { AsyncLocalStorage } from "node:async_hooks";

type Handler = (error: unknown) => void;

const context = new AsyncLocalStorage<Handler>();

/**
 * Runs third-party code. Its later errors (in a timer or an unawaited promise) are passed to `handle` instead of being
 * attributed to the plugin that runs it, wherever that plugin runs.
 */
export function withStrayErrors<T>(handle: (error: unknown) => void, work: () => T): T {
  return context.run(handle, work);
}

/** Handler for stray errors of the running code. Used by hosts. */
export function strayErrorHandler(): ((error: unknown) => void) | undefined {
  return context.getStore();
}
