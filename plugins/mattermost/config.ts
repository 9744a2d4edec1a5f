/** The configuration section `channels.mattermost`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** Milliseconds between two pings, unless the configuration sets another value. */
const PING_MS = 2_000;

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));

const FIELDS = {
  baseUrl: text("address of the Mattermost server, e.g. https://chat.example.com", { pattern: ADDRESS_PATTERN }),
  botToken: text("access token of the bot account", { sensitive: true }),
  callbackUrl: text(
    "address of this gateway that the Mattermost server can reach; needed for buttons and the slash command",
    { pattern: ADDRESS_PATTERN },
  ),
  slashCommandToken: text("token of the custom slash command that an administrator created", { sensitive: true }),
  pingMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 60_000,
      description: `milliseconds between two pings; a missing reply is a lost connection; default ${PING_MS}`,
    }),
  ),
};

export const MattermostConfig = channelConfig(FIELDS);
export type MattermostConfig = Static<typeof MattermostConfig>;

/** Settings of an account. Addresses have no slash at the end. */
export interface Settings {
  readonly baseUrl: string;
  readonly botToken: string;
  readonly callbackUrl?: string;
  readonly slashCommandToken?: string;
  readonly pingMs: number;
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: MattermostConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { baseUrl = "", botToken = "", callbackUrl, slashCommandToken, pingMs = PING_MS } = own;
    return {
      isConfigured: baseUrl !== "" && botToken !== "",
      settings: {
        baseUrl: trimmedAddress(baseUrl),
        botToken,
        pingMs,
        ...(callbackUrl === undefined ? {} : { callbackUrl: trimmedAddress(callbackUrl) }),
        ...(slashCommandToken === undefined ? {} : { slashCommandToken }),
      },
    };
  });
}
