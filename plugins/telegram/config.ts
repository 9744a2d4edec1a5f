/** The configuration section `channels.telegram`, converted to account settings. */
import { accountsOf, type AccountConfig, channelConfig } from "@svc/kit/channels";
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

const API_ROOT = "https://api.telegram.org";
/** Default of `pollSeconds`. */
const POLL_SECONDS = 2;
/** Path of the route to which Telegram delivers, before the id of the account. */
export const WEBHOOK_PATH = "/plugins/telegram/webhook/";

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
      pattern: "^https?://[^?#]+$",
      advanced: true,
      description: `public address of this gateway; Telegram then delivers to its path ${WEBHOOK_PATH}<account>, instead of being polled`,
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
  /** `url` leads to the account. Absent: long polling. */
  readonly webhook?: { readonly url: string; readonly secret: string };
}

/** @throws SetupOutcome for invalid settings */
export function telegramAccounts(section: TelegramConfig): ChannelAccount<Settings>[] {
  return accountsOf<typeof FIELDS, Settings>(section, read);
}

/** Address of the Bot API server that the keys name, or of the default one. */
export const apiRootOf = ({ apiRoot = API_ROOT }: Pick<TelegramConfig, "apiRoot">) => trimmed(apiRoot);

const trimmed = (address: string) => address.replace(/\/+$/, "");

function read(config: AccountConfig<typeof FIELDS>, id: string, path: string) {
  const { botToken = "", webhookUrl, webhookSecret, pollSeconds = POLL_SECONDS } = config;
  const apiRoot = apiRootOf(config);
  for (const [key, address] of Object.entries({ webhookUrl, apiRoot }))
    if (address !== undefined && !URL.canParse(address)) misconfigured(`${path}/${key}`, `"${address}" is not a URL`);
  const token = botToken.trim();
  const settings: Settings = { token, apiRoot, pollSeconds };
  if (webhookUrl === undefined) return { isConfigured: token !== "", settings };
  const secret = webhookSecret ?? misconfigured(`${path}/webhookSecret`, "webhookUrl needs a webhookSecret");
  const webhook = { url: `${trimmed(webhookUrl)}${WEBHOOK_PATH}${id}`, secret };
  return { isConfigured: token !== "", isShared: true, settings: { ...settings, webhook } };
}
