/** Keeps lines apart, since servers throw out who sends too many. */
import { type Clock, pause } from "@svc/sdk";

export interface PaceOptions {
  /** Lines that may go at once. */
  readonly burst: number;
  /** Milliseconds after which one more may go. */
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
}

export class Pace {
  readonly #options: PaceOptions;
  /** When the bucket is full again. */
  #fullAt = 0;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** Resolves when the next line may go. @throws the signal's reason when it aborts first */
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
