/** The configuration section `channels.discord`, converted to account settings. */
import { accountsOf as readAccounts, channelConfig } from "@svc/kit/channels";
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

const API_URL = "https://discord.com/api";
const HEARTBEAT_MS = 2_000;

/** All optional: an account may have them instead of the section. Defaults are applied in `settingsOf`. */
const FIELDS = {
  token: Type.Optional(
    Type.String({
      minLength: 1,
      sensitive: true,
      description: "token of the bot, from discord.com/developers/applications > the application > Bot > Reset Token",
    }),
  ),
  apiUrl: Type.Optional(
    Type.String({
      pattern: "^https?://[^\\s]+$",
      description: `address of the API without the version; default ${API_URL}`,
    }),
  ),
  messageContent: Type.Optional(
    Type.Boolean({
      description:
        "request the privileged intent MESSAGE_CONTENT; without it, messages in servers that do not mention the bot have no text; default true",
    }),
  ),
  heartbeatMs: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 40_000,
      description: `milliseconds between two heartbeats; a connection that does not answer one in this time is renewed; default ${HEARTBEAT_MS}`,
    }),
  ),
};

export const DiscordConfig = channelConfig(FIELDS);
export type DiscordConfig = Static<typeof DiscordConfig>;

/** Settings of one account. */
export interface Settings {
  readonly token: string;
  /** Without a slash at the end. */
  readonly apiUrl: string;
  readonly messageContent: boolean;
  readonly heartbeatMs: number;
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(section: DiscordConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(section, (config, _, path) => {
    const settings = settingsOf(config);
    if (/[\s\p{Cc}]/u.test(settings.token)) misconfigured(`${path}/token`, "the token contains a blank; copy it again");
    return { isConfigured: settings.token !== "", settings };
  });
}

/** Settings with defaults, e.g. for a login before the account exists. */
export function settingsOf(config: Pick<DiscordConfig, keyof Settings>): Settings {
  const { token = "", apiUrl = API_URL, messageContent = true, heartbeatMs = HEARTBEAT_MS } = config;
  return { token, apiUrl: apiUrl.replace(/\/+$/, ""), messageContent, heartbeatMs };
}
