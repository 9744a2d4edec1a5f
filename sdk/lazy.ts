/** Lazy imports. */
import { closeSync, openSync } from "node:fs";
import { unavailable } from "./gateway-error.ts";

/** Number of files that a large package opens at once during its import. */
const DESCRIPTORS = 64;
/** Milliseconds for which a successful descriptor check stays valid. */
const LOOK_EVERY_MS = 100;
/** Suggested retry delay in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Imports a module once, and again after a failure. The runtime remembers a file that could not be read as failed for
 * the lifetime of the process, so nothing is imported while too few files can be opened.
 * @param load `() => import("...")`
 * @returns the module
 * @throws GatewayError `UNAVAILABLE` with `retryAfterMs` if too few files can be opened; errors of the import
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

/** Checks at most once per 100 ms, because a start imports many plugins. @throws GatewayError `UNAVAILABLE` */
export function requireDescriptors(): void {
  if (performance.now() - foundAt < LOOK_EVERY_MS) return;
  const open: number[] = [];
  try {
    while (open.length < DESCRIPTORS) open.push(openSync(process.execPath, "r"));
    foundAt = performance.now();
  } catch (cause) {
    const { code } = Object(cause) as { readonly code?: unknown };
    if (code !== "EMFILE" && code !== "ENFILE") return; // this process may not open that file
    unavailable("too few file descriptors are available; close connections, or raise the limit (ulimit -n)", {
      retryAfterMs: RETRY_MS,
      cause,
    });
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
