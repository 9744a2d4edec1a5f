/** The configuration section `channels.msteams`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, type TObject, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** Id of an app, a tenant or a person in Microsoft Entra. */
export const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const DEFAULTS = {
  loginUrl: "https://login.microsoftonline.com",
  openIdUrl: "https://login.botframework.com/v1/.well-known/openidconfiguration",
  serviceUrls: ["https://smba.trafficmanager.net"],
  fileUrls: ["https://*.sharepoint.com", "https://*.1drv.com"],
  pingMs: 60_000,
};
const PING = `milliseconds between two checks of the login; default ${DEFAULTS.pingMs}`;
const text = (description: string, more: object) => Type.Optional(Type.String({ minLength: 1, description, ...more }));
const addresses = (description: string) =>
  Type.Optional(Type.Array(Type.String({ pattern: ADDRESS_PATTERN }), { minItems: 1, description }));

const FIELDS = {
  appId: text("application (client) id of the app registration of the bot", { pattern: GUID.source }),
  appPassword: text("value of a client secret of the app registration", { sensitive: true }),
  tenantId: text("directory (tenant) id of a single-tenant bot", { pattern: "^[\\w.-]+$" }),
  loginUrl: text(`address of the login service; default ${DEFAULTS.loginUrl}`, { pattern: ADDRESS_PATTERN }),
  openIdUrl: text(`names the keys of Teams; default ${DEFAULTS.openIdUrl}`, { pattern: ADDRESS_PATTERN }),
  serviceUrls: addresses(`services of Teams: only they get the bot token; default ${DEFAULTS.serviceUrls.join()}`),
  fileUrls: addresses(`stores of files, \`*.\` for any subdomain; default ${DEFAULTS.fileUrls.join(", ")}`),
  pingMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 3_600_000, description: PING })),
};

export const TeamsConfig = channelConfig(FIELDS);
type Fields = Static<TObject<typeof FIELDS>>;
/** Settings of an account. `appId` is in lower case. */
export type Settings = Readonly<Required<Omit<Fields, "tenantId">> & Pick<Fields, "tenantId">>;

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: Static<typeof TeamsConfig>): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const keys = Object.keys(FIELDS) as (keyof Fields)[]; // those of the literal above
    const given: Fields = Object.fromEntries(keys.flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]]])));
    const { appId = "", appPassword = "" } = given;
    const settings = { ...DEFAULTS, ...given, appId: appId.toLowerCase(), appPassword };
    return { isConfigured: appId !== "" && appPassword !== "", isShared: true, settings };
  });
}

/** Whether an address is one of the bases, or below one. A base `https://*.example.com` covers all subdomains. */
export function isWithin(address: string, bases: readonly string[]): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.username !== "" || url.password !== "") return false;
  return bases.some((text) => {
    const base = new URL(text.replace("://*.", "://"));
    const isBelow = text.includes("://*.") && url.hostname.endsWith(`.${base.hostname}`);
    const isHost = isBelow || (url.hostname === base.hostname && !text.includes("://*."));
    const isPath = `${url.pathname}/`.startsWith(`${trimmedAddress(base.pathname)}/`);
    return isHost && isPath && url.protocol === base.protocol && url.port === base.port;
  });
}
