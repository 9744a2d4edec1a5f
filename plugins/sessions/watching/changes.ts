/** Tells who follows the sessions about each stored change, here and on the other gateways on the same state. */
import type { Clock, Logger } from "@svc/sdk";
import type { Peers } from "@svc/sdk/gateway";
import type { SessionChange, Sessions } from "@svc/sdk/sessions";

/** Name of the call that tells other gateways. */
export const CHANGED = "sessions/changed";
/** Milliseconds in which changes are collected for them. */
const TELL_MS = 100;

export interface Changes {
  readonly follow: Sessions["follow"];
  /** Call it after the change is stored. */
  changed(change: SessionChange): void;
  /** Call it with what another gateway told. */
  heard(told: unknown): void;
}

export interface ChangesOptions {
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Pick<Logger, "error">;
  /** Called at each use: the service is available only after the start. */
  readonly peers: () => Pick<Peers, "self" | "tell">;
}

export function createChanges({ clock, log, peers }: ChangesOptions): Changes {
  const listeners = new Set<(change: SessionChange) => void>();
  let untold: SessionChange[] = [];

  function say(change: SessionChange): void {
    for (const listener of listeners) {
      try {
        listener(change);
      } catch (error) {
        log.error({ err: error, sessionKey: change.key }, "a follower of the sessions failed");
      }
    }
  }

  function tell(): void {
    const changes = untold;
    untold = [];
    peers().tell(CHANGED, changes);
  }

  return {
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    changed(change) {
      say(change);
      if (peers().self === undefined) return;
      if (untold.push(change) === 1) clock.setTimeout(tell, TELL_MS);
    },
    heard: (told) => (told as readonly SessionChange[]).forEach(say), // told by `tell`
  };
}
