/** The configuration section `channels.telegram`, converted to account settings. */
import { accountsOf, type AccountConfig, channelConfig, DEFAULT_ACCOUNT } from "@svc/kit/channels";
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

export const API_ROOT = "https://api.telegram.org";
/** Default of `pollSeconds`. */
const POLL_SECONDS = 2;

const FIELDS = {
  botToken: Type.Optional(
    Type.String({ minLength: 1, sensitive: true, description: "token of the bot, from @BotFather; required" }),
  ),
  apiRoot: Type.Optional(
    Type.String({
      pattern: "^https?://",
      advanced: true,
      description: `address of the Bot API server; default ${API_ROOT}`,
    }),
  ),
  webhookUrl: Type.Optional(
    Type.String({
      pattern: "^https?://",
      advanced: true,
      description:
        "public address of this gateway's path /plugins/telegram/webhook/<account>; Telegram then delivers there, instead of being polled",
    }),
  ),
  webhookSecret: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9_-]{1,256}$",
      sensitive: true,
      advanced: true,
      description: "secret that Telegram sends with each delivery; required with webhookUrl",
    }),
  ),
  pollSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 50,
      advanced: true,
      description: `seconds that a poll waits for messages; a silent connection is noticed 3 s later; default ${POLL_SECONDS}`,
    }),
  ),
};

export const TelegramConfig = channelConfig(FIELDS);
export type TelegramConfig = Static<typeof TelegramConfig>;

/** Settings of one bot. */
export interface Settings {
  /** Empty: not configured. */
  readonly token: string;
  /** Without a slash at the end. */
  readonly apiRoot: string;
  readonly pollSeconds: number;
  /** Absent: long polling. */
  readonly webhook?: { readonly url: string; readonly secret: string };
}

/** @throws SetupOutcome for invalid settings */
export function telegramAccounts(section: TelegramConfig): ChannelAccount<Settings>[] {
  return accountsOf<typeof FIELDS, Settings>(section, read);
}

function read(config: AccountConfig<typeof FIELDS>, id: string) {
  const { botToken: token = "", apiRoot = API_ROOT, webhookUrl: url, webhookSecret: secret, pollSeconds } = config;
  const path = id === DEFAULT_ACCOUNT ? "" : `/accounts/${id}`;
  if (url !== undefined && !URL.canParse(url)) misconfigured(`${path}/webhookUrl`, `"${url}" is not a URL`);
  if (!URL.canParse(apiRoot)) misconfigured(`${path}/apiRoot`, `"${apiRoot}" is not a URL`);
  const webhook =
    url === undefined
      ? undefined
      : { url, secret: secret ?? misconfigured(`${path}/webhookSecret`, "webhookUrl needs a webhookSecret") };
  const settings: Settings = {
    token: token.trim(),
    apiRoot: apiRoot.replace(/\/+$/, ""),
    pollSeconds: pollSeconds ?? POLL_SECONDS,
    ...(webhook ? { webhook } : {}),
  };
  return { isConfigured: settings.token !== "", settings };
}
