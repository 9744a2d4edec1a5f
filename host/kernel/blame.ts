/** Finds the plugin behind an error nobody awaited: each plugin's code runs inside an async context that names it. */
import { AsyncLocalStorage } from "node:async_hooks";
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

/**
 * Charges stray errors of this process to their plugin and lets the process live; an error of nobody goes to
 * `fatal`, which should log, drain and exit. @returns stops watching
 */
export function watchStrayErrors(fatal: (error: unknown) => void): () => void {
  const onStray = (error: unknown) => {
    const owner = currentOwner();
    if (owner) owner.charge(error, "code nobody awaited");
    else fatal(error);
  };
  process.on("uncaughtException", onStray);
  process.on("unhandledRejection", onStray);
  return () => {
    process.off("uncaughtException", onStray);
    process.off("unhandledRejection", onStray);
  };
}
