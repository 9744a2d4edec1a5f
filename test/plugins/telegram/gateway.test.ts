/** Updates of Telegram in a gateway with the plugin channels. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { channels } from "@svc/sdk/channels";
import { startScene, until } from "../channels/scene.ts";
import { ann, CHAT, says } from "./scene.ts";
import { startBotServer, TOKEN } from "./server.ts";

it("invalid callback data does not stop an account, and a forwarded command is not obeyed", async (t) => {
  const server = await startBotServer(t);
  const settings = { botToken: TOKEN, apiRoot: server.apiRoot, allowFrom: [String(CHAT)], streaming: "off" };
  const { client } = await startScene(t, ["telegram"], { config: { channels: { telegram: settings } } });
  const account = async () => (await client.call(channels.status, {})).channelAccounts["telegram"]?.[0];
  await until(async () => (await account())?.connected, "the connection");
  const message = { message_id: 4, date: 0, chat: { id: CHAT, type: "private" } };
  const forward_origin = { type: "hidden_user", sender_user_name: "Bo" };
  server.push({ callback_query: { id: "q", from: ann, message, data: "a\nb" } }, says("/whoami", { forward_origin }));
  server.push(says("echo after it"));
  const answers = () => server.of("sendMessage").map(({ body }) => String(body["text"]));
  await until(() => answers().includes("after it"), "the answer");
  await until(() => server.unconfirmed() === 0, "the confirmation");
  assert.equal(answers().length, 2);
  assert.match(answers()[0] ?? "", /offline responder/, "the forwarded text reached the agent");
  assert.equal((await account())?.connected, true);
});
