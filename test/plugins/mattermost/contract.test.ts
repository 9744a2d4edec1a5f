/** The contract of a channel against crabline's Mattermost server, which knows posts, direct chats, typing and events. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { startMattermostServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import { scene } from "./scene.ts";

const ADA = "ada".padEnd(26, "0");

/** A server with the person Ada, whose first messages were read, and the channel that is configured for it. */
async function crabline(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "svc-crabline-"));
  const heard: string[] = [];
  const server = await startMattermostServer({
    recorderPath: join(directory, "events.jsonl"),
    botUsername: "helper",
    onEvent({ type, method, path, body }) {
      const { message } = Object(body) as { message?: unknown };
      if (type === "api" && method === "POST" && path === "/api/v4/posts") heard.push(String(message));
    },
  });
  t.after(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });
  const { baseUrl, botToken, adminToken, endpoints } = server.manifest;
  const says = async (text: string) => {
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify({ senderId: ADA, senderName: "ada", text }),
    });
    assert.equal(response.status, 200, await response.text());
  };
  // At once, so that the sockets that `fetch` keeps open exist before the suite counts them.
  await Promise.all(["one", "two", "three"].map(says));
  const it = await scene(t, { baseUrl, botToken });
  const first = await it.run();
  await first.received(3);
  await first.stop();
  return { ...it, says, heard };
}

it("keeps the contract of a channel", async (t) => {
  const { channel, says, heard } = await crabline(t);
  await channelContract(t, {
    channel,
    network: { says, heard: () => heard, evidence: "unobserved" },
    targets: ["@ada", `user:${ADA}`, `channel:${ADA}`, ADA, "@Ada.Lovelace-1"],
    garbage: ["@all", "@channel", "#town-square", "user:ada", "channel:town", "@", "~off-topic"],
  });
});

it("answers a person in the chat of the question", async (t) => {
  const { channel, says, heard, run, facts } = await crabline(t);
  const running = await run();
  await says("hello @helper");
  const [message] = await running.received(1);
  assert.ok(message);
  assert.deepEqual(
    { ...message, id: "", messageId: "", at: 0 },
    {
      id: "",
      messageId: "",
      at: 0,
      chat: { type: "direct", id: `user:${ADA}`, name: "ada" },
      sender: { id: ADA, name: "ada" },
      text: "hello @helper",
      mentioned: true,
    },
  );
  assert.equal(await channel.chatType?.(message.chat.id), "direct");
  await channel.typing?.({ ...facts, to: message.chat.id });
  const sent = await channel.send({ ...facts, id: "0".repeat(32), to: message.chat.id, text: "hello @all" });
  assert.match(sent.messageId ?? "", /^[a-z0-9]{26}$/);
  assert.deepEqual(heard, ["hello @\u200dall"]);
});
