/** The section `channels.irc`, and what it means. */
import { misconfigured, type Static, Type } from "@svc/sdk";
import type { ChannelAccount } from "@svc/sdk/channels";
import { channelName, foldPerson } from "./names.ts";

const text = (description: string, more: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, description, ...more }));
const secret = (description: string) => text(description, { sensitive: true });
const texts = (description: string) => Type.Array(Type.String({ minLength: 1 }), { default: [], description });
const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description });

export const IrcConfig = Type.Object({
  enabled: flag(true, "false: the plugin stays loaded and does not connect"),
  host: text("server to connect to; without it the channel is listed and does not connect"),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "default 6697, without TLS 6667" })),
  tls: flag(true, "connect with TLS"),
  tlsVerify: flag(true, "refuse a certificate nobody vouches for; false: for a server of your own"),
  nick: Type.String({ default: "svc", pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,29}$", description: "name on the network" }),
  username: text("user name the server is told; default: the nick", { pattern: "^[A-Za-z0-9_.-]+$" }),
  realname: text("shown to who asks; default: the nick"),
  password: secret("password of the server"),
  sasl: Type.Optional(
    Type.Object(
      {
        account: Type.String({ minLength: 1, description: "services account" }),
        password: Type.String({ minLength: 1, sensitive: true, description: "its password" }),
      },
      { additionalProperties: false, description: "log in to the network's services with SASL PLAIN" },
    ),
  ),
  channels: texts("channels to join, where the agent listens; one with a key as `#name key`"),
  allowFrom: texts("who may send direct messages: `account:<name>`, `nick!user@host`, or `*` for everybody"),
  requireMention: flag(true, "in a channel only what names the agent's nick reaches it"),
  burstLines: Type.Integer({ default: 5, minimum: 1, description: "lines that are sent at once" }),
  lineIntervalMs: Type.Integer({
    default: 2_000,
    minimum: 0,
    description: "milliseconds between the lines after those",
  }),
});
export type IrcConfig = Static<typeof IrcConfig>;

/** What a connection needs. */
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
  /** By folded name, with the key where there is one. */
  readonly channels: readonly { readonly name: string; readonly key?: string }[];
  readonly burstLines: number;
  readonly lineIntervalMs: number;
}

/** @throws SetupOutcome for what cannot be right */
export function accountOf(config: IrcConfig): ChannelAccount<Settings> {
  const { enabled, host, nick, tls, tlsVerify, username, realname, password, sasl, burstLines, lineIntervalMs } =
    config;
  for (const value of [realname, password, sasl?.account, sasl?.password])
    if (value !== undefined && /[\r\n\0]/.test(value))
      misconfigured("", "a text of the connection has a line break in it");
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
    misconfigured(`/channels/${index}`, `"${entry}" is no channel; write "#name", or "#name key"`);
  return { name, ...(key === undefined ? {} : { key }) };
}

/** A nickname alone is nobody in particular: whoever comes first has it. */
function personOf(entry: string, index: number): string {
  const person = entry.trim();
  if (person === "*" || /^account:\S+$/i.test(person) || /^[^\s!@*]+![^\s!@*]+@[^\s!@*]+$/.test(person))
    return foldPerson(person);
  return misconfigured(
    `/allowFrom/${index}`,
    `"${entry}" names nobody for sure: anybody can take a nickname; write "account:<name>", "nick!user@host", or "*" for everybody`,
  );
}
