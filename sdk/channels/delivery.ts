/** The `Delivery` service: sending an agent's words to where people are. */
import { defineService } from "../service.ts";
import type { HeartbeatVisibility } from "../heartbeat/service.ts";

/** A text for somebody. */
export interface DeliveryRequest {
  /** Unique: the same text is not sent twice for the same id. */
  readonly id: string;
  /** Channel id, or `last`: where the session was spoken to last. */
  readonly channel: string;
  /** Recipient in the channel's own notation. Default: the last one of the session. */
  readonly to?: string;
  /** Login of the channel that sends it. Default: the one the session was last spoken to with, else the channel's first. */
  readonly accountId?: string;
  /** Session whose last address counts. */
  readonly sessionKey: string;
  readonly text: string;
  /** Whether the thread of the last conversation is kept. Default true. */
  readonly keepsThread?: boolean;
  /** Whether it may go to a direct chat. Default true; else the outcome says `dm-blocked`. */
  readonly allowsDirect?: boolean;
}

/** Where a text went, or why it went nowhere. */
export type DeliveryOutcome =
  | { readonly delivered: true; readonly channel: string; readonly to: string; readonly accountId?: string }
  | {
      readonly delivered: false;
      /** A sentence for people. */
      readonly reason: string;
      readonly code?: "dm-blocked";
    };

/** Sends texts through the channels that are loaded. */
export interface Delivery {
  /** Ids of the loaded channels. */
  channels(): readonly string[];
  /** The id a name or alias means, or `undefined`. */
  channelId(name: string): string | undefined;
  /** What people see of heartbeats. */
  heartbeats(): HeartbeatVisibility;
  /** @throws GatewayError `UNAVAILABLE` when it may work later */
  deliver(request: DeliveryRequest): Promise<DeliveryOutcome>;
}

/** Delivery to channels. Provided by the plugin that owns the channels. */
export const Delivery = defineService<Delivery>()("delivery", "1.0.0");
