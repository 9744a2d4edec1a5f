/** A call as it comes in, and what its handler gets of it. */
import type { Call, ConnectionInfo, Principal } from "@svc/sdk";

/** A call on its way in. */
export interface IncomingCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly signal: AbortSignal;
  accept(payload: unknown): void;
}

/** Its signal is only made when somebody looks at it. */
export class HandlerCall implements Call<never> {
  readonly params: never;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly accept: (payload: unknown) => void;
  readonly #caller: AbortSignal;
  readonly #plugin: AbortSignal;
  #controller: AbortController | undefined;
  readonly #abort = () => this.#controller?.abort();

  /** @param params validated just before. @param plugin aborts when the plugin stops */
  constructor({ principal, connection, signal, accept }: IncomingCall, params: unknown, plugin: AbortSignal) {
    this.params = params as never;
    this.principal = principal;
    this.connection = connection;
    this.accept = accept;
    this.#caller = signal;
    this.#plugin = plugin;
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    this.#controller = new AbortController();
    for (const source of [this.#caller, this.#plugin]) {
      if (source.aborted) this.#abort();
      else source.addEventListener("abort", this.#abort, { once: true });
    }
    return this.#controller.signal;
  }

  /** The handler has answered: nothing of it stays on signals that live longer. */
  ended(): void {
    if (!this.#controller) return;
    for (const source of [this.#caller, this.#plugin]) source.removeEventListener("abort", this.#abort);
  }
}
