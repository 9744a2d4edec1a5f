/** Paces outgoing lines, because servers disconnect clients that send too many. */
import { type Clock, pause } from "@svc/sdk";

export interface PaceOptions {
  /** Number of lines that may be sent at once. */
  readonly burst: number;
  /** Milliseconds after which one more line may be sent. */
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
}

export class Pace {
  readonly #options: PaceOptions;
  /** Time at which the bucket is full again. */
  #fullAt = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Resolves when the next line may be sent. @throws the signal's reason if it aborts first */
  async turn(signal: AbortSignal): Promise<void> {
    const { burst, intervalMs, clock } = this.#options;
    signal.throwIfAborted();
    const now = clock.elapsed();
    this.#fullAt = Math.max(now, this.#fullAt) + intervalMs;
    const waitMs = this.#fullAt - now - burst * intervalMs;
    if (waitMs <= 0) return;
    await pause(waitMs, clock, signal);
    signal.throwIfAborted();
  }
}
