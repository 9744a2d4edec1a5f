/** The configuration section `channels.chat-sdk`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** A slug or the name of an npm package, and so no path. */
export const ADAPTER = "^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$";
const FACTORY = "name of the export that makes the adapter; required for packages that the catalogue does not list";
const PUBLIC_URL =
  "address of this gateway as the network reaches it, e.g. https://bot.example.org; default: the Host header of each request";
/** Bytes of a webhook request, unless the configuration sets another value. */
const BODY_BYTES = 1_000_000;

const FIELDS = {
  adapter: Type.Optional(
    Type.String({
      pattern: ADAPTER,
      maxLength: 214,
      description: "slug of the catalogue, e.g. gchat, or the npm package of another adapter; required",
    }),
  ),
  factory: Type.Optional(Type.String({ pattern: "^[A-Za-z_$][\\w$]*$", description: FACTORY })),
  options: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: "options of the factory, without secrets" }),
  ),
  credentials: Type.Optional(
    Type.Record(Type.String(), Type.String({ minLength: 1, sensitive: true }), {
      description: "secret options of the factory by name; they precede those in `options`",
    }),
  ),
  publicUrl: Type.Optional(Type.String({ pattern: ADDRESS_PATTERN, description: PUBLIC_URL })),
  maxBodyBytes: Type.Optional(
    Type.Integer({
      minimum: 1_000,
      maximum: 50_000_000,
      advanced: true,
      description: `bytes of a webhook request; default ${BODY_BYTES}`,
    }),
  ),
};

export const ChatSdkConfig = channelConfig(FIELDS);

/** Settings of an account. */
export interface Settings {
  /** Empty: not configured. */
  readonly adapter: string;
  readonly factory?: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly credentials: Readonly<Record<string, string>>;
  /** Without a slash at the end. */
  readonly publicUrl?: string;
  readonly maxBodyBytes: number;
}

/** Settings of an account for which the configuration has none. */
export const DEFAULTS: Settings = { adapter: "", options: {}, credentials: {}, maxBodyBytes: BODY_BYTES };

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: Static<typeof ChatSdkConfig>): ChannelAccount<Settings>[] {
  const accounts = readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { adapter, factory, options, credentials, publicUrl, maxBodyBytes } = own;
    const given = {
      adapter,
      factory,
      options,
      credentials,
      maxBodyBytes,
      publicUrl: publicUrl && trimmedAddress(publicUrl),
    };
    const known = Object.entries(given).filter(([, value]) => value !== undefined);
    const settings: Settings = { ...DEFAULTS, ...Object.fromEntries(known) };
    return { isConfigured: settings.adapter !== "", isShared: true, settings };
  });
  // Choice: most networks cannot edit messages, so that a draft is only shown where the owner asks for it.
  return accounts.map((account) => ({ streaming: "off", ...account }));
}
