/** The configuration section `channels.matrix`, converted to account settings. */
import { accountsOf as readAccounts, channelConfig } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** `http(s)` addresses without credentials, query and fragment: they appear in errors. */
export const ADDRESS = String.raw`^https?://[^\s/?#@]+(/[^\s?#@]*)?$`;
/** Default of `syncTimeoutMs`. */
const SYNC_MS = 30_000;

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));

const FIELDS = {
  homeserverUrl: text("address of the homeserver, e.g. https://matrix.example.com; required", { pattern: ADDRESS }),
  accessToken: text("access token of the bot's account; required", { sensitive: true }),
  userId: text("user id of the bot; a token of another account is refused; default: the account of the token", {
    pattern: String.raw`^@[^\s:]+:\S+$`,
  }),
  syncTimeoutMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 120_000,
      advanced: true,
      description: `milliseconds for which the server holds a request for new events; no reply for 1.5 times as long is a lost connection; default ${SYNC_MS}`,
    }),
  ),
  autoJoin: Type.Optional(
    Type.Enum(["permitted", "always", "never"], {
      description:
        "invitations that the bot accepts: permitted means direct chats and the rooms listed in `groups`; default permitted",
    }),
  ),
};

export const MatrixConfig = channelConfig(FIELDS);
export type MatrixConfig = Static<typeof MatrixConfig>;

/** Settings of an account. */
export interface Settings {
  /** Without a slash at the end. */
  readonly homeserverUrl: string;
  readonly accessToken: string;
  readonly userId?: string;
  readonly syncTimeoutMs: number;
  readonly autoJoin: "permitted" | "always" | "never";
  /** Ids of the rooms in which the agent listens; `*`: every room. */
  readonly groups: readonly string[];
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: MatrixConfig): ChannelAccount<Settings>[] {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { homeserverUrl = "", accessToken = "", userId, syncTimeoutMs = SYNC_MS, autoJoin = "permitted" } = own;
    const groups = Object.keys(own.groups ?? {});
    return {
      isConfigured: homeserverUrl !== "" && accessToken !== "",
      settings: {
        homeserverUrl: trimmed(homeserverUrl),
        accessToken,
        ...(userId === undefined ? {} : { userId }),
        syncTimeoutMs,
        autoJoin,
        groups,
      },
    };
  });
}

/** Without slashes at the end. */
export function trimmed(address: string): string {
  return address.replace(/\/+$/, "");
}
