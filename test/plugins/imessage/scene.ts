/** The plugin with a BlueBubbles server, and runs of its account. */
import type { TestContext } from "node:test";
import { Channel } from "@svc/sdk/channels";
import { contributionOf } from "@svc/sdk/testing";
import imessage from "../../../plugins/imessage/plugin.ts";
import { refusalsWithout, sceneOf as directScene } from "../channels/direct-scene.ts";
import { ANN, PASSWORD, startServer } from "./server.ts";

/** Nothing shows the password. */
export const { hides: hidesPassword, rejects } = refusalsWithout(/pass(?:&|%26)word/);

export const channelOf = (t: TestContext, settings: object) =>
  contributionOf(t, Channel, "imessage", { plugin: imessage, config: { channels: { imessage: settings } } });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startServer(t);
  const channel = await channelOf(t, { serverUrl: server.url, password: PASSWORD, pollMs: 50, ...settings });
  return { server, channel, ...sceneOf(channel) };
}

export const sceneOf = (channel: Channel) => directScene(channel, ANN);
