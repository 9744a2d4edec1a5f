/** The contract of a channel, against the server of these tests with all capabilities, and against crabline's server. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { startWhatsAppServer } from "@openclaw/crabline";
import type { Channel, ChannelCall } from "@svc/sdk/channels";
import { channelContract } from "@svc/sdk/testing";
import { openScene } from "./scene.ts";
import { ADA, delivery, text } from "./server.ts";

const TARGETS = [
  "+49 (151) 234-56.78",
  ADA,
  `whatsapp:+${ADA}`,
  `${ADA}@s.whatsapp.net`,
  `user:${ADA}`,
  "US.ENT.1349a",
];
const GARBAGE = [
  "0049 1512345678",
  "+0151234567",
  "12345",
  "1".repeat(16),
  "user:ada",
  "1-2@g.us",
  "US.",
  "us.1",
  "49 151",
];

/** So that the sockets that `fetch` keeps open exist before the suite counts them. */
const warm = (channel: Channel, call: ChannelCall) => Promise.all([1, 2, 3].map(async () => channel.probe?.(call)));

it("keeps the contract of a channel", async (t) => {
  const { server, channel, call } = await openScene(t);
  const bodies = (key: string) => server.messages().flatMap((body) => (key in body ? [JSON.stringify(body[key])] : []));
  let last: object = {};
  await warm(channel, call);
  await channelContract(t, {
    channel,
    network: {
      says(words) {
        last = delivery({ messages: [text(words)] });
        void server.deliver(last);
      },
      repeats: () => void server.deliver(last),
      heard: () => server.messages().map(({ text: plain }) => String(Object(plain).body)),
      evidence: {
        reactions: () => bodies("reaction"),
        typing: () => server.marks().flatMap((mark) => (mark["typing_indicator"] ? ["typing"] : [])),
        media: () => server.sent(/media$/).map(({ file }) => (file as File).name),
        buttons: () => bodies("interactive"),
        replies: () => bodies("context"),
      },
    },
    targets: TARGETS,
    garbage: GARBAGE,
  });
});

it("keeps the contract with crabline's server", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "svc-crabline-"));
  const heard: string[] = [];
  const crabline = await startWhatsAppServer({
    recorderPath: join(directory, "events.jsonl"),
    onEvent({ type, path, body }) {
      if (type === "api" && path.endsWith("/messages")) heard.push(String(Object(Object(body).text).body));
    },
  });
  t.after(async () => {
    await crabline.close();
    await rm(directory, { recursive: true });
  });
  const { accessToken, adminToken, endpoints, phoneNumberId } = crabline.manifest;
  const { server, channel, call } = await openScene(t, { accessToken, phoneNumberId, graphUrl: endpoints.apiRoot });
  const says = async (words: string) => {
    const jid = `${ADA}@s.whatsapp.net`;
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      body: JSON.stringify({ chatJid: jid, senderJid: jid, text: words }),
    });
    const { webhook } = (await response.json()) as { webhook: unknown };
    assert.ok(webhook, String(response.status));
    void server.deliver(webhook);
  };
  await warm(channel, call);
  await channelContract(t, {
    channel,
    network: { says, heard: () => heard, evidence: "unobserved" },
    targets: TARGETS,
    garbage: GARBAGE,
  });
});
