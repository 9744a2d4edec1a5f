/** The signal a handler gets: made only when it looks, and left nowhere once it has answered. */
import { setMaxListeners } from "node:events";

/**
 * Aborts with any of its sources, or by `abort`. On our own, since `AbortSignal.any` leaves something on a source for each
 * signal made of it, and a source lives as long as its plugin or connection.
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
    setMaxListeners(0, ...this.#sources); // as many as there is work under way
    for (const source of this.#sources) source.addEventListener("abort", this.#onAbort, { once: true });
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** The work is done: nothing of it stays on signals that live longer. Safe to call twice. */
  ended(): void {
    if (!this.#controller) return;
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
