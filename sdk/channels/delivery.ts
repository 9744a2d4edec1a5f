/** The `Delivery` service: sends texts of agents to people. */
import { defineService } from "../service.ts";
import type { OutboundMedia } from "./service.ts";
import type { HeartbeatVisibility } from "../heartbeat/service.ts";

/** A text to deliver. */
export interface DeliveryRequest {
  /** Unique: a text is not sent twice under the same id. */
  readonly id: string;
  /** Channel id, or `last`: the channel of the last message in the session. */
  readonly channel: string;
  /** Recipient in the notation of the channel. Default: the last recipient of the session. */
  readonly to?: string;
  /**
   * Account of the channel that sends the text. Default: the account last used in the session, otherwise the first
   * account of the channel.
   */
  readonly accountId?: string;
  /** Session that supplies the last address. */
  readonly sessionKey: string;
  /** Empty if there are files. */
  readonly text: string;
  /** Sent after the text. A kind that the channel lacks is sent as a plain file; without plain files it is refused. */
  readonly files?: readonly OutboundMedia[];
  /** Thread to write in. Default: the thread of the last conversation, if it is with the same recipient. */
  readonly threadId?: string;
  /** Whether to reply in the thread of the last conversation. Default true. */
  readonly keepsThread?: boolean;
  /** Whether the text may be sent to a direct chat. Default true; if false, a direct chat yields `dm-blocked`. */
  readonly allowsDirect?: boolean;
}

/** Where a text was sent, or why it was not sent. */
export type DeliveryOutcome =
  | { readonly delivered: true; readonly channel: string; readonly to: string; readonly accountId?: string }
  | {
      readonly delivered: false;
      /** A sentence for people. */
      readonly reason: string;
      readonly code?: "dm-blocked";
    };

/** A channel with an account that runs. */
export interface ConfiguredChannel {
  readonly id: string;
  /** Shown to people. */
  readonly label: string;
  /** Account for requests that name none. */
  readonly defaultAccountId: string;
  readonly accounts: readonly {
    readonly accountId: string;
    readonly connected: boolean;
    /** False: login required. */
    readonly linked: boolean;
  }[];
}

/** Sends texts through the loaded channels. */
export interface Delivery {
  /** Ids of the loaded channels, configured or not. */
  channels(): readonly string[];
  /** The channels with an account that runs. */
  configured(): readonly ConfiguredChannel[];
  /** The channel id for a name or alias, or `undefined`. */
  channelId(name: string): string | undefined;
  /** Whether the channel shows Opus in an Ogg file as a voice message; false for an unknown channel. */
  takesVoice(name: string): boolean;
  /** What people see of heartbeats. */
  heartbeats(): HeartbeatVisibility;
  /**
   * Key of the session that messages of a conversation belong to. Default account: `ConfiguredChannel.defaultAccountId`.
   * @throws GatewayError `INVALID_REQUEST` or `NOT_FOUND` if there is no such address, `UNAVAILABLE` while the channel loads
   */
  sessionOf(place: {
    /** Id, name or alias. */
    readonly channel: string;
    /** Recipient in the notation of the channel. */
    readonly to: string;
    readonly accountId?: string;
    readonly threadId?: string;
  }): Promise<string>;
  /** @throws GatewayError `UNAVAILABLE` if a later attempt may succeed */
  deliver(request: DeliveryRequest): Promise<DeliveryOutcome>;
}

/** Token of the service. */
export const Delivery = defineService<Delivery>()("delivery", "1.0.0", {
  summary:
    "Delivers texts to chats. Provided by the plugin that owns the channels; used by agent runs, heartbeats and scheduled jobs.",
});
