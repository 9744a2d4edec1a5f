/** Finds the plugin behind an error nobody awaited: each plugin's code runs inside an async context that names it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { strayErrorHandler } from "@svc/sdk";
import type { Owner } from "../hooks/owner.ts";

/** `SVC_ATTRIBUTION=off` runs without it, for measuring. Choice. */
const enabled = process.env["SVC_ATTRIBUTION"] !== "off";
const context = new AsyncLocalStorage<Owner>();

/** Runs `work` on behalf of `owner`. */
export function runAs<T>(owner: Owner, work: () => T): T {
  return enabled ? context.run(owner, work) : work();
}

/** Whose code is running, as far as the async context knows. */
export function currentOwner(): Owner | undefined {
  return context.getStore();
}

/** Where a failure happened of which nobody waited for the end. */
const NOBODY_AWAITED = "code nobody awaited";

/**
 * Charges stray errors of this process to their plugin and lets the process live; an error of nobody goes to
 * `fatal`, which should log, drain and exit. @returns stops watching
 */
export function watchStrayErrors(fatal: (error: unknown) => void): () => void {
  const onStray = (error: unknown) => (takerOfStray() ?? fatal)(error);
  const unwatch = watchMicrotasks();
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
  return () => {
    process.off("uncaughtException", onStray);
    process.off("unhandledRejection", onStray);
    unwatch();
  };
}

/** Who answers for what the code that runs now throws later. */
function takerOfStray(): ((error: unknown) => void) | undefined {
  const owner = currentOwner();
  return strayErrorHandler() ?? (owner && ((error) => owner.charge(error, NOBODY_AWAITED)));
}

/**
 * What is thrown in a microtask of a plugin is caught there: up to Node 22 the runtime has left the context by the
 * time it tells of the error. @returns puts the runtime's own back
 */
function watchMicrotasks(): () => void {
  const plain = globalThis.queueMicrotask;
  const queue: typeof plain = (callback) => {
    const take = takerOfStray();
    if (!take || typeof callback !== "function") return plain(callback);
    plain(() => {
      try {
        callback();
      } catch (error) {
        take(error);
      }
    });
  };
  globalThis.queueMicrotask = queue;
  return () => {
    if (globalThis.queueMicrotask === queue) globalThis.queueMicrotask = plain;
  };
}
