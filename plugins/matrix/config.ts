/** The configuration section `channels.matrix`, converted to account settings. */
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { type Static, Type } from "@svc/sdk";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));

const SYNC = "milliseconds that the server holds a request; 1.5 times as long is silence; default 30000";
const JOIN = "accepted invitations; permitted: direct chats and rooms listed in `groups`; default permitted";

const FIELDS = {
  homeserverUrl: text("address of the homeserver, e.g. https://matrix.example.com; required", {
    pattern: ADDRESS_PATTERN,
  }),
  accessToken: text("access token of the bot's account; required", { sensitive: true }),
  userId: text("user id of the bot; a token of another account is refused", { pattern: String.raw`^@[^\s:]+:\S+$` }),
  syncTimeoutMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 120_000, description: SYNC })),
  autoJoin: Type.Optional(Type.Enum(["permitted", "always", "never"], { description: JOIN })),
};

export const MatrixConfig = channelConfig(FIELDS);

/** Settings of an account. */
export interface Settings {
  /** Without a slash at the end. */
  readonly homeserverUrl: string;
  readonly accessToken: string;
  readonly userId?: string | undefined;
  readonly syncTimeoutMs: number;
  readonly autoJoin: "permitted" | "always" | "never";
  /** Ids of the rooms in which the agent listens; `*`: every room. */
  readonly groups: readonly string[];
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: Static<typeof MatrixConfig>) {
  return readAccounts<typeof FIELDS, Settings>(config, (own) => {
    const { accessToken = "", userId, syncTimeoutMs = 30_000, autoJoin = "permitted" } = own;
    const homeserverUrl = trimmedAddress(own.homeserverUrl ?? "");
    const settings = { homeserverUrl, accessToken, syncTimeoutMs, autoJoin, groups: Object.keys(own.groups ?? {}) };
    const isConfigured = homeserverUrl !== "" && accessToken !== "";
    return { isConfigured, settings: userId === undefined ? settings : { ...settings, userId } };
  });
}
