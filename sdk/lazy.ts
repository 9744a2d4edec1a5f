/** Code that is imported when it is needed for the first time. */
import { closeSync, openSync } from "node:fs";
import { unavailable } from "./gateway-error.ts";

/** Files that a large package opens at once while it is imported. */
const DESCRIPTORS = 64;
/** Milliseconds for which enough descriptors count as enough. */
const LOOK_EVERY_MS = 100;
/** Milliseconds after which it is worth trying again. */
const RETRY_MS = 1_000;

/**
 * Imports once, and again after a failure. The runtime keeps a file that could not be read as failed for as long as the process
 * lives: so nothing is imported while too few files can be opened.
 * @param load `() => import("...")`
 * @returns the module. @throws GatewayError `UNAVAILABLE` with `retryAfterMs`: too few files can be opened; whatever the import throws
 */
export function lazy<M>(load: () => Promise<M>): () => Promise<M> {
  let loading: Promise<M> | undefined;
  return () => {
    loading ??= imported(load).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

async function imported<M>(load: () => Promise<M>): Promise<M> {
  requireDescriptors();
  return load();
}

let foundAt = Number.NEGATIVE_INFINITY;

/** Looks at most once in 100 ms: a start imports many plugins. @throws GatewayError `UNAVAILABLE` */
export function requireDescriptors(): void {
  if (performance.now() - foundAt < LOOK_EVERY_MS) return;
  const open: number[] = [];
  try {
    while (open.length < DESCRIPTORS) open.push(openSync(process.execPath, "r"));
    foundAt = performance.now();
  } catch (cause) {
    const { code } = Object(cause) as { readonly code?: unknown };
    if (code !== "EMFILE" && code !== "ENFILE") return; // this process may not open that file
    unavailable("too few files can be opened now; close connections, or raise the limit (ulimit -n)", {
      retryAfterMs: RETRY_MS,
      cause,
    });
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
