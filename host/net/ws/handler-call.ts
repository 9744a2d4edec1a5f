/** An incoming call, and the call that its handler gets. */
import type { Call, ConnectionInfo, Principal } from "@svc/sdk";
import { WorkSignal } from "../../hooks/work-signal.ts";

/** A call before dispatch. */
export interface IncomingCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly signal: AbortSignal;
  /** Unknown params of a method that only reads are left out instead of refused. Default false. */
  readonly ignoresUnknown?: boolean;
  accept(payload: unknown): void;
}

export class HandlerCall implements Call<never> {
  readonly params: never;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly accept: (payload: unknown) => void;
  readonly #caller: AbortSignal;
  readonly #signal: WorkSignal;
  #hasEnded = false;

  /** @param params already validated. @param plugin aborts when the plugin stops */
  constructor({ principal, connection, signal, accept }: IncomingCall, params: unknown, plugin: AbortSignal) {
    this.params = params as never;
    this.principal = principal;
    this.connection = connection;
    this.accept = (payload) => {
      if (!this.#hasEnded) accept(payload);
    };
    this.#caller = signal;
    this.#signal = new WorkSignal(signal, plugin);
  }

  get signal(): AbortSignal {
    return this.#signal.get();
  }

  /** Whether the handler failed with `error` because the caller disconnected: not a fault. */
  isLeft(error: unknown): boolean {
    return this.#caller.aborted && error instanceof Error && error.name === "AbortError";
  }

  /** Call it when the handler has returned or failed. */
  ended(): void {
    this.#hasEnded = true;
    this.#signal.ended();
  }
}
