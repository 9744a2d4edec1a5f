/** The plugin with its real client library against crabline's Discord server: the contract suite and a round trip of each kind. */
// own process: closes the connections of every HTTP server after each answer
import assert from "node:assert/strict";
import { subscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { startDiscordServer } from "@openclaw/crabline";
import { Channel } from "@svc/sdk/channels";
import { channelContract, contributionOf } from "@svc/sdk/testing";
import { start } from "./account.ts";
import plugin from "../../../plugins/discord/plugin.ts";

const ADA = "180000000000000001";

// Crabline keeps idle connections open for five seconds, which the check for open resources would find.
subscribe("http.server.request.start", (message) =>
  (message as { readonly response: ServerResponse }).response.setHeader("connection", "close"),
);

async function startCrabline(t: { after(work: () => Promise<void>): void }) {
  const directory = mkdtempSync(join(tmpdir(), "svc-discord-"));
  const heard: string[] = [];
  const server = await startDiscordServer({
    recorderPath: join(directory, "events.jsonl"),
    onEvent(event: { method?: string; path?: string; body?: unknown }) {
      const { content } = Object(event.body) as { content?: unknown };
      if (event.method === "POST" && /^\/api\/v10\/channels\/\d+\/messages$/.test(event.path ?? ""))
        heard.push(String(content));
    },
  });
  t.after(async () => {
    await server.close();
    rmSync(directory, { recursive: true });
  });
  const { manifest } = server;
  return {
    manifest,
    heard,
    config: { channels: { discord: { token: manifest.botToken, apiUrl: manifest.endpoints.apiRoot } } },
    async says(content: string, more: object = {}) {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: "POST",
        headers: { authorization: `Bearer ${manifest.adminToken}`, "content-type": "application/json" },
        body: JSON.stringify({
          channelId: manifest.fixture.channelId,
          guildId: manifest.fixture.guildId,
          senderId: ADA,
          senderName: "Ada",
          content,
          ...more,
        }),
      });
      assert.equal(response.status, 200, await response.text());
    },
  };
}

it("reads a text with a mention, and answers it", async (t) => {
  const crabline = await startCrabline(t);
  const { channelId, guildId } = crabline.manifest.fixture;
  const channel = await contributionOf(t, Channel, "discord", { plugin, config: crabline.config });
  const account = await start(t, channel);
  await crabline.says(`<@${crabline.manifest.botUserId}> what is the time?`);
  const message = await account.received();
  assert.deepEqual(
    [message.chat, message.sender],
    [
      { type: "group", id: channelId, name: "#crabline-channel", guildId },
      { id: ADA, name: "Ada", roles: [] },
    ],
  );
  assert.deepEqual([message.text, message.mentioned], ["what is the time?", true]);
  await account.send({ to: message.chat.id, text: "**noon**", replyTo: message.id ?? "" });
  assert.deepEqual(crabline.heard, ["**noon**"]);
});

it("keeps the contract of a channel", async (t) => {
  const crabline = await startCrabline(t);
  const channel = await contributionOf(t, Channel, "discord", { plugin, config: crabline.config });
  await channelContract(t, {
    channel,
    network: { says: crabline.says, heard: () => crabline.heard, evidence: "unobserved" },
    targets: [`<#${crabline.manifest.fixture.channelId}>`, `user:${ADA}`, `<@${ADA}>`],
    garbage: ["#general", "@ada", "<@&180000000000000001>", "123", "user:", "180000000000000001 180000000000000002"],
  });
});
