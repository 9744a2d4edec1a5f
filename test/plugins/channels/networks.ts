/** The bundled channels against local servers that speak the API of each network: how a test writes to a bot and reads its answers. */
import type { TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ann, CHAT, says as telegramSays } from "../telegram/scene.ts";
import { startBotServer, TOKEN as TELEGRAM_TOKEN } from "../telegram/server.ts";
import { startDiscord, TOKEN as DISCORD_TOKEN } from "../discord/server.ts";
import { ADA, DIRECT, startServer as startMattermost, TOKEN as MATTERMOST_TOKEN } from "../mattermost/server.ts";
import { ANN, DIRECT as SLACK_DIRECT, said } from "../slack/scene.ts";
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
  /** Somebody writes a direct message with a file of so many bytes, which cannot be downloaded. */
  sends(text: string, bytes: number): void;
  /** Somebody presses the button with this label, of the last message that has one. @param gateway its HTTP address */
  presses(label: string, gateway: string): Promise<void> | void;
  /** Texts that the bot has sent or edited, oldest first. */
  heard(): readonly string[];
  /** Id of the person who writes. */
  readonly person: string;
  /** Ids of sent messages by which the network recognizes a repetition. Absent: it recognizes none. */
  sentIds?(): readonly unknown[];
  /** The network stops answering, without closing anything. */
  falls(): void;
}

/** The last object with this value anywhere in the sent messages. */
function lastWith(key: string, value: unknown, sent: unknown): Record<string, unknown> {
  const objects = (one: unknown): Record<string, unknown>[] =>
    typeof one === "object" && one !== null
      ? [...Object.values(one).flatMap(objects), one as Record<string, unknown>] // any object has string keys
      : [];
  const found = objects(sent).findLast((one) => isDeepStrictEqual(one[key], value));
  if (!found) throw new Error(`no message has ${JSON.stringify(value)}`);
  return found;
}

type Start = (t: TestContext) => Promise<TestNetwork>;

const telegram: Start = async (t) => {
  const server = await startBotServer(t);
  const texts = () =>
    [...server.of("sendMessage"), ...server.of("editMessageText")].map(({ body }) => String(body["text"]));
  return {
    id: "telegram",
    settings: { apiRoot: server.apiRoot },
    login: { botToken: TELEGRAM_TOKEN },
    wrong: { botToken: "1:wrong" },
    person: String(CHAT),
    says: (text) => void server.push(telegramSays(text)),
    sends(caption, bytes) {
      const document = { file_id: "f1", file_unique_id: "u1", file_name: "big.bin", file_size: bytes };
      server.push(telegramSays("", { text: undefined, caption, document }));
    },
    presses(label) {
      const { callback_data: data } = lastWith("text", label, server.of("sendMessage"));
      const message = { message_id: 1, date: 1, chat: { id: CHAT, type: "private" } };
      server.push({ callback_query: { id: "press", from: ann, message, data } });
    },
    heard: texts,
    falls: () => server.fallSilent(),
  };
};

const discord: Start = async (t) => {
  const server = await startDiscord(t);
  const { apiUrl } = server.config().channels.discord;
  const ada = { id: "160000000000000001", username: "ada", global_name: "Ada" };
  const channel = "180000000000000001";
  const says = (content: string, attachments: readonly object[] = []) => {
    const message = { id: server.newId(), type: 0, channel_id: channel, author: ada, content, attachments };
    const lists = { mentions: [], mention_roles: [] };
    server.dispatch("MESSAGE_CREATE", { ...message, ...lists, timestamp: "2026-01-02T03:04:05.000Z" });
  };
  const sent = () =>
    server.requests.filter(({ method, path }) => /^POST \/channels\/\d+\/messages/.test(`${method} ${path}`));
  return {
    id: "discord",
    settings: { apiUrl },
    login: { token: DISCORD_TOKEN },
    wrong: { token: "wrong-token" },
    says: (content) => says(content),
    sends: (content, size) =>
      says(content, [{ id: server.newId(), filename: "big.bin", size, url: "http://cdn.invalid/" }]),
    presses(label) {
      const { custom_id } = lastWith("label", label, sent());
      const place = { channel_id: channel, channel: { id: channel, type: 1 }, message: { id: server.newId() } };
      const press = { id: server.newId(), token: "press", type: 3, user: ada, data: { custom_id } };
      server.dispatch("INTERACTION_CREATE", { ...press, ...place });
    },
    heard: () =>
      server.requests
        .filter(({ method, path }) => /^(?:POST|PATCH) \/channels\/\d+\/messages/.test(`${method} ${path}`))
        .map(({ body }) => String(body["content"])),
    person: ada.id,
    sentIds: () => sent().map(({ body }) => body["nonce"]),
    falls: () => server.mute(true),
  };
};

const slack: Start = async (t) => {
  const server = await startSlack(t);
  return {
    id: "slack",
    settings: { apiUrl: server.apiUrl, mode: "socket" },
    login: { botToken: "xoxb-1", appToken: "xapp-1" },
    wrong: { botToken: "nonsense", appToken: "xapp-1" },
    says: (text) => void server.deliver("events_api", said(text)),
    sends(text, size) {
      const files = [{ id: "F0000000001", name: "big.bin", mimetype: "application/octet-stream", size }];
      void server.deliver("events_api", said(text, { subtype: "file_share", files }));
    },
    async presses(label) {
      const sent = server.callsOf("chat.postMessage").map(({ args }): unknown => JSON.parse(args["blocks"] ?? "[]"));
      const text = { type: "plain_text", text: label, emoji: true };
      const { value } = lastWith("text", text, sent);
      const place = { channel: { id: SLACK_DIRECT }, container: { message_ts: "1.2" } };
      const actions = [{ action_id: "svc:0:0", action_ts: "3.4", value, text }];
      await server.deliver("interactive", { type: "block_actions", user: { id: ANN }, ...place, actions });
    },
    heard: () =>
      [...server.callsOf("chat.postMessage"), ...server.callsOf("chat.update")].map(({ args }) => args["text"] ?? ""),
    person: ANN,
    falls: () => server.deafen(),
  };
};

const mattermost: Start = async (t) => {
  const server = await startMattermost(t);
  return {
    id: "mattermost",
    settings: { callbackUrl: "http://gateway.invalid" },
    login: { baseUrl: server.url, botToken: MATTERMOST_TOKEN },
    wrong: { baseUrl: server.url, botToken: "wrong" },
    person: ADA,
    says: (text) => void server.says(text, { channel_id: DIRECT }),
    sends(text, size) {
      const file = { id: "f".repeat(26), name: "big.bin", mime_type: "application/octet-stream", size };
      server.says(text, { channel_id: DIRECT, metadata: { files: [file] } });
    },
    async presses(label, gateway) {
      const { url, context } = Object(lastWith("name", label, server.sent(/^POST \/posts$/))["integration"]);
      const press = { user_id: ADA, channel_id: DIRECT, trigger_id: "t1", context };
      await fetch(gateway + new URL(url).pathname, { method: "POST", body: JSON.stringify(press) });
    },
    heard: () => server.sent(/^(?:POST \/posts|PUT \/posts\/\w+\/patch)$/).map((body) => String(Object(body).message)),
    sentIds: () => server.sent(/^POST \/posts$/).map((body) => Object(body).pending_post_id as unknown),
    falls: () => void (server.state.isDeaf = server.state.isSilent = true),
  };
};

export const NETWORKS: Readonly<Record<string, Start>> = { telegram, discord, slack, mattermost };
