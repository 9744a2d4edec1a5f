/** A call as it comes in, and what its handler gets of it. */
import type { Call, ConnectionInfo, Principal } from "@svc/sdk";
import { WorkSignal } from "../../hooks/work-signal.ts";

/** A call on its way in. */
export interface IncomingCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly signal: AbortSignal;
  accept(payload: unknown): void;
}

export class HandlerCall implements Call<never> {
  readonly params: never;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly accept: (payload: unknown) => void;
  readonly #caller: AbortSignal;
  readonly #signal: WorkSignal;

  /** @param params validated just before. @param plugin aborts when the plugin stops */
  constructor({ principal, connection, signal, accept }: IncomingCall, params: unknown, plugin: AbortSignal) {
    this.params = params as never;
    this.principal = principal;
    this.connection = connection;
    this.accept = accept;
    this.#caller = signal;
    this.#signal = new WorkSignal(signal, plugin);
  }

  get signal(): AbortSignal {
    return this.#signal.get();
  }

  /** Whether its handler ended with this since the caller has gone: nobody's mistake. */
  isLeft(error: unknown): boolean {
    return this.#caller.aborted && error instanceof Error && error.name === "AbortError";
  }

  /** The handler has answered. */
  ended(): void {
    this.#signal.ended();
  }
}
