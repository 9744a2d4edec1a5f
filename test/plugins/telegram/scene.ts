/** The plugin with a Bot API server, and runs of its account. */
import type { TestContext } from "node:test";
import { Channel, type MenuCommand } from "@svc/sdk/channels";
import { contributionOf } from "@svc/sdk/testing";
import telegram from "../../../plugins/telegram/plugin.ts";
import { type Receive, refusalsWithout, sceneOf as directScene } from "../channels/direct-scene.ts";
import { startBotServer, TOKEN } from "./server.ts";

export const CHAT = 77;
export const GROUP = -100_500;
export const ann = { id: CHAT, is_bot: false, first_name: "Ann", last_name: "Lee", username: "ann" };
const place = { id: CHAT, type: "private", first_name: "Ann" };
let messageIds = 100;

/** An update with a text of Ann. */
export const says = (text: string, more: object = {}) => ({
  message: { message_id: ++messageIds, date: 1_700_000_000, chat: place, from: ann, text, ...more },
});

/** Nothing shows the token. */
export const { hides: hidesToken, rejects } = refusalsWithout(/token-of/);

/** A refusal of Telegram. */
export const refusal = (description: string, error_code = 400, parameters = {}) => ({
  error_code,
  description,
  parameters,
});

export const channelOf = (t: TestContext, settings: object) =>
  contributionOf(t, Channel, "telegram", { plugin: telegram, config: { channels: { telegram: settings } } });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startBotServer(t);
  const channel = await channelOf(t, { botToken: TOKEN, apiRoot: server.apiRoot, pollSeconds: 1, ...settings });
  return { server, channel, ...sceneOf(channel) };
}

type RunOptions = {
  /** Runs before a message counts as received. */
  readonly onReceive?: Receive;
  readonly commands?: readonly MenuCommand[];
};

export function sceneOf(channel: Channel) {
  const { start, ...scene } = directScene(channel, String(CHAT));
  return {
    ...scene,
    start: (t: TestContext, { onReceive, commands }: RunOptions = {}) => start(t, onReceive, commands),
  };
}
