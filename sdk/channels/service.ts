/**
 * The `Channel` extension point: where people talk to agents. A channel speaks one network's language and nothing else;
 * supervision, who may talk, sessions, runs and retries belong to the owner of the point.
 *
 * Everything here can cross to another thread or process: accounts and capabilities are data, all functions may be
 * asynchronous.
 */
import { defineExtensionPoint } from "../service.ts";

/** What a channel can carry. */
export interface ChannelCapabilities {
  /** Kinds of conversation it knows. */
  readonly chats: readonly ("direct" | "group")[];
  /** Longest text of one message in characters; longer ones are split before `send`. */
  readonly maxTextChars: number;
  /** Messages can belong to a thread. Default false. */
  readonly threads?: boolean;
}

/** One login of a channel, from its configuration. A change of the configuration reloads the plugin. */
export interface ChannelAccount<Settings = unknown> {
  /** `default` where there is only one. */
  readonly id: string;
  readonly name?: string;
  /** False: it is listed and not run. Default true. */
  readonly enabled?: boolean;
  /** False: something it cannot do without is missing; it is listed and not run. Default true. */
  readonly configured?: boolean;
  /**
   * Ids of the people whose direct messages reach an agent; `*` is everybody. Only ids that nobody else can take, as in
   * `sender.id`. Default: nobody.
   */
  readonly allowFrom?: readonly string[];
  /** Groups, by `chat.id`, in which the agent listens; `*` is every group. Default: none. */
  readonly groups?: readonly string[];
  /** In a group only what mentions the agent reaches it. Default true. */
  readonly requireMention?: boolean;
  /** What `run` and `send` get. May hold secrets: nobody else sees it. */
  readonly settings: Settings;
}

/** A message that came in. */
export interface InboundMessage {
  /** Unique within the account: the same id is taken once. Default: every message counts as new. */
  readonly id?: string;
  readonly chat: {
    readonly type: "direct" | "group";
    /** Address that `send` takes for an answer. */
    readonly id: string;
    readonly name?: string;
    readonly threadId?: string;
  };
  readonly sender: {
    /** An id that nobody else can take. */
    readonly id: string;
    readonly name?: string;
  };
  /** Without a mention in front, so that commands such as `/new` are found. */
  readonly text: string;
  /** It speaks to the agent. Meant for groups. */
  readonly mentioned?: boolean;
  /** epoch ms; default: now. */
  readonly at?: number;
}

/** What became of a message that came in. */
export type Receipt =
  /** It is on disk and will reach an agent. */
  | { readonly accepted: true; readonly sessionKey: string }
  | {
      readonly accepted: false;
      readonly reason: "duplicate" | "not-allowed" | "not-mentioned" | "empty" | "busy";
    };

/** How an account is. `needs-login` is not tried again before something changes. */
export interface ChannelReport {
  readonly state: "connecting" | "connected" | "disconnected" | "needs-login";
  /** For people. */
  readonly detail?: string;
}

/** What one run of an account has to work with. */
export interface ChannelRun<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  /** Hands a message over. Resolves when it is on disk. @throws GatewayError `UNAVAILABLE` when it could not be taken: bring it again */
  receive(message: InboundMessage): Promise<Receipt>;
  report(report: ChannelReport): void;
  /** Aborts when the account is to stop. */
  readonly signal: AbortSignal;
}

/** A text on its way out. */
export interface OutboundMessage<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  /** As `target` returned it, or `chat.id` of a message that came in. */
  readonly to: string;
  readonly threadId?: string;
  /** At most `maxTextChars` characters. */
  readonly text: string;
  readonly signal: AbortSignal;
}

/** What the network called the message that was sent. */
export interface SendReceipt {
  /** Default: one is made up. */
  readonly messageId?: string;
}

/** The login an operator asks something of. */
export interface ChannelLogin<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** What a logout came to. */
export interface LogoutReceipt {
  /** What it logged in with is forgotten. */
  readonly cleared: boolean;
  /** The network knows that it is logged out. Default: as `cleared`. */
  readonly loggedOut?: boolean;
}

/** A channel. Contribution id = channel id, lower case; `gateway.extend(Channel, "irc", channel)`. */
export interface Channel<Settings = unknown> {
  /** Shown to people. */
  readonly label: string;
  /** Other names people know it by, lower case. */
  readonly aliases?: readonly string[];
  readonly capabilities: ChannelCapabilities;
  readonly accounts: readonly ChannelAccount<Settings>[];
  /** The address a person meant, in its one spelling; `undefined`: it is none of this channel. */
  target(text: string): string | undefined | Promise<string | undefined>;
  /** What kind of conversation an address that `target` returned is. Default: direct, where the channel knows such. */
  chatType?(to: string): "direct" | "group" | Promise<"direct" | "group">;
  /**
   * Runs one account until `signal` aborts. Returns or throws earlier: it is run again with back-off.
   * Resources are acquired here and gone when it has settled.
   */
  run(run: ChannelRun<Settings>): Promise<void>;
  /** @throws GatewayError `UNAVAILABLE` it may work later; `INVALID_REQUEST` it never will; anything else counts as the former */
  send(message: OutboundMessage<Settings>): Promise<SendReceipt>;
  /** Forgets the login of an account, which does not run meanwhile. Absent: people take it out of the configuration. */
  logout?(login: ChannelLogin<Settings>): Promise<LogoutReceipt>;
  /** Asks the network how the account is, for people. Absent: what `run` reports is all there is. @throws whatever is wrong with it */
  probe?(login: ChannelLogin<Settings>): Promise<unknown>;
}

/** Ties the type of the settings together. */
export function defineChannel<Settings>(channel: Channel<Settings>): Channel {
  return channel as unknown as Channel; // the owner hands each account's settings back to the channel they came from
}

/** Channels. Owner: the plugin `channels`. */
export const Channel = defineExtensionPoint<Channel>("channel", { remotable: true });
