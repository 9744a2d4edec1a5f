/** The other gateways on the same state: what they share, and calls to them. */
import { defineService } from "../service.ts";

/** What another gateway shares. */
export interface SharedFact {
  readonly gateway: string;
  readonly key: string;
  /** JSON. */
  readonly value: unknown;
}

/** Handles calls of other gateways. @param signal aborts when the caller no longer waits */
export type PeerHandler = (params: unknown, signal: AbortSignal) => unknown;

/** How long a caller waits. */
export interface AskOptions {
  /** Milliseconds; default 30000. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Topics and names begin with the id of the plugin: `nodes` or `nodes/invoke`. Everything that is passed is JSON and reaches the other gateways in the
 * order of the calls. Without other gateways, nothing is shared, and there is nobody to ask.
 */
export interface Peers {
  /** Name of this gateway among them; `undefined`: it is alone on its state, or nobody to the others now. */
  readonly self: string | undefined;
  /** Shares a fact until this gateway ends, or until it is replaced. @param value `undefined`: no longer */
  share(topic: string, key: string, value: unknown): void;
  /** What the other gateways share. Those that have ended share nothing. */
  shared(topic: string): readonly SharedFact[];
  /** Calls `listener` after a change of `shared`. @returns ends it */
  follow(topic: string, listener: () => void): () => void;
  /** @returns ends it */
  answer(name: string, handler: PeerHandler): () => void;
  /**
   * Calls the handler of another gateway. @param gateway as in `SharedFact`
   * @throws GatewayError as thrown by the handler; `UNAVAILABLE`: the gateway has ended, its plugin does not run, or it did not answer in time
   */
  ask(gateway: string, name: string, params: unknown, options?: AskOptions): Promise<unknown>;
  /** Calls the handlers of all other gateways, without waiting for them. */
  tell(name: string, params: unknown): void;
}

/** Token of the service. */
export const Peers = defineService<Peers>()("gateway.peers", "1.0.0", {
  summary: "Shares facts with the other gateways on the same state, and calls them. Provided by the host.",
});
