/** The signal passed to a handler: created on first access; its listeners are removed when the handler is done. */
import { setMaxListeners } from "node:events";

/**
 * Aborts with any of its sources, or by `abort`. Does not use `AbortSignal.any`, which leaves a reference on each source for every derived
 * signal, while a source lives as long as its plugin or connection.
 */
export class WorkSignal {
  readonly #sources: readonly AbortSignal[];
  #controller: AbortController | undefined;
  #aborted = false;
  readonly #onAbort = () => this.abort();

  constructor(...sources: readonly AbortSignal[]) {
    this.#sources = sources;
  }

  get(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.#aborted || this.#sources.some(({ aborted }) => aborted)) this.#controller.abort();
    else this.#listen();
    return this.#controller.signal;
  }

  #listen(): void {
    setMaxListeners(0, ...this.#sources); // one per handler in progress
    for (const source of this.#sources) source.addEventListener("abort", this.#onAbort, { once: true });
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** Removes its listeners from the sources, which live longer. Call when the work is done; safe to call twice. */
  ended(): void {
    if (!this.#controller) return;
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
