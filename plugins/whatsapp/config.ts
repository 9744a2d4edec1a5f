/** The configuration section `channels.whatsapp`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

const GRAPH_URL = "https://graph.facebook.com/v23.0";
/** Milliseconds between two probes, unless the configuration sets another value. */
const PING_MS = 60_000;
export const NUMBER_ID = "^[0-9]{5,30}$";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));
const secret = { sensitive: true };

const FIELDS = {
  phoneNumberId: text("id of the business number, from API Setup of the app", { pattern: NUMBER_ID }),
  accessToken: text("access token of a system user with the permission whatsapp_business_messaging", secret),
  appSecret: text("secret of the app, with which WhatsApp signs deliveries", secret),
  verifyToken: text("a word of your choice that WhatsApp repeats when the webhook is registered", secret),
  graphUrl: text(`address of the Graph API with its version; default ${GRAPH_URL}`, {
    pattern: ADDRESS_PATTERN,
    advanced: true,
  }),
  sendReadReceipts: Type.Optional(
    Type.Boolean({ description: "people see which messages were read, and that the agent writes; default true" }),
  ),
  pingMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 3_600_000,
      advanced: true,
      description: `milliseconds between two probes of the Graph API; default ${PING_MS}`,
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
}

/** What requests to the Graph API need. */
export type Login = Pick<Settings, "phoneNumberId" | "accessToken" | "appSecret" | "graphUrl">;

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: WhatsAppConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { phoneNumberId = "", accessToken = "", appSecret = "", verifyToken = "" } = own;
    const { sendReadReceipts = true, pingMs = PING_MS } = own;
    const login = { phoneNumberId, accessToken, appSecret, graphUrl: graphUrlOf(own) };
    return {
      isConfigured: [phoneNumberId, accessToken, appSecret].every((value) => value !== ""),
      settings: { ...login, verifyToken, sendReadReceipts, pingMs },
    };
  });
}

/** Address of the Graph API that the keys name, or of the public one. */
export function graphUrlOf({ graphUrl = GRAPH_URL }: Pick<WhatsAppConfig, "graphUrl">): string {
  return trimmedAddress(graphUrl);
}

/** Path of the webhook of an account. */
export const webhookOf = (accountId: string) => `/plugins/whatsapp/${accountId}/webhook`;
