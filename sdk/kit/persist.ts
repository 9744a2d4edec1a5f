/** Writes that must not get lost: repeated while storage cannot write. */
import { type Clock, isGatewayError, pause } from "@svc/sdk";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** How writes are repeated. */
export interface PersistOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Gives up between two attempts. A write under way is always waited for: its outcome has to be known. */
  readonly signal: AbortSignal;
  /** Asked when a repeated write conflicts: whether an attempt that seemed to fail had done it. Default: it had not. */
  readonly isDone?: () => Promise<boolean>;
}

/**
 * Repeats a write while storage is `UNAVAILABLE`. Choice: a full disk or a busy database holds work up instead of failing
 * it, since its failure could not be stored either. Pauses: what storage asks for, else 0.5 s, doubling, at most 10 s.
 * @throws what `write` throws unless that is `UNAVAILABLE`; the signal's reason when it aborts during a pause
 */
export async function persist(write: () => Promise<unknown>, options: PersistOptions): Promise<void> {
  const { clock, signal, isDone } = options;
  for (let pauseMs = FIRST_PAUSE_MS, attempt = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS), attempt += 1) {
    try {
      await write();
      return;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      if (error.code === "CONFLICT" && attempt > 1 && (await isDone?.())) return;
      if (error.code !== "UNAVAILABLE") throw error;
      signal.throwIfAborted();
      await pause(Math.min(error.retryAfterMs ?? pauseMs, LONGEST_PAUSE_MS), clock, signal);
      signal.throwIfAborted();
    }
  }
}
