/**
 * The `Channel` extension point: connects a chat network to agents. A channel only implements the protocol of one
 * network; supervision, admission of senders, sessions, runs and retries are the task of the owner of the point.
 *
 * Everything here can cross to another thread or process: accounts and capabilities are plain data, all functions may
 * be asynchronous.
 */
import { defineExtensionPoint } from "../service.ts";

/** Capabilities of a channel. */
export interface ChannelCapabilities {
  /** Supported kinds of conversation. */
  readonly chats: readonly ("direct" | "group")[];
  /** Maximum characters of one message; longer texts are split before `send`. */
  readonly maxTextChars: number;
  /** Messages can belong to a thread. Default false. */
  readonly threads?: boolean;
}

/** One account of a channel, from its configuration. A configuration change reloads the plugin. */
export interface ChannelAccount<Settings = unknown> {
  /** `default` if there is only one account. */
  readonly id: string;
  readonly name?: string;
  /** False: listed but not run. Default true. */
  readonly enabled?: boolean;
  /** False: a required setting is missing; listed but not run. Default true. */
  readonly configured?: boolean;
  /**
   * Ids of people whose direct messages reach an agent; `*`: everyone. Use only ids that no other user can take over,
   * as in `sender.id`. Default: nobody.
   */
  readonly allowFrom?: readonly string[];
  /** Groups, by `chat.id`, in which the agent listens; `*`: every group. Default: none. */
  readonly groups?: readonly string[];
  /** In groups, only messages that mention the agent reach it. Default true. */
  readonly requireMention?: boolean;
  /** Passed to `run` and `send`. May contain secrets; no other code receives it. */
  readonly settings: Settings;
}

/** An incoming message. */
export interface InboundMessage {
  /** Unique within the account: messages with a known id are ignored. Default: every message counts as new. */
  readonly id?: string;
  readonly chat: {
    readonly type: "direct" | "group";
    /** Address for `send` to reply to. */
    readonly id: string;
    readonly name?: string;
    readonly threadId?: string;
  };
  readonly sender: {
    /** An id that no other user can take over. */
    readonly id: string;
    readonly name?: string;
  };
  /** Without a leading mention, so that commands such as `/new` are recognized. */
  readonly text: string;
  /** The message addresses the agent. Used in groups. */
  readonly mentioned?: boolean;
  /** epoch ms; default: now. */
  readonly at?: number;
}

/** Outcome of an incoming message. */
export type Receipt =
  /** The message is on disk and will reach an agent. */
  | { readonly accepted: true; readonly sessionKey: string }
  | {
      readonly accepted: false;
      readonly reason: "duplicate" | "not-allowed" | "not-mentioned" | "empty" | "busy";
    };

/** State of an account. After `needs-login`, the account is not retried until something changes. */
export interface ChannelReport {
  readonly state: "connecting" | "connected" | "disconnected" | "needs-login";
  /** Shown to people. */
  readonly detail?: string;
}

/** Context of one run of an account. */
export interface ChannelRun<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  /**
   * Submits an incoming message. Resolves when it is on disk. @throws GatewayError `UNAVAILABLE` if it could not be
   * accepted; submit it again later
   */
  receive(message: InboundMessage): Promise<Receipt>;
  report(report: ChannelReport): void;
  /** Aborts when the account must stop. */
  readonly signal: AbortSignal;
}

/** An outgoing text. */
export interface OutboundMessage<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  /** Address as returned by `target`, or `chat.id` of an incoming message. */
  readonly to: string;
  readonly threadId?: string;
  /** At most `maxTextChars` characters. */
  readonly text: string;
  readonly signal: AbortSignal;
}

/** The network's id of the sent message. */
export interface SendReceipt {
  /** Default: a generated id. */
  readonly messageId?: string;
}

/** The account on which an operator acts. */
export interface ChannelLogin<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** Outcome of a logout. */
export interface LogoutReceipt {
  /** The stored login was deleted. */
  readonly cleared: boolean;
  /** The network was notified of the logout. Default: same as `cleared`. */
  readonly loggedOut?: boolean;
}

/** A channel. The contribution id is the channel id, in lower case: `gateway.extend(Channel, "irc", channel)`. */
export interface Channel<Settings = unknown> {
  /** Shown to people. */
  readonly label: string;
  /** Other common names of the channel, in lower case. */
  readonly aliases?: readonly string[];
  readonly capabilities: ChannelCapabilities;
  readonly accounts: readonly ChannelAccount<Settings>[];
  /** Normalizes an address entered by a person; `undefined`: not an address of this channel. */
  target(text: string): string | undefined | Promise<string | undefined>;
  /** Kind of conversation of an address returned by `target`. Default: direct, if the channel supports it. */
  chatType?(to: string): "direct" | "group" | Promise<"direct" | "group">;
  /**
   * Runs one account until `signal` aborts. If it returns or throws earlier, it is run again with back-off. Resources
   * are acquired here and must be released before it settles.
   */
  run(run: ChannelRun<Settings>): Promise<void>;
  /**
   * @throws GatewayError `UNAVAILABLE`: a retry may succeed; `INVALID_REQUEST`: a retry is pointless; any other error
   * counts as `UNAVAILABLE`
   */
  send(message: OutboundMessage<Settings>): Promise<SendReceipt>;
  /**
   * Deletes the login of an account, which is stopped meanwhile. Absent: people remove the account from the
   * configuration.
   */
  logout?(login: ChannelLogin<Settings>): Promise<LogoutReceipt>;
  /**
   * Checks the account with the network; the result is shown to people. Absent: only the reports of `run` are
   * available. @throws an error that describes the problem
   */
  probe?(login: ChannelLogin<Settings>): Promise<unknown>;
}

/** Ties the settings type of accounts and functions together. */
export function defineChannel<Settings>(channel: Channel<Settings>): Channel {
  return channel as unknown as Channel; // the owner hands each account's settings back to the channel they came from
}

/** Token of the extension point. */
export const Channel = defineExtensionPoint<Channel>("channel", {
  summary:
    "Channels. Owned by the plugin `channels`, which runs them; contributed by every plugin that connects a chat network.",
  remotable: true,
});
