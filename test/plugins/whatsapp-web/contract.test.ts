/** The contract of a channel, against the server of these tests with all capabilities, and against crabline's server. */
// own process: the certificate of the test's server is not checked
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startWhatsAppServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import * as baileys from "@whiskeysockets/baileys";
import { createStore } from "../../../plugins/whatsapp-web/store.ts";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { sceneOf } from "../channels/direct-scene.ts";
import { ADA, channelOf, GROUP, linkedChannel, OWN, SUITE_MS, trustAll, worldOf } from "./scene.ts";

trustAll();

const TARGETS = [
  ADA,
  `+${ADA}`,
  "+49 (151) 0000-0002",
  `whatsapp:${ADA}`,
  `${ADA}@s.whatsapp.net`,
  `user:${ADA}`,
  `lid:77${ADA}`,
  "123456789@lid",
  GROUP,
];
const GARBAGE = ["0049 151 1", "+0151234567", "12345", "1".repeat(16), "user:ada", "lid:1", "1-2@g.us", "a@g.us"];

describe("the transport", { timeout: SUITE_MS }, () => {
  it("keeps the contract of a channel", async (t) => {
    const { server, ada, channel } = await linkedChannel(t);
    const contents = () => ada.contents().map(({ content }) => content);
    const quoted = () => contents().flatMap((content) => content.extendedTextMessage?.contextInfo?.stanzaId ?? []);
    const polls = () =>
      contents().flatMap(({ pollCreationMessage, pollCreationMessageV3 }) => {
        const { name } = pollCreationMessage ?? pollCreationMessageV3 ?? {};
        return name ? [name] : [];
      });
    await channelContract(t, {
      channel,
      network: {
        says: async (text) => void (await ada.sends(OWN, { text })),
        heard: ada.heard,
        cuts: () => server.drops(OWN),
        evidence: {
          edits: ada.heard,
          reactions: () => contents().flatMap(({ reactionMessage }) => reactionMessage?.text ?? []),
          typing: () => server.of("chatstate").map(() => "typing"),
          media: () => contents().flatMap(({ imageMessage }) => (imageMessage ? ["contract.png"] : [])),
          polls,
          replies: quoted,
        },
      },
      targets: TARGETS,
      garbage: GARBAGE,
    });
  });

  it("receives and sends texts with crabline's server", async (t) => {
    const heard: string[] = [];
    const server = await startWhatsAppServer({
      recorderPath: join(directory(t), "events.jsonl"),
      onEvent: (event) => void heard.push(JSON.stringify(event)),
    });
    t.after(() => server.close());
    const { adminToken, endpoints, selfJid } = server.manifest;
    const world = worldOf({ url: endpoints.baileysWebSocketUrl });
    const keys = await createStore(world.memory.storage, baileys, Date).keys("default");
    Object.assign(keys.auth.creds, { me: { id: selfJid }, registered: true });
    await keys.save();
    const { start, send } = sceneOf(await channelOf(t, world), ADA);
    const run = start(t);
    await run.reported("connected");
    const jid = `${ADA}@s.whatsapp.net`;
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
      body: JSON.stringify({ chatJid: jid, senderJid: jid, text: "hello" }),
    });
    assert.equal(response.status, 200, await response.text());
    const [message] = await run.received(1);
    assert.deepEqual([message?.text, message?.sender.id], ["hello", ADA]);
    await send({ text: "good morning" });
    await until(() => heard.some((event) => event.includes("good morning")), "the answer");
  });
});
