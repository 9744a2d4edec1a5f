/** Combines several abort signals. */
import { setMaxListeners } from "node:events";

/**
 * Its signal aborts with the first of its sources and that source's reason, or by `abort`. Release it when the work is
 * done. Use it instead of `AbortSignal.any`, which leaves an entry on each source, and a source lives as long as its
 * plugin.
 */
export class AnySignal {
  readonly #ending = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort = () => this.abort(this.#sources.find(({ aborted }) => aborted)?.reason);

  /** @param sources absent ones never abort */
  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    if (this.#sources.some(({ aborted }) => aborted)) {
      this.#onAbort();
      return;
    }
    setMaxListeners(0, ...this.#sources); // as many listeners as there is work under way
    for (const source of this.#sources) source.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Aborts and releases the sources. @param reason default: an `AbortError` */
  abort(reason?: unknown): void {
    this.release();
    this.#ending.abort(reason);
  }

  /** Removes all listeners from the sources, which then no longer abort the signal. Safe to call twice. */
  release(): void {
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
