/** The configuration section `channels.slack`, converted to accounts. */
import { type AccountConfig, accountsOf, channelConfig } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

const secret = (pattern: string, description: string) =>
  Type.Optional(Type.String({ pattern, sensitive: true, description }));

const FIELDS = {
  botToken: secret("^xoxb-", "bot token; Slack shows it under OAuth & Permissions"),
  appToken: secret(
    "^xapp-",
    "app-level token with the scope connections:write, for mode socket; Slack shows it under Basic Information",
  ),
  signingSecret: secret("^\\S+$", "secret that signs requests, for mode http; Slack shows it under Basic Information"),
  mode: Type.Optional(
    Type.Enum(["socket", "http"], {
      description:
        "how events arrive: socket connects to Slack; http waits for requests at /plugins/slack/<account>; default socket",
    }),
  ),
  apiUrl: Type.Optional(
    Type.String({ pattern: "^https?://", description: "address of the Web API; default https://slack.com/api/" }),
  ),
  slashCommand: Type.Optional(
    Type.String({ pattern: "^/[a-z0-9_-]+$", description: "slash command of the Slack app; default /svc" }),
  ),
  pingTimeoutMs: Type.Optional(
    Type.Integer({
      minimum: 30,
      advanced: true,
      description:
        "milliseconds without an answer to a ping after which the connection is closed; Slack is pinged three times in it; default 2000",
    }),
  ),
  checkMs: Type.Optional(
    Type.Integer({
      minimum: 20,
      advanced: true,
      description: "milliseconds between two checks of the bot token; default 60000",
    }),
  ),
} as const;

export const SlackConfig = channelConfig(FIELDS);

/** Settings of one account. */
export interface Settings {
  readonly botToken: string;
  /** Empty in mode `http`. */
  readonly appToken: string;
  /** Empty in mode `socket`. */
  readonly signingSecret: string;
  readonly mode: "socket" | "http";
  readonly apiUrl: string;
  readonly slashCommand: string;
  /**
   * The library needs up to 5/3 of it to close a silent connection: the default is the longest that reports the loss
   * within 5 s.
   */
  readonly pingTimeoutMs: number;
  readonly checkMs: number;
}

export const DEFAULTS: Settings = {
  botToken: "",
  appToken: "",
  signingSecret: "",
  mode: "socket",
  apiUrl: "https://slack.com/api/",
  slashCommand: "/svc",
  pingTimeoutMs: 2_000,
  checkMs: 60_000,
};

/** @throws SetupOutcome for invalid access settings */
export function slackAccounts(section: Static<typeof SlackConfig>): ChannelAccount<Settings>[] {
  return accountsOf<typeof FIELDS, Settings>(section, (own: AccountConfig<typeof FIELDS>) => {
    const settings: Settings = {
      botToken: own.botToken ?? DEFAULTS.botToken,
      appToken: own.appToken ?? DEFAULTS.appToken,
      signingSecret: own.signingSecret ?? DEFAULTS.signingSecret,
      mode: own.mode ?? DEFAULTS.mode,
      apiUrl: own.apiUrl ?? DEFAULTS.apiUrl,
      slashCommand: own.slashCommand ?? DEFAULTS.slashCommand,
      pingTimeoutMs: own.pingTimeoutMs ?? DEFAULTS.pingTimeoutMs,
      checkMs: own.checkMs ?? DEFAULTS.checkMs,
    };
    const other = settings.mode === "http" ? settings.signingSecret : settings.appToken;
    return { isConfigured: settings.botToken !== "" && other !== "", isShared: settings.mode === "http", settings };
  });
}
