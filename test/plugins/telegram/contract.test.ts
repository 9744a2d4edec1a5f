/** The contract suite of channels, against crabline and against the server of these tests. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startTelegramServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { channelOf, openScene, says, sceneOf } from "./scene.ts";

const TARGETS = ["77", "-1001234567890", "@Some_Group", "https://t.me/some_group"];
const GARBAGE = ["0", "-", "+77", "12 34", "@ab", "77.5", "#team", "https://t.me/", "99999999999999999999"];

async function startCrabline(t: TestContext) {
  const heard: string[] = [];
  const server = await startTelegramServer({
    recorderPath: join(directory(t), "telegram.jsonl"),
    onEvent(event) {
      const { type, path = "", body } = event as { type: string; path?: string; body?: { text?: string } };
      if (type === "api" && path.endsWith("/sendMessage") && body?.text !== undefined) heard.push(body.text);
    },
  });
  t.after(() => server.close());
  const { adminToken, botToken, endpoints } = server.manifest;
  return {
    heard,
    settings: { botToken, apiRoot: endpoints.apiRoot, pollSeconds: 1 },
    async says(text: string) {
      const headers = { "content-type": "application/json", "x-crabline-admin-token": adminToken };
      // Without a connection that stays open, which the contract would take for one of the plugin.
      const sent = request(endpoints.adminInboundUrl, { method: "POST", headers, agent: false });
      sent.end(JSON.stringify({ chatId: 77, text }));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      assert.equal(response.resume().statusCode, 200);
    },
  };
}

describe("the channel telegram", { timeout: 60_000 }, () => {
  it("keeps the contract with crabline", async (t) => {
    const crabline = await startCrabline(t);
    const channel = await channelOf(t, crabline.settings);
    const network = { says: crabline.says, heard: () => crabline.heard, evidence: "unobserved" } as const;
    await channelContract(t, { channel, network, targets: TARGETS, garbage: GARBAGE });
  });

  it("carries a text there and back with crabline", async (t) => {
    const crabline = await startCrabline(t);
    const scene = sceneOf(await channelOf(t, crabline.settings));
    const run = scene.start(t);
    await run.reported("connected");
    await crabline.says("what is <b>1 & 1</b>?");
    const [message] = await run.received(1);
    assert.equal(message?.text, "what is <b>1 & 1</b>?");
    const { messageId } = await scene.send({ to: message.chat.id, text: "<b>2</b> &amp; no more" });
    await until(() => crabline.heard.includes("<b>2</b> &amp; no more"), "the answer", 3_000);
    assert.match(messageId ?? "", /^\d+$/);
  });

  it("keeps the contract with a server that repeats updates and cuts connections", async (t) => {
    const { server, channel } = await openScene(t);
    let last = {};
    const network = {
      says(text: string) {
        last = says(text);
        server.push(last);
      },
      heard: () => server.of("sendMessage").map(({ body }) => String(body["text"])),
      repeats: () => server.repeat(last),
      cuts: () => server.cut(),
      evidence: {
        edits: () => server.of("editMessageText").map(({ body }) => String(body["text"])),
        reactions: () => server.of("setMessageReaction").map(({ body }) => JSON.stringify(body["reaction"])),
        typing: () => server.of("sendChatAction").map(({ body }) => String(body["action"])),
        media: () => server.of("sendPhoto").map(({ files }) => files["photo"]?.name ?? ""),
        buttons: () => server.of("sendMessage").map(({ body }) => JSON.stringify(body["reply_markup"] ?? "")),
        polls: () => server.of("sendPoll").map(({ body }) => String(body["question"])),
        replies: () => server.of("sendMessage").map(({ body }) => JSON.stringify(body["reply_parameters"] ?? "")),
        threads: () => server.of("sendMessage").map(({ body }) => String(body["message_thread_id"])),
        threadId: "7",
      },
    };
    await channelContract(t, { channel, network, targets: TARGETS, garbage: GARBAGE });
  });
});
