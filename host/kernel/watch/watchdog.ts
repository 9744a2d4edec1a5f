/**
 * Notices when the event loop does not come round, and whose code keeps it.
 *
 * A thread of its own watches a counter that this one raises several times a second. It reports while the loop still
 * stands, since this thread cannot; what becomes of it afterwards is the caller's affair. A block counts from one
 * second on.
 */
import type { WatchdogOptions } from "./options.ts";

/** Milliseconds until it starts: a gateway that begins to serve has better things to do. */
const DELAY_MS = 1_000;

/** Starts watching in a moment. @returns ends it; safe to call twice */
export function startWatchdog(options: WatchdogOptions): () => Promise<void> {
  let stopped = false;
  let watching: Promise<() => Promise<void>> | undefined;
  const begin = async () => {
    const { startWatching } = await import("./watching.ts"); // loads the runtime's debugger
    return stopped ? async () => {} : startWatching(options);
  };
  const delay = setTimeout(() => {
    watching = begin();
    watching.catch((error: unknown) => {
      options.log.warn({ err: error }, "the watchdog cannot start; nobody is named who blocks the event loop");
    });
  }, DELAY_MS).unref();
  return async () => {
    stopped = true;
    clearTimeout(delay);
    const stop = await watching?.catch(() => undefined);
    await stop?.();
  };
}
