/**
 * The `Channel` extension point: connects a chat network to agents. A channel only implements the protocol of one
 * network; supervision, admission of senders, sessions, runs, markup, files, splitting and retries are the task of the
 * owner of the point.
 *
 * Everything here can cross to another thread or process: accounts and capabilities are plain data, all functions may
 * be asynchronous.
 */
import type { Static, TSchema } from "../schema.ts";
import { defineExtensionPoint } from "../service.ts";
import type { ChannelAccess } from "./access.ts";
import type { AccountState } from "./account-state.ts";
import type { InboundMessage, MediaKind } from "./inbound.ts";
import type { ChannelLoginSteps } from "./login.ts";

/** Capabilities of a channel. The owner of the point uses nothing that is not listed here. */
export interface ChannelCapabilities {
  /** Supported kinds of conversation. */
  readonly chats: readonly ("direct" | "group")[];
  /** Maximum characters of one message before markup; longer texts are split before `send`. */
  readonly maxTextChars: number;
  /**
   * Markup of `text` in `send` and `edit`: texts of agents are Markdown and are converted to it. `plain`: without
   * markup; `markdown`: unchanged; `html`: `b i s u code pre a blockquote` with escaped text; `mrkdwn`: `*bold*`,
   * `<url|text>`. Default `plain`.
   */
  readonly markup?: "plain" | "markdown" | "html" | "mrkdwn";
  /** Messages can belong to a thread. Default false. */
  readonly threads?: boolean;
  /** `replyTo` makes a message an answer to another one. Default false. */
  readonly replies?: boolean;
  /** Kinds of files that `send` accepts, one per message. Default: none. */
  readonly media?: readonly MediaKind[];
  /** Maximum bytes of a file. Default 8,000,000. */
  readonly maxMediaBytes?: number;
  /** Maximum characters of a text in the same message as a file; 0: text and file are separate messages. Default: as `maxTextChars`. */
  readonly maxCaptionChars?: number;
  /** `OutboundMedia.isVoice` is shown as a voice message. Default false. */
  readonly voice?: boolean;
  /** The channel has `react`. Default false. */
  readonly reactions?: boolean;
  /** The channel has `edit`. Default false. */
  readonly edits?: boolean;
  /** Minimum milliseconds between two edits of a message that is still being written. Default 1500. */
  readonly editEveryMs?: number;
  /** The channel has `typing`. Default false. */
  readonly typing?: boolean;
  /** `send` and `edit` accept `buttons`. Default false. */
  readonly buttons?: boolean;
  /** `send` accepts `poll`. Absent: no polls. */
  readonly polls?: {
    readonly maxOptions: number;
    /** People can select several options. Default false. */
    readonly multiple?: boolean;
    /** Maximum seconds until the poll closes by itself. Absent: it stays open. */
    readonly maxSeconds?: number;
    /** Polls can hide who voted. Default false. */
    readonly anonymous?: boolean;
  };
  /** The network shows the list of commands: `ChannelRun.commands`. Default false. */
  readonly commandMenu?: boolean;
  /** Each direct chat has a session of its own, whatever `session.dmScope` says: the people do not know each other. Default false. */
  readonly ownSessions?: boolean;
}

/** One account of a channel, from its configuration. A configuration change reloads the plugin. */
export interface ChannelAccount<Settings = unknown> extends ChannelAccess {
  /** `default` if there is only one account. */
  readonly id: string;
  readonly name?: string;
  /** Used when a request names no account. Default: the account `default`, otherwise the first that runs. */
  readonly isDefault?: boolean;
  /** False: listed but not run. Default true. */
  readonly enabled?: boolean;
  /** False: a required setting is missing; listed but not run. Default true. */
  readonly configured?: boolean;
  /**
   * The network calls the gateway, e.g. by webhooks: of several gateways on one state, each runs the account. Default false: one of them
   * runs it at a time.
   */
  readonly isShared?: boolean;
  /** Another plugin connects the account: its contribution `<channel>.<id>` of `ChannelTransport`. Default: the channel itself. */
  readonly transport?: {
    readonly id: string;
    /** npm package of the plugin, for people who have not installed it. */
    readonly package: string;
  };
  /** Passed to all functions. May contain secrets; no other code receives it. */
  readonly settings: Settings;
}

/** Outcome of an incoming message. */
export type Receipt =
  /** The message is on disk and will reach an agent. */
  | { readonly accepted: true; readonly sessionKey: string }
  | {
      readonly accepted: false;
      /**
       * `pairing`: the sender got a code. `not-mentioned`: the message is only context of the group. `invalid`: it breaks
       * this contract; the log has the fault.
       */
      readonly reason: "duplicate" | "not-allowed" | "pairing" | "not-mentioned" | "empty" | "invalid";
    };

/** State of an account. After `needs-login`, the account is not retried until something changes. */
export interface ChannelReport {
  readonly state: "connecting" | "connected" | "disconnected" | "needs-login";
  /** Shown to people. */
  readonly detail?: string;
}

/** A command of the gateway, for the menu of a network. */
export interface MenuCommand {
  /** Lower case letters, digits and `_`, without the slash. */
  readonly name: string;
  readonly description: string;
}

/** Context of one run of an account. */
export interface ChannelRun<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  /** For networks with a command menu. A use of the menu is submitted as the text `/<name> <arguments>`. */
  readonly commands: readonly MenuCommand[];
  /**
   * Submits an incoming message or event. Resolves when it is on disk or refused; only then may the channel acknowledge
   * it to the network. `submitted` of `@svc/kit/channels` submits it until it resolves.
   * @throws GatewayError `UNAVAILABLE` if it could not be accepted, e.g. because too many messages wait; submit it again
   *   after `retryAfterMs`
   */
  receive(message: InboundMessage): Promise<Receipt>;
  report(report: ChannelReport): void;
  /**
   * Reads what earlier runs of this account have stored, also those of other gateways. Of a shared account, the last write of any gateway
   * stays: keep in tables what all of them change.
   * @throws GatewayError `UNAVAILABLE`
   */
  openState<S extends TSchema>(schema: S): Promise<AccountState<Static<S>>>;
  /** Call this when the network has proved that the connection works, e.g. with a heartbeat. `channels.status` shows the time. */
  alive(): void;
  /** Aborts when the account must stop. */
  readonly signal: AbortSignal;
}

/** Account and cancellation of one call. */
export interface ChannelCall<Settings = unknown> {
  readonly accountId: string;
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** A conversation on the network. */
export interface ChannelPlace {
  /** Address as returned by `target`, or `chat.id` of an incoming message. */
  readonly to: string;
  readonly threadId?: string;
}

/** A file to send. */
export interface OutboundMedia {
  readonly kind: MediaKind;
  readonly bytes: Uint8Array;
  /** File name without directories. */
  readonly name: string;
  readonly mimeType: string;
  /** Audio recorded as speech. */
  readonly isVoice?: boolean;
}

/** A button below a message. */
export interface MessageButton {
  /** At most 60 characters. */
  readonly label: string;
  /** Submitted as `event.value` when somebody presses the button. At most 60 ASCII characters. */
  readonly value: string;
  readonly style?: "primary" | "danger";
}

/** A poll. */
export interface MessagePoll {
  readonly question: string;
  readonly options: readonly string[];
  /** Maximum number of options a person can select. */
  readonly maxSelections: number;
  readonly seconds?: number;
  readonly isAnonymous?: boolean;
}

/** A message to send: a text, a file with or without text, or a poll. */
export interface OutboundMessage<Settings = unknown> extends ChannelCall<Settings>, ChannelPlace {
  /**
   * Same for each attempt to send this message: networks that accept an id of the sender then send it once.
   * 32 characters `0-9a-f`.
   */
  readonly id: string;
  /** In the markup of the channel; at most `maxTextChars` characters before markup. Empty if there is a file or a poll. */
  readonly text: string;
  readonly media?: OutboundMedia;
  /** The network's id of the message that this one answers. Ignore it if that message is gone. */
  readonly replyTo?: string;
  /** Rows of buttons. */
  readonly buttons?: readonly (readonly MessageButton[])[];
  readonly poll?: MessagePoll;
  /** Without a notification, where the network can. */
  readonly silent?: boolean;
}

/** A change of a sent message. */
export interface MessageEdit<Settings = unknown> extends ChannelCall<Settings>, ChannelPlace {
  readonly messageId: string;
  readonly text: string;
  /** Replaces the buttons; empty or absent: removes them. */
  readonly buttons?: readonly (readonly MessageButton[])[];
}

/** A reaction to a message. */
export interface MessageReaction<Settings = unknown> extends ChannelCall<Settings>, ChannelPlace {
  readonly messageId: string;
  /** A Unicode emoji. */
  readonly emoji: string;
  /** Removes the reaction. Default false. */
  readonly remove?: boolean;
}

/** The network's id of the sent message. */
export interface SendReceipt {
  /** Default: a generated id. */
  readonly messageId?: string;
  /** The network's id of the sent poll. */
  readonly pollId?: string;
}

/** A file of an incoming message whose address is needed now. */
export interface MediaRequest<Settings = unknown> extends ChannelCall<Settings> {
  /** `InboundMedia.ref`. */
  readonly ref: string;
  /** Maximum bytes of the file. A channel that returns `MediaBytes` stops reading there. */
  readonly maxBytes: number;
}

/** Address of a file. The owner of the point downloads it, with size and time limits. */
export interface MediaSource {
  readonly url: string;
  /** E.g. `authorization`. Not sent to another host after a redirect. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A file whose bytes only the channel can read, e.g. because they are encrypted. */
export interface MediaBytes {
  readonly bytes: Uint8Array;
  /** Default: `InboundMedia.mimeType`. */
  readonly mimeType?: string;
}

/** Outcome of a logout. */
export interface LogoutReceipt {
  /** The stored login was deleted. */
  readonly cleared: boolean;
  /** The network was notified of the logout. Default: same as `cleared`. */
  readonly loggedOut?: boolean;
}

/** How accounts of a channel reach its network. */
export interface ChannelConnection<Settings = unknown> {
  readonly capabilities: ChannelCapabilities;
  /**
   * Normalizes an address entered by a person; `undefined`: not an address of this channel. The address of a person is
   * the `sender.id` of their messages, alone or after `user:`; under any other one, what is sent to the person is
   * recorded in another session than what they write.
   */
  target(text: string): string | undefined | Promise<string | undefined>;
  /** Kind of conversation of an address returned by `target`. Default: direct, if the channel supports it. */
  chatType?(to: string): "direct" | "group" | Promise<"direct" | "group">;
  /**
   * Runs one account until `signal` aborts. If it returns or throws earlier, it is run again with back-off. Resources
   * are acquired here and must be released before it settles.
   * @throws GatewayError `NOT_LINKED`: the network refuses the login; the account reports `needs-login` and is not run
   *   again until something changes
   */
  run(run: ChannelRun<Settings>): Promise<void>;
  /**
   * @throws GatewayError `UNAVAILABLE`: a retry may succeed, not before `retryAfterMs` if the network named a time;
   *   `INVALID_REQUEST`: a retry is pointless; any other error counts as `UNAVAILABLE`, also `NOT_LINKED`: the message
   *   waits for a new login
   */
  send(message: OutboundMessage<Settings>): Promise<SendReceipt>;
  /** With the capability `edits`. @throws as `send`; `NOT_FOUND`: the message is gone or can no longer be changed */
  edit?(edit: MessageEdit<Settings>): Promise<void>;
  /** With the capability `reactions`. @throws as `edit` */
  react?(reaction: MessageReaction<Settings>): Promise<void>;
  /** With the capability `typing`. Shows for some seconds that an answer is being written. */
  typing?(place: ChannelCall<Settings> & ChannelPlace): Promise<void>;
  /** Address or bytes of a file of an incoming message. Needed if messages have `media`. @throws as `edit` */
  media?(request: MediaRequest<Settings>): Promise<MediaSource | MediaBytes>;
  /** Steps that create or renew the login of an account. Absent: people write the configuration themselves. */
  readonly login?: ChannelLoginSteps;
  /**
   * Deletes the login of an account, which is stopped meanwhile. Absent: people remove the account from the
   * configuration.
   */
  logout?(login: ChannelCall<Settings>): Promise<LogoutReceipt>;
  /**
   * Checks the account with the network; the result is shown to people. Absent: only the reports of `run` are
   * available. @throws an error that describes the problem
   */
  probe?(login: ChannelCall<Settings>): Promise<unknown>;
}

/** A channel. The contribution id is the channel id, in lower case: `gateway.extend(Channel, "irc", channel)`. */
export interface Channel<Settings = unknown> extends ChannelConnection<Settings> {
  /** Shown to people. */
  readonly label: string;
  /** Other common names of the channel, in lower case. */
  readonly aliases?: readonly string[];
  readonly accounts: readonly ChannelAccount<Settings>[];
  /** What its own accounts connect, beside those of transports, e.g. `a business number`. Shown to people who choose. */
  readonly connects?: string;
}

/**
 * Another way to reach the network of a channel, in a plugin of its own. It serves the accounts that name it in
 * `ChannelAccount.transport`; the channel reads their settings from its section. The contribution id is
 * `<channel>.<transport>`: `gateway.extend(ChannelTransport, "whatsapp.web", transport)`. The configuration that its login
 * returns must make the channel name the transport.
 */
export interface ChannelTransport<Settings = unknown> extends ChannelConnection<Settings> {
  /** As `Channel.connects`. */
  readonly connects: string;
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

/** Ties the settings type of the functions together. */
export function defineTransport<Settings>(transport: ChannelTransport<Settings>): ChannelTransport {
  return transport as unknown as ChannelTransport; // the channel hands over the settings that belong to the transport
}

/** Token of the extension point. */
export const ChannelTransport = defineExtensionPoint<ChannelTransport>("channel.transport", {
  summary:
    "Further ways to reach the network of a channel. Owned by the plugin `channels`; contributed by plugins that connect some accounts of another plugin's channel.",
  remotable: true,
});
