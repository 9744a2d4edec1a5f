/** The configuration section `channels.signal`, converted to account settings. */
import { ADDRESS_PATTERN, accountsOf as readAccounts, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** A phone number, or the id of an account without one. */
export const ACCOUNT = /^(?:\+[1-9]\d{4,14}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const COMMAND = "signal-cli";
/** Choice: four keep-alive comments of the daemon. */
const SILENT_MS = 60_000;

const text = (description: string, pattern = "^") => Type.Optional(Type.String({ minLength: 1, description, pattern }));

const FIELDS = {
  account: text("own phone number, e.g. +4915112345678; of an account without a number: its id (ACI)", ACCOUNT.source),
  url: text("address of a running signal-cli daemon; default: the gateway starts signal-cli itself", ADDRESS_PATTERN),
  command: text(`the program that the gateway starts: a name on PATH or an absolute path; default ${COMMAND}`),
  dataDir: text("directory in which it keeps accounts and keys, relative to the plugin's; default: that of signal-cli"),
  sendReadReceipts: Type.Optional(Type.Boolean({ description: "accepted messages are shown as read; default false" })),
  silentMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 600_000,
      advanced: true,
      description: `milliseconds without a byte of the event stream after which the connection is lost; default ${SILENT_MS}`,
    }),
  ),
};

export const SignalConfig = channelConfig(FIELDS);
export type SignalConfig = Static<typeof SignalConfig>;

/** Settings of an account. */
export interface Settings {
  /** Empty: not configured. */
  readonly account: string;
  /** Without a slash at the end. Absent: the gateway starts the daemon. */
  readonly url?: string;
  readonly command: string;
  readonly dataDir?: string;
  readonly sendReadReceipts: boolean;
  readonly silentMs: number;
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: SignalConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => ({
    isConfigured: own.account !== undefined,
    settings: settingsOf(own),
  }));
}

export function settingsOf(own: Omit<SignalConfig, "accounts" | "defaultAccount">): Settings {
  const { account = "", url, command = COMMAND, dataDir, sendReadReceipts = false, silentMs = SILENT_MS } = own;
  const program = { command, ...(dataDir === undefined ? {} : { dataDir }) };
  return {
    account,
    sendReadReceipts,
    silentMs,
    ...program,
    ...(url === undefined ? {} : { url: trimmedAddress(url) }),
  };
}
