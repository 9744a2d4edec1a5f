/** The configuration section `channels.irc`, converted to account settings. */
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import { channelName, foldPerson } from "./names.ts";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));
const secret = (description: string) => text(description, { sensitive: true });
const texts = (description: string) => Type.Array(Type.String({ minLength: 1 }), { default: [], description });
const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description });

export const IrcConfig = Type.Object({
  enabled: flag(true, "false: the plugin stays loaded but does not connect"),
  host: text("server to connect to; without it the channel is listed but does not connect"),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "default 6697, or 6667 without TLS" })),
  tls: flag(true, "connect with TLS"),
  tlsVerify: flag(true, "reject untrusted certificates; false: only for your own server"),
  nick: Type.String({ default: "svc", pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,29}$", description: "name on the network" }),
  username: text("user name sent to the server; default: the nick", { pattern: "^[A-Za-z0-9_.-]+$" }),
  realname: text("real name shown to other users; default: the nick"),
  password: secret("password of the server"),
  sasl: Type.Optional(
    Type.Object(
      {
        account: Type.String({ minLength: 1, description: "services account" }),
        password: Type.String({ minLength: 1, sensitive: true, description: "password of the services account" }),
      },
      { additionalProperties: false, description: "log in to the network's services with SASL PLAIN" },
    ),
  ),
  channels: texts("channels to join, in which the agent listens; `#name key` for a channel with a key"),
  dmPolicy: Type.Optional(
    Type.Enum(["pairing", "allowlist", "open", "disabled"], {
      description: "direct messages of unlisted people: pairing sends them a code for the owner; default pairing",
    }),
  ),
  allowFrom: texts("who may send direct messages: `account:<name>`, `nick!user@host`, or `*` for everyone"),
  requireMention: flag(true, "in channels, only messages that mention the agent's nick reach it"),
  burstLines: Type.Integer({ default: 5, minimum: 1, description: "lines sent without delay" }),
  lineIntervalMs: Type.Integer({
    default: 2_000,
    minimum: 0,
    description: "milliseconds between further lines",
  }),
});
export type IrcConfig = Static<typeof IrcConfig>;

/** Settings of a connection. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly tlsVerify: boolean;
  readonly nick: string;
  readonly username: string;
  readonly realname: string;
  readonly password?: string;
  readonly sasl?: { readonly account: string; readonly password: string };
  /** Folded names, with the key if there is one. */
  readonly channels: readonly { readonly name: string; readonly key?: string }[];
  readonly burstLines: number;
  readonly lineIntervalMs: number;
}

/** @throws SetupOutcome for invalid settings */
export function accountOf(config: IrcConfig): ChannelAccount<Settings> {
  const { enabled, host, nick, tls, tlsVerify, username, realname, password, sasl, burstLines, lineIntervalMs } =
    config;
  for (const value of [realname, password, sasl?.account, sasl?.password])
    if (value !== undefined && /[\r\n\0]/.test(value)) misconfigured("", "a connection setting contains a line break");
  const channels = config.channels.map(channelOf);
  const settings: Settings = {
    host: host ?? "",
    port: config.port ?? (tls ? 6_697 : 6_667),
    tls,
    tlsVerify,
    nick,
    username: username ?? nick,
    realname: realname ?? nick,
    channels,
    burstLines,
    lineIntervalMs,
    ...(password === undefined ? {} : { password }),
    ...(sasl === undefined ? {} : { sasl }),
  };
  return {
    id: "default",
    ...(host === undefined ? {} : { name: `${nick} on ${host}` }),
    enabled,
    configured: host !== undefined,
    ...(config.dmPolicy === undefined ? {} : { dmPolicy: config.dmPolicy }),
    allowFrom: config.allowFrom.map(personOf),
    groups: channels.map(({ name }) => name),
    requireMention: config.requireMention,
    settings,
  };
}

function channelOf(entry: string, index: number): { name: string; key?: string } {
  const [given = "", key, ...more] = entry.trim().split(/ +/);
  const name = channelName(given);
  if (name === undefined || more.length > 0)
    misconfigured(`/channels/${index}`, `"${entry}" is not a channel; write "#name", or "#name key"`);
  return { name, ...(key === undefined ? {} : { key }) };
}

/** A nickname alone identifies nobody: anyone can take it. */
function personOf(entry: string, index: number): string {
  const person = entry.trim();
  if (person === "*" || /^account:\S+$/i.test(person) || /^[^\s!@*]+![^\s!@*]+@[^\s!@*]+$/.test(person))
    return foldPerson(person);
  return misconfigured(
    `/allowFrom/${index}`,
    `"${entry}" does not identify a person: anyone can take a nickname; write "account:<name>", "nick!user@host", or "*" for everyone`,
  );
}
