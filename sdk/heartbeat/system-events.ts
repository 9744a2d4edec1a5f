/** The `SystemEvents` service: queues events that no person sent for a session, and wakes the session. */
import type { Origin } from "../origin.ts";
import { defineService } from "../service.ts";
import type { Statement } from "../storage/service.ts";

/** An event for a session that no person sent. */
export interface SystemEvent {
  /** Unique: a second event with the same id is ignored. */
  readonly id: string;
  /** Canonical key of the session that receives the event. */
  readonly sessionKey: string;
  /** Plain text. External content is wrapped when it is shown to the session. */
  readonly text: string;
  /** Origin of the text; for texts of the gateway: `GATEWAY_WORDS`. Default: an origin without any authority. */
  readonly origin?: Origin;
  /** The text is already wrapped, or its owner wants it unwrapped. Default false. */
  readonly isMarked?: boolean;
  /**
   * `now`: wakes the session, if the heartbeat settings of its agent allow it (http/sessions-routing.md §7.2).
   * `next-heartbeat`: waits for the next turn of the session.
   */
  readonly wake: "now" | "next-heartbeat";
  /** Subject, e.g. `hook:wake`. `cron:<jobId>` and `exec-event` change the prompt of the agent. */
  readonly reason: string;
  /** epoch ms */
  readonly at: number;
}

/** Durable queue of events per session; drained into the system prompt of the next turn. Spec: http/webhooks.md §10. */
export interface SystemEvents {
  /**
   * Statements that store the event; run them in your own transaction, then call `stored`. They succeed however many
   * events wait: the oldest are folded into one event that states their number.
   */
  statements(event: SystemEvent): readonly Statement[];
  /** Call this when the statements are durable: wakes the session if requested. */
  stored(event: Pick<SystemEvent, "sessionKey" | "wake" | "reason">): void;
  /** Runs the statements and calls `stored`. Durable when it resolves. */
  add(event: SystemEvent): Promise<void>;
  /** Events not yet shown to the session, oldest first. */
  waiting(sessionKey: string): Promise<readonly SystemEvent[]>;
}

/** Token of the service. */
export const SystemEvents = defineService<SystemEvents>()("system.events", "1.0.0", {
  summary:
    "Queues system events for sessions. Provided by the plugin `heartbeat`; used by webhooks, scheduled jobs and tools that report later.",
});
