/** The configuration section `channels.whatsapp`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

const GRAPH_URL = "https://graph.facebook.com/v23.0";
const WEB_URL = "wss://web.whatsapp.com/ws/chat";
/** The plugin that connects personal numbers. */
const WEB = { id: "web", package: "@svc/plugin-whatsapp-web" };
/** Milliseconds between two probes, unless the configuration sets another value. */
const PING_MS = { cloud: 60_000, web: 30_000 };
export const NUMBER_ID = "^[0-9]{5,30}$";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));
const secret = { sensitive: true };
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const FIELDS = {
  transport: Type.Optional(
    Type.Union([Type.Literal("cloud"), Type.Literal("web")], {
      description:
        "cloud: a business number of the Cloud API; web: a personal number, with the plugin whatsapp-web; default cloud",
    }),
  ),
  phoneNumberId: text("id of the business number, from API Setup of the app", { pattern: NUMBER_ID }),
  accessToken: text("access token of a system user with the permission whatsapp_business_messaging", secret),
  appSecret: text("secret of the app, with which WhatsApp signs deliveries", secret),
  verifyToken: text("a word of your choice that WhatsApp repeats when the webhook is registered", secret),
  graphUrl: text(`address of the Graph API with its version; default ${GRAPH_URL}`, {
    pattern: ADDRESS_PATTERN,
    advanced: true,
  }),
  sendReadReceipts: flag("people see which messages were read, and that the agent writes; default true"),
  number: text("web: digits of the linked number, which the login writes", { pattern: "^[1-9][0-9]{6,14}$" }),
  selfChat: flag("web: only what you write to yourself is read, on your own number; default false"),
  showOnline: flag("web: people see that the number is online, and the phone shows no notifications; default false"),
  webUrl: text(`web: address of WhatsApp Web; default ${WEB_URL}`, {
    pattern: String.raw`^wss?://[^\s/?#@]+(/[^\s?#@]*)?$`,
    advanced: true,
  }),
  pingMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 3_600_000,
      advanced: true,
      description: `milliseconds between two probes of the network; default ${PING_MS.cloud}, with web ${PING_MS.web}`,
    }),
  ),
};

export const WhatsAppConfig = channelConfig(FIELDS);
export type WhatsAppConfig = Static<typeof WhatsAppConfig>;

/** Settings of an account. */
export interface Settings {
  readonly phoneNumberId: string;
  readonly accessToken: string;
  readonly appSecret: string;
  /** Empty: WhatsApp cannot register the webhook. */
  readonly verifyToken: string;
  /** Without a slash at the end. */
  readonly graphUrl: string;
  readonly sendReadReceipts: boolean;
  readonly pingMs: number;
  /** For the plugin whatsapp-web. Empty before the first login. */
  readonly number: string;
  readonly selfChat: boolean;
  readonly showOnline: boolean;
  readonly webUrl: string;
}

/** What requests to the Graph API need. */
export type Login = Pick<Settings, "phoneNumberId" | "accessToken" | "appSecret" | "graphUrl">;

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: WhatsAppConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { phoneNumberId = "", accessToken = "", appSecret = "", verifyToken = "" } = own;
    const { transport = "cloud", sendReadReceipts = true, pingMs = PING_MS[transport] } = own;
    const { number = "", selfChat = false, showOnline = false, webUrl = WEB_URL } = own;
    const login = { phoneNumberId, accessToken, appSecret, graphUrl: graphUrlOf(own) };
    const web = { number, selfChat, showOnline, webUrl };
    return {
      isConfigured: (transport === "web" ? [number] : [phoneNumberId, accessToken, appSecret]).every(Boolean),
      settings: { ...login, verifyToken, sendReadReceipts, pingMs, ...web },
      ...(transport === "web" ? { transport: WEB } : { isShared: true }),
    };
  }).map(withOwner);
}

/** In the own chat, the owner of the number is somebody the agent works for. */
function withOwner(account: ChannelAccount<Settings>): ChannelAccount<Settings> {
  const { number, selfChat } = account.settings;
  if (!account.transport || !selfChat || number === "") return account;
  return { ...account, allowFrom: [...(account.allowFrom ?? []), number] };
}

/** Address of the Graph API that the keys name, or of the public one. */
export function graphUrlOf({ graphUrl = GRAPH_URL }: Pick<WhatsAppConfig, "graphUrl">): string {
  return trimmedAddress(graphUrl);
}

/** Path of the webhook of an account. */
export const webhookOf = (accountId: string) => `/plugins/whatsapp/${accountId}/webhook`;
