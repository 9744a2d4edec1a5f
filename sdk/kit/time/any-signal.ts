/** One signal of several. */
import { setMaxListeners } from "node:events";

/**
 * Its signal aborts with the first of its sources and that one's reason, or by `abort`. To be released when the work is done.
 * Use it in place of `AbortSignal.any`: that leaves an entry on each source, and a source lives as long as its plugin.
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
    setMaxListeners(0, ...this.#sources); // as many as there is work under way
    for (const source of this.#sources) source.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Releases the sources, too. @param reason default: an `AbortError` */
  abort(reason?: unknown): void {
    this.release();
    this.#ending.abort(reason);
  }

  /** Leaves nothing on the sources; they abort the signal no more. Safe to call twice. */
  release(): void {
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
