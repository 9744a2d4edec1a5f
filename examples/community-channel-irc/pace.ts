/** Keeps lines apart, since servers throw out who sends too many. */

export interface PaceOptions {
  /** Lines that may go at once. */
  readonly burst: number;
  /** Milliseconds after which one more may go. */
  readonly intervalMs: number;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** @returns cancels it */
  readonly setTimeout: (callback: () => void, ms: number) => () => void;
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
    const { burst, intervalMs, elapsed, setTimeout } = this.#options;
    signal.throwIfAborted();
    const now = elapsed();
    this.#fullAt = Math.max(now, this.#fullAt) + intervalMs;
    const waitMs = this.#fullAt - now - burst * intervalMs;
    if (waitMs <= 0) return;
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        cancel();
        reject(signal.reason as Error);
      };
      const cancel = setTimeout(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      }, waitMs);
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}
