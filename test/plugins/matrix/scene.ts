/** The plugin with a homeserver, and runs of its account. */
import type { TestContext } from "node:test";
import { Channel } from "@svc/sdk/channels";
import { contributionOf } from "@svc/sdk/testing";
import matrix from "../../../plugins/matrix/plugin.ts";
import { refusalsWithout, sceneOf as directScene } from "../channels/direct-scene.ts";
import { DIRECT, startServer, TOKEN } from "./server.ts";

/** Nothing shows the token. */
export const { hides: hidesToken, rejects } = refusalsWithout(/syt_secret|password-of/);

export const channelOf = (t: TestContext, settings: object) =>
  contributionOf(t, Channel, "matrix", { plugin: matrix, config: { channels: { matrix: settings } } });

export async function openScene(t: TestContext, settings: object = {}) {
  const server = await startServer(t);
  const channel = await channelOf(t, {
    homeserverUrl: server.url,
    accessToken: TOKEN,
    syncTimeoutMs: 1_000,
    ...settings,
  });
  return { server, channel, ...sceneOf(channel) };
}

export const sceneOf = (channel: Channel) => directScene(channel, DIRECT);
