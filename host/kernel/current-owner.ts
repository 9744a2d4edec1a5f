/** Attributes stray errors to plugins: each plugin's code runs in an async context that holds its owner. */
import { AsyncLocalStorage } from "node:async_hooks";
import { strayErrorHandler } from "@svc/sdk";
import type { Owner } from "../hooks/owner.ts";

/** `SVC_ATTRIBUTION=off` disables it, for benchmarks. Choice. */
const enabled = process.env["SVC_ATTRIBUTION"] !== "off";
const context = new AsyncLocalStorage<Owner>();

/** Runs `work` on behalf of `owner`. */
export function runAs<T>(owner: Owner, work: () => T): T {
  return enabled ? context.run(owner, work) : work();
}

/** Owner of the running code according to the async context, or `undefined`. */
export function currentOwner(): Owner | undefined {
  return context.getStore();
}

/** The `where` of an error in a promise or callback that no code awaits. */
const NOBODY_AWAITED = "unawaited code";

/**
 * Attributes uncaught exceptions and unhandled rejections to their plugin and keeps the process running. An error
 * without an owner goes to `fatal`, which should log, drain and exit. @returns a function that stops watching
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

/** Handler for errors that the running code throws later; `undefined`: it has no owner. */
function takerOfStray(): ((error: unknown) => void) | undefined {
  const owner = currentOwner();
  return strayErrorHandler() ?? (owner && ((error) => owner.charge(error, NOBODY_AWAITED)));
}

/**
 * Catches errors inside microtasks queued by plugins: up to Node 22 the runtime has already left the async context when
 * it reports them. @returns a function that restores the original `queueMicrotask`
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
