/** The configuration section `channels.imessage`, converted to account settings. */
import { createHmac } from "node:crypto";
import { accountsOf as readAccounts, ADDRESS_PATTERN, channelConfig, trimmedAddress } from "@svc/kit/channels";
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";

/** Milliseconds between two polls, unless the configuration sets another value. */
const POLL_MS = 15_000;
/** Path of the route to which BlueBubbles reports, before the id of the account. */
export const WEBHOOK_PATH = "/plugins/imessage/";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));
const words = Type.Array(Type.String({ minLength: 1 }), { minItems: 1 });

const FIELDS = {
  serverUrl: text("address of the BlueBubbles server, e.g. http://mac.local:1234", { pattern: ADDRESS_PATTERN }),
  password: text("password of the BlueBubbles server", { sensitive: true }),
  callbackUrl: text("address of this gateway that the Mac can reach; default: messages arrive with the next poll", {
    pattern: ADDRESS_PATTERN,
  }),
  privateApi: Type.Optional(
    Type.Boolean({
      description: "BlueBubbles has its private API: tapbacks, edits, answers, typing, voice messages; default false",
    }),
  ),
  command: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), words], {
      description:
        'instead of serverUrl: how imsg is started, e.g. imsg or ["ssh", "mac", "imsg"]; a text is split at spaces',
    }),
  ),
  pollMs: Type.Optional(
    Type.Integer({
      minimum: 50,
      maximum: 600_000,
      description: `milliseconds between two polls; default ${POLL_MS}`,
    }),
  ),
};

export const IMessageConfig = channelConfig(FIELDS);
export type IMessageConfig = Static<typeof IMessageConfig>;

/** Settings of an account. Addresses have no slash at the end. */
export interface Settings {
  /** Empty: imsg. */
  readonly serverUrl: string;
  readonly password: string;
  readonly callbackUrl?: string;
  readonly privateApi: boolean;
  /** Starts imsg. Empty: BlueBubbles. */
  readonly command: readonly string[];
  readonly pollMs: number;
}

/** @throws SetupOutcome for invalid settings */
export function accountsOf(config: IMessageConfig): ChannelAccount<Settings>[] {
  const accounts = readAccounts<typeof FIELDS, Settings>(config, (own, _id, path) => {
    const { serverUrl = "", password = "", callbackUrl, privateApi = false, command = [], pollMs = POLL_MS } = own;
    const isImsg = command.length > 0;
    if (isImsg && serverUrl !== "") misconfigured(`${path}/command`, "set either serverUrl or command; remove one");
    if (isImsg && privateApi)
      misconfigured(`${path}/privateApi`, "it belongs to BlueBubbles; remove it beside command");
    const callback = callbackUrl === undefined ? {} : { callbackUrl: trimmedAddress(callbackUrl) };
    const login = { serverUrl: trimmedAddress(serverUrl), password, command: wordsOf(command) };
    const isConfigured = isImsg || (serverUrl !== "" && password !== "");
    return { isConfigured, settings: { ...login, ...callback, privateApi, pollMs } };
  });
  // Apple accepts five edits of a message and shows each one, so a draft is only written if the configuration asks for it.
  return accounts.map((account) => ({ streaming: "off", ...account }));
}

export const wordsOf = (command: string | readonly string[]) =>
  typeof command === "string" ? command.split(/\s+/).filter((word) => word !== "") : command;

/** Secret at the end of the address to which BlueBubbles reports new messages of the account. */
export const webhookSecret = (password: string, accountId: string) =>
  createHmac("sha256", password).update(`svc imessage webhook ${accountId}`).digest("base64url");
