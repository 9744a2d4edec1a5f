/** Writes that must not be lost: retried while the storage is unavailable. */
import { type Clock, isGatewayError, pause } from "@svc/sdk";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Retry options. */
export interface PersistOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts between two attempts. A write in progress is always awaited, because its outcome must be known. */
  readonly signal: AbortSignal;
  /**
   * Called when a retried write conflicts: whether an earlier attempt succeeded although it seemed to fail. Default: it
   * did not.
   */
  readonly isDone?: () => Promise<boolean>;
}

/**
 * Retries a write while the storage is `UNAVAILABLE`. Choice: a full disk or a busy database delays work instead of
 * failing it, because the failure could not be stored either. Pause: as requested by the storage, else 0.5 s, doubling
 * up to 10 s.
 * @throws the error of `write` unless it is `UNAVAILABLE`; the signal's reason if it aborts during a pause
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
