/** The configuration section `channels.website`, converted to account settings. */
import { type AccountConfig, accountsOf as readAccounts, channelConfig } from "@svc/kit/channels";
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import { MAX_TEXT_CHARS } from "./protocol.ts";

const DEFAULTS = {
  allowedOrigins: [] as readonly string[],
  allowClientsWithoutOrigin: false,
  knownVisitors: {} as Readonly<Record<string, string>>,
  visitorDays: 30,
  historyMessages: 100,
  messagesPerMinute: 20,
  visitorsPerMinute: 10,
  maxVisitors: 1_000,
};

const count = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));

const FIELDS = {
  allowedOrigins: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'origins of the pages with the widget, e.g. ["https://example.com"]; `*`: every page',
    }),
  ),
  allowClientsWithoutOrigin: Type.Optional(
    Type.Boolean({ description: "also accepts clients that are no browser and send no Origin; default false" }),
  ),
  knownVisitors: Type.Optional(
    Type.Record(Type.String({ pattern: "^[a-z][a-z0-9-]{1,30}$" }), Type.String({ pattern: "^[0-9a-f]{64}$" }), {
      description: "clients with an id and a token of your choice: SHA-256 of the token (hex) by visitor id",
    }),
  ),
  visitorDays: count(1, 3_650, `days after which an unused visitor is forgotten; default ${DEFAULTS.visitorDays}`),
  historyMessages: count(0, 500, `messages that a reloaded page shows; 0: none; default ${DEFAULTS.historyMessages}`),
  messagesPerMinute: count(1, 1_000, `messages of a visitor per minute; default ${DEFAULTS.messagesPerMinute}`),
  visitorsPerMinute: count(1, 10_000, `new visitors of one address per minute; default ${DEFAULTS.visitorsPerMinute}`),
  maxVisitors: count(1, 100_000, `open connections of visitors; default ${DEFAULTS.maxVisitors}`),
  greeting: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_TEXT_CHARS, description: "text that the widget shows first" }),
  ),
};

export const WebsiteConfig = channelConfig(FIELDS);
export type WebsiteConfig = Static<typeof WebsiteConfig>;

/** Settings of an account, with defaults. Origins have the spelling of browsers, or are `*`. */
export type Settings = Omit<AccountConfig<typeof FIELDS>, keyof typeof DEFAULTS> &
  Required<Pick<AccountConfig<typeof FIELDS>, keyof typeof DEFAULTS>>;

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: WebsiteConfig): ChannelAccount<Settings>[] {
  const accounts = readAccounts<typeof FIELDS, Settings>(config, (own, _id, path) => {
    const settings = { ...DEFAULTS, ...own };
    const allowedOrigins = settings.allowedOrigins.map(
      (text, index) =>
        originOf(text) ??
        misconfigured(`${path}/allowedOrigins/${index}`, `"${text}" is not an origin; write https://example.com`),
    );
    const isConfigured = allowedOrigins.length > 0 || settings.allowClientsWithoutOrigin;
    return { isConfigured, isShared: true, settings: { ...settings, allowedOrigins } };
  });
  // Visitors are strangers by nature; a code for each of them would help nobody.
  return accounts.map((account) =>
    account.dmPolicy === undefined && account.allowFrom === undefined
      ? { ...account, dmPolicy: "open", allowFrom: ["*"] }
      : account,
  );
}

/** `https://example.com` or `*`; `undefined`: the text is neither. A slash at the end is removed. */
export function originOf(text: string): string | undefined {
  const wanted = text.trim().replace(/\/$/, "");
  if (wanted === "*") return wanted;
  if (!/^https?:\/\/[^\s/?#@]+$/i.test(wanted) || !URL.canParse(wanted)) return undefined;
  return new URL(wanted).origin;
}

/** @param origin header of the request; absent: the client is no browser */
export function isAllowed(origin: string | undefined, settings: Settings): boolean {
  const { allowedOrigins, allowClientsWithoutOrigin } = settings;
  if (origin === undefined) return allowClientsWithoutOrigin;
  return allowedOrigins.includes("*") || allowedOrigins.includes(origin);
}
