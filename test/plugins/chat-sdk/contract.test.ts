/** The contract suite of channels, with the adapter for Telegram against a Bot API server. */
import { describe, it } from "node:test";
import { channelContract } from "@svc/sdk/testing";
import { says } from "../telegram/scene.ts";
import { startBotServer, TOKEN } from "../telegram/server.ts";
import { optionsFor, textOf } from "./network.ts";
import { openChannel } from "./scene.ts";

const TARGETS = ["telegram:77", "telegram:-100500:7", "77", "user:77", "chat-sdk:user:77", "users/123", "+15550100"];
const GARBAGE = ["user:", "chat-sdk:", "chat-sdk:chat-sdk:a", "user: 77", "a\u0000b", "x".repeat(501)];

describe("the channel chat-sdk", { timeout: 120_000 }, () => {
  it("keeps the contract with updates that the adapter asks for", async (t) => {
    const server = await startBotServer(t);
    const { channel, start } = await openChannel(t, {
      adapter: "telegram",
      options: optionsFor(server.apiRoot),
      credentials: { botToken: TOKEN },
    });
    // What the gateway opens with the first use of its storage, and the sockets that `fetch` keeps open, are no leaks.
    const first = start(t);
    server.push(says("open the storage"));
    await first.received(1);
    await first.stop();
    const warm = () => fetch(`${server.apiRoot}/bot${TOKEN}/getMe`).then((response) => response.text());
    await Promise.all(Array.from({ length: 8 }, warm));
    let last = {};
    const sent = () => [...server.of("sendRichMessage"), ...server.of("sendMessage")];
    const network = {
      says(text: string) {
        last = says(text);
        server.push(last);
      },
      heard: () => sent().map(textOf),
      async repeats() {
        const polls = server.of("getUpdates").length;
        await server.call("getUpdates", polls + 1); // before it, the server would drop the update
        server.repeat(last);
      },
      evidence: {
        edits: () => server.of("editMessageText").map(textOf),
        reactions: () => server.of("setMessageReaction").map(({ body }) => JSON.stringify(body["reaction"])),
        typing: () => server.of("sendChatAction").map(({ body }) => String(body["action"])),
        media: () => server.of("sendDocument").map(({ files }) => files["document"]?.name ?? ""),
        buttons: () => server.of("sendMessage").map(({ body }) => JSON.stringify(body["reply_markup"] ?? "")),
        replies: () =>
          sent().map(({ body }) => `77:${Object(Object(body)["reply_parameters"])["message_id"] as number}`),
      },
    };
    await channelContract(t, { channel, network, targets: TARGETS, garbage: GARBAGE });
  });
});
