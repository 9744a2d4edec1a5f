/** The `Delivery` service: sending an agent's words to where people are. */
import { defineService } from "../service.ts";

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
}

/** Where a text went, or why it went nowhere. */
export type DeliveryOutcome =
  | { readonly delivered: true; readonly channel: string; readonly to: string }
  | { readonly delivered: false; readonly reason: string };

/** Sends texts through the channels that are loaded. */
export interface Delivery {
  /** Ids of the loaded channels. */
  channels(): readonly string[];
  /** The id a name or alias means, or `undefined`. */
  channelId(name: string): string | undefined;
  /** @throws GatewayError `UNAVAILABLE` when it may work later */
  deliver(request: DeliveryRequest): Promise<DeliveryOutcome>;
}

/** Delivery to channels. Provided by the plugin that owns the channels. */
export const Delivery = defineService<Delivery>()("delivery", "1.0.0");
