/** The `SystemEvents` service: what happened that no person said, told to a session, and waking the session for it. */
import type { Origin } from "../origin.ts";
import { defineService } from "../service.ts";
import type { Statement } from "../storage/service.ts";

/** Something that happened. */
export interface SystemEvent {
  /** Unique: a second event with the same id changes nothing. */
  readonly id: string;
  /** Canonical key of the session that is told. */
  readonly sessionKey: string;
  /** Plain text. Words of anybody but the owner and the gateway are wrapped when they are told. */
  readonly text: string;
  /** Whose words it is; the gateway's own: `GATEWAY_WORDS`. Default: nobody's who may do anything. */
  readonly origin?: Origin;
  /** It is wrapped already, or its owner wants it told as it is. Default false. */
  readonly isMarked?: boolean;
  /**
   * `now`: the session is woken for it, as far as the heart of its agent beats (http/sessions-routing.md §7.2).
   * `next-heartbeat`: it waits for the next turn of the session.
   */
  readonly wake: "now" | "next-heartbeat";
  /** What it is about, e.g. `hook:wake`. `cron:<jobId>` and `exec-event` change what the agent is asked. */
  readonly reason: string;
  /** epoch ms */
  readonly at: number;
}

/** Durable queue of events by session; drained into the system prompt of the next turn. Spec: http/webhooks.md §10. */
export interface SystemEvents {
  /**
   * Statements that store the event; run them in a transaction of your own, then call `stored`. However many events wait, they
   * succeed: the oldest are folded into one that says how many they were.
   */
  statements(event: SystemEvent): readonly Statement[];
  /** To be called when the statements are durable: wakes the session where it is asked for. */
  stored(event: Pick<SystemEvent, "sessionKey" | "wake" | "reason">): void;
  /** Both. Durable when it resolves. */
  add(event: SystemEvent): Promise<void>;
  /** Events a session has not been told yet, oldest first. */
  waiting(sessionKey: string): Promise<readonly SystemEvent[]>;
}

/** System events. Provided by the plugin `heartbeat`. */
export const SystemEvents = defineService<SystemEvents>()("system.events", "1.0.0");
