/** The bundled channels against local servers that speak the API of each network: how a test writes to a bot and reads its answers. */
import type { TestContext } from "node:test";
import { CHAT, says as telegramSays } from "../telegram/scene.ts";
import { startBotServer, TOKEN as TELEGRAM_TOKEN } from "../telegram/server.ts";
import { startDiscord, TOKEN as DISCORD_TOKEN } from "../discord/server.ts";
import { ADA, DIRECT, startServer as startMattermost, TOKEN as MATTERMOST_TOKEN } from "../mattermost/server.ts";
import { ANN, said } from "../slack/scene.ts";
import { startSlack } from "../slack/server.ts";

/** One network with its server. */
export interface TestNetwork {
  readonly id: string;
  /** Settings that point the plugin at the server, without a login. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Values that people enter at the login. */
  readonly login: Readonly<Record<string, string>>;
  /** A value of the login that the network refuses. */
  readonly wrong: Readonly<Record<string, string>>;
  /** Somebody writes a direct message. */
  says(text: string): void;
  /** Texts that the bot has sent or edited, oldest first. */
  heard(): readonly string[];
  /** Id of the person who writes. */
  readonly person: string;
  /** A number that grows when the gateway works on a message: before that, this network may lose it. Absent: the network repeats it. */
  taken?(): number;
  /** Ids of sent messages by which the network recognizes a repetition. Absent: it recognizes none. */
  sentIds?(): readonly unknown[];
  /** The network stops answering, without closing anything. */
  falls(): void;
}

type Start = (t: TestContext) => Promise<TestNetwork>;

const telegram: Start = async (t) => {
  const server = await startBotServer(t);
  const texts = () =>
    [...server.of("sendMessage"), ...server.of("editMessageText")].map(({ body }) => String(body["text"]));
  return {
    id: "telegram",
    settings: { apiRoot: server.apiRoot, pollSeconds: 1 },
    login: { botToken: TELEGRAM_TOKEN },
    wrong: { botToken: "1:wrong" },
    person: String(CHAT),
    says: (text) => void server.push(telegramSays(text)),
    heard: texts,
    falls: () => server.next("getUpdates", ...Array.from({ length: 20 }, () => "silent" as const)),
  };
};

const discord: Start = async (t) => {
  const server = await startDiscord(t);
  const { token: _, ...settings } = server.config().channels.discord;
  return {
    id: "discord",
    settings,
    login: { token: DISCORD_TOKEN },
    wrong: { token: "wrong-token" },
    says(content) {
      const author = { id: "160000000000000001", username: "ada", global_name: "Ada" };
      const message = { id: server.newId(), type: 0, channel_id: "180000000000000001", author, content };
      const lists = { mentions: [], mention_roles: [], attachments: [] };
      server.dispatch("MESSAGE_CREATE", { ...message, ...lists, timestamp: "2026-01-02T03:04:05.000Z" });
    },
    heard: () =>
      server.requests
        .filter(({ method, path }) => /^(?:POST|PATCH) \/channels\/\d+\/messages/.test(`${method} ${path}`))
        .map(({ body }) => String(body["content"])),
    person: "160000000000000001",
    taken: () => server.requests.filter(({ path }) => path.endsWith("/typing")).length,
    sentIds: () =>
      server.requests
        .filter(({ method, path }) => /^POST \/channels\/\d+\/messages/.test(`${method} ${path}`))
        .map(({ body }) => body["nonce"]),
    falls: () => server.mute(true),
  };
};

const slack: Start = async (t) => {
  const server = await startSlack(t);
  return {
    id: "slack",
    settings: { apiUrl: server.apiUrl, pingTimeoutMs: 300 },
    login: { botToken: "xoxb-1", appToken: "xapp-1" },
    wrong: { botToken: "nonsense", appToken: "xapp-1" },
    says: (text) => void server.deliver("events_api", said(text)),
    heard: () => server.callsOf("chat.postMessage").map(({ args }) => args["text"] ?? ""),
    person: ANN,
    falls: () => server.deafen(),
  };
};

const mattermost: Start = async (t) => {
  const server = await startMattermost(t);
  return {
    id: "mattermost",
    settings: {},
    login: { baseUrl: server.url, botToken: MATTERMOST_TOKEN },
    wrong: { baseUrl: server.url, botToken: "wrong" },
    person: ADA,
    says: (text) => void server.says(text, { channel_id: DIRECT }),
    heard: () => server.sent(/^(?:POST \/posts|PUT \/posts\/\w+\/patch)$/).map((body) => String(Object(body).message)),
    taken: () => server.sent(/^POST \/users\/\w+\/typing$/).length,
    sentIds: () => server.sent(/^POST \/posts$/).map((body) => Object(body).pending_post_id as unknown),
    falls: () => void (server.state.isDeaf = server.state.isSilent = true),
  };
};

export const NETWORKS: Readonly<Record<string, Start>> = { telegram, discord, slack, mattermost };
