/** The contract suite of channels, against crabline and against the server of these tests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startMatrixServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { channelOf, openScene, sceneOf } from "./scene.ts";
import { ADA, DIRECT, TOWN } from "./server.ts";

const GARBAGE = [
  "@ada",
  "ada:test",
  "#town",
  "!",
  "user:!town:test",
  "room:@ada:test",
  "https://matrix.to/#/%",
  "mxc://test/a",
];

async function startCrabline(t: TestContext) {
  const heard: string[] = [];
  const seen: { method: string; path: string }[] = [];
  const server = await startMatrixServer({
    recorderPath: join(directory(t), "matrix.jsonl"),
    onEvent(event) {
      const { method, path, body } = event as { method: string; path: string; body?: { body?: string } };
      seen.push({ method, path });
      if (method === "PUT" && path.includes("/send/m.room.message/")) heard.push(String(body?.body));
    },
  });
  t.after(() => server.close());
  const { adminToken, accessToken, baseUrl, endpoints } = server.manifest;
  const says = async (text: string) => {
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
      body: JSON.stringify({ roomId: DIRECT, senderId: ADA, senderName: "Ada", text, direct: true }),
    });
    assert.equal(response.status, 200, await response.text());
  };
  // At once, so that the sockets that `fetch` keeps open exist before the suite counts them.
  await Promise.all(["one", "two", "three", "four", "five", "six"].map(says));
  return { heard, seen, says, settings: { homeserverUrl: baseUrl, accessToken, syncTimeoutMs: 1_000 } };
}

describe("the channel matrix", { timeout: 120_000 }, () => {
  it("keeps the contract with crabline", async (t) => {
    const { settings, says, heard } = await startCrabline(t);
    const channel = await channelOf(t, settings);
    const network = { says, heard: () => heard, evidence: "unobserved" } as const;
    await channelContract(t, { channel, network, targets: [DIRECT, ADA], garbage: GARBAGE });
  });

  it("carries a text there and back with crabline, and shows that an answer is being written", async (t) => {
    const { settings, says, heard, seen } = await startCrabline(t);
    const channel = await channelOf(t, settings);
    const { start, send, call } = sceneOf(channel);
    const run = start(t);
    await run.reported("connected");
    await says("what is 1 & 1?");
    const [message] = await run.received(1);
    assert.deepEqual(message?.chat, { type: "direct", id: `user:${ADA}`, name: "Ada" });
    assert.equal(message.text, "what is 1 & 1?");
    await channel.typing?.({ ...call, to: message.chat.id });
    await send({ to: message.chat.id, text: "<b>2</b> &amp; no more" });
    assert.deepEqual(heard, ["2 & no more"]);
    const has = (part: string) => seen.some(({ path }) => path.includes(part));
    await until(() => has("/typing/") && has("/receipt/m.read/"), "typing and receipt");
  });

  it("keeps the contract with a server that repeats events and cuts connections", async (t) => {
    const { server, channel } = await openScene(t);
    // As with crabline: `fetch` keeps sockets open, also those of a request that is aborted while it connects.
    const warm = () => fetch(`${server.url}/_matrix/client/versions`).then((response) => response.text());
    await Promise.all(Array.from({ length: 8 }, warm));
    const reactions = () => server.contents("m.reaction").map((content) => JSON.stringify(content));
    const bodies = () => server.contents().map((content) => String(content["body"]));
    const relations = () => server.contents().map((content) => JSON.stringify(content["m.relates_to"] ?? ""));
    const network = {
      says: (text: string) => void server.says(text),
      heard: bodies,
      repeats: () => server.repeats(),
      cuts: () => server.cut(),
      evidence: {
        edits: () => server.contents().map((content) => JSON.stringify(content["m.new_content"] ?? "")),
        reactions,
        typing: () => server.of(/\/typing\//).map(({ call }) => call),
        media: () => server.contents().map((content) => String(content["filename"])),
        polls: () => server.contents("org.matrix.msc3381.poll.start").map((content) => JSON.stringify(content)),
        replies: relations,
        threads: relations,
        threadId: "$thread:test",
      },
    };
    const targets = [
      ADA,
      `user:${ADA}`,
      `matrix:${ADA}`,
      TOWN,
      `room:${TOWN}`,
      "#town:test",
      "!9t4T1Nq_7Hf4vO1LwSxCzXk2aJbQeRgYuPmDnFiKoWs",
      "https://matrix.to/#/%40ada%3Atest",
      "https://matrix.to/#/!town:test?via=test",
    ];
    await channelContract(t, { channel, network, targets, garbage: GARBAGE });
  });
});
