/** The plugin in a gateway with an HTTP server, and runs of its accounts. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Channel } from "@svc/sdk/channels";
import { Storage } from "@svc/sdk/storage";
import { testGateway } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { type Receive, refusalsWithout, sceneOf } from "../channels/direct-scene.ts";
import { memoryStorage } from "../channels/memory-storage.ts";
import { ADA, said, SECRETS, startServer } from "./server.ts";

export const SUITE_MS = 120_000;

/** Nothing shows a secret. */
export const { rejects } = refusalsWithout(SECRETS);

export async function openScene(t: TestContext, settings: object = {}, storage = memoryStorage().storage) {
  const server = await startServer(t);
  let find = (): Channel | undefined => undefined;
  const owner = pluginOf("channel-owner", (gateway) => {
    const view = gateway.own(Channel);
    find = () => view.get("msteams")?.value;
  });
  const stored = pluginOf("storage-test", { provides: [Storage] }, (gateway) => {
    gateway.provide(Storage, storage);
  });
  const msteams = { ...server.settings, ...server.login, ...settings };
  const { gateway } = await testGateway(t, {
    plugins: [stored, "msteams", owner],
    config: { channels: { msteams } },
  });
  const channel = find() ?? assert.fail("the plugin contributes no channel");
  server.meets(gateway.url.replace(/^ws/, "http"));
  const { call, send, start: startRun } = sceneOf(channel, `user:${ADA}`);
  const start = (receive?: Receive) => startRun(t, receive);

  return {
    server,
    channel,
    call,
    start,
    async run(receive?: Receive) {
      const running = start(receive);
      await running.reported("connected");
      return running;
    },
    async meet() {
      const running = start();
      await running.reported("connected");
      await server.delivers(said("hi"));
      running.messages.length = 0;
      return running;
    },
    send,
  };
}
