/** What the agent sends reaches the phones of people. */
// own process: the certificate of the test's server is not checked
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { downloadMediaMessage, type proto, type WAMessage } from "@whiskeysockets/baileys";
import { until } from "../../until.ts";
import { accountStateInMemory } from "@svc/sdk/testing";
import { refusalsWithout } from "../channels/direct-scene.ts";
import { ADA, channelOf, linkedChannel, OWN, SUITE_MS, trustAll, worldOf } from "./scene.ts";

trustAll();
const { rejects } = refusalsWithout(/privKey|noiseKey/);

/** A linked account that runs. */
async function running(...given: Parameters<typeof linkedChannel>) {
  const scene = await linkedChannel(...given);
  const run = scene.start(given[0]);
  await run.reported("connected");
  const place = { ...scene.call, to: ADA };
  return { ...scene, run, place };
}

const textOf = (content: proto.IMessage) => content.extendedTextMessage?.text ?? content.conversation;

describe("a text", { timeout: SUITE_MS }, () => {
  it("arrives with the markup of WhatsApp, and answers a message", async (t) => {
    const { ada, send, run } = await running(t);
    const question = await ada.sends(OWN, { text: "which?" });
    const [{ id } = {}] = await run.received(1);
    const { messageId } = await send({ text: "*this* &amp; <https://a.example/|that>", replyTo: id ?? "" });
    const answer = await ada.gets((content) => textOf(content) === "*this* & that (https://a.example/)", "the answer");
    assert.equal(answer?.key.id, messageId);
    assert.equal(answer?.message?.extendedTextMessage?.contextInfo?.stanzaId, question?.key.id);
    await send({ text: "more", replyTo: "gone" });
    await ada.gets((content) => textOf(content) === "more", "an answer to a message that is gone");
  });

  it("has the same id at each attempt, so that a phone shows it once", async (t) => {
    const { server, ada, send } = await running(t);
    const id = randomBytes(16).toString("hex");
    const first = await send({ id, text: "once" });
    assert.deepEqual(await send({ id, text: "once" }), first);
    const sent = server.of("message").filter(({ attrs }) => attrs["id"] === first.messageId);
    assert.equal(sent.length, 2);
    assert.match(first.messageId ?? "", /^3EB0[0-9A-F]{18}$/);
    await ada.gets((content) => textOf(content) === "once", "the text");
  });

  it("can be changed, by its author only", async (t) => {
    const { ada, channel, send, run, place } = await running(t);
    const { messageId = "" } = await send({ text: "working" });
    await channel.edit?.({ ...place, messageId, text: "done" });
    await until(() => ada.heard().includes("done"), "the change");
    const edit = ada.contents().find(({ content }) => content.protocolMessage)?.content.protocolMessage;
    assert.equal(edit?.key?.id, messageId);
    await ada.sends(OWN, { text: "mine" });
    const [{ id = "" } = {}] = await run.received(1);
    await rejects(channel.edit?.({ ...place, messageId: id, text: "yours" }), "NOT_FOUND", /somebody else/);
    await rejects(
      channel.edit?.({ ...place, messageId: "gone", text: "x" }),
      "NOT_FOUND",
      /does not know this message/,
    );
  });

  it("is refused when it is empty, when nobody is connected, and when WhatsApp refuses it", async (t) => {
    const { server, send, run } = await running(t);
    await rejects(send({ text: "" }), "INVALID_REQUEST", /empty; next: write a text/);
    server.state.refuse = "463";
    await rejects(send({ text: "hello" }), "INVALID_REQUEST", /new people now; next: wait some days/);
    server.state.refuse = "500";
    await rejects(send({ text: "hello" }), "UNAVAILABLE", /refused the message \(500\)/);
    await run.stop();
    await rejects(send({ text: "hello" }), "UNAVAILABLE", /not connected/);
  });

  it("fails when the connection ends before WhatsApp has confirmed it, and is repeated with the same keys", async (t) => {
    const { server, ada, send, run, start } = await running(t);
    server.state.refuse = "silence";
    const id = randomBytes(16).toString("hex");
    const sent = rejects(send({ id, text: "hello" }), "UNAVAILABLE", /ended before/);
    await until(() => server.of("message").length === 1, "the message");
    server.drops(OWN);
    await sent;
    assert.match(String(await run.ended), /the connection to WhatsApp ended/);
    server.state.refuse = undefined;
    await start(t).reported("connected");
    await send({ id, text: "hello" });
    await ada.gets((content) => textOf(content) === "hello", "the text");
  });
});

describe("other things", { timeout: SUITE_MS }, () => {
  it("are reactions, and that somebody writes", async (t) => {
    const { server, ada, channel, run, place } = await running(t);
    const sent = await ada.sends(OWN, { text: "good news" });
    const [{ id = "" } = {}] = await run.received(1);
    await channel.react?.({ ...place, messageId: id, emoji: "🎉" });
    await ada.gets((content) => content.reactionMessage?.text === "🎉", "the reaction");
    await channel.react?.({ ...place, messageId: id, emoji: "🎉", remove: true });
    const gone = await ada.gets((content) => content.reactionMessage?.text === "", "its end");
    assert.equal(gone?.message?.reactionMessage?.key?.id, sent?.key.id);
    await channel.typing?.(place);
    await until(() => server.of("chatstate").length > 0, "the signal");
    assert.equal(server.of("chatstate")[0]?.attrs["to"], `${ADA}@s.whatsapp.net`);
  });

  it("are files, with a text below or after them", async (t) => {
    const { ada, send } = await running(t);
    const bytes = randomBytes(3_000);
    const file = { bytes, name: "notes.pdf" };
    await send({ text: "*the notes*", media: { ...file, kind: "file", mimeType: "application/pdf" } });
    await send({ text: "a film", media: { ...file, kind: "video", mimeType: "video/mp4" } });
    await send({ media: { ...file, kind: "audio", mimeType: "audio/ogg", isVoice: true } });
    await send({ text: "a song", media: { ...file, kind: "audio", mimeType: "audio/mpeg" } });
    const isSong = (content: proto.IMessage) => content.audioMessage && content.audioMessage.ptt !== true;
    const found = await Promise.all([
      ada.gets((content) => content.documentMessage?.caption === "*the notes*", "the file"),
      ada.gets((content) => content.videoMessage?.caption === "a film", "the film"),
      ada.gets((content) => content.audioMessage?.ptt === true, "the voice message"),
      ada.gets(isSong, "the song"),
      ada.gets((content) => textOf(content) === "a song", "the text after the song"),
    ]);
    for (const message of found.slice(0, 4))
      assert.deepEqual(await downloadMediaMessage(message as WAMessage, "buffer", {}), bytes);
    assert.equal(found[0]?.message?.documentMessage?.fileName, "notes.pdf");
  });
});

describe("a file of a message", { timeout: SUITE_MS }, () => {
  it("is refused when it is too large or gone, and asked for at WhatsApp only", async (t) => {
    const { server, ada, channel, call, run } = await running(t);
    const sent = await ada.sends(OWN, { document: randomBytes(50_000), mimetype: "application/pdf", fileName: "a" });
    await run.received(1);
    const file = { ...call, ref: sent?.key.id ?? "" };
    await rejects(channel.media?.({ ...file, maxBytes: 20_000 }), "INVALID_REQUEST", /more than 20 kB/);
    server.files.clear();
    await rejects(channel.media?.({ ...file, maxBytes: 1e6 }), "NOT_FOUND", /does not have the file any more/);
    await rejects(channel.media?.({ ...file, ref: "x", maxBytes: 1e6 }), "NOT_FOUND", /does not know this message/);
    let asked = 0;
    const inside = createServer((_request, response) => (asked++, response.end("secret")));
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
    t.after(() => inside.close());
    const url = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`;
    const { message } = sent as WAMessage;
    const documentMessage = { ...message?.documentMessage, url, directPath: null };
    await ada.socket.client.relayMessage(`${OWN}@s.whatsapp.net`, { documentMessage }, {});
    const ref = (await run.received(2))[1]?.id ?? "";
    await rejects(channel.media?.({ ...file, ref, maxBytes: 1e6 }), "NOT_FOUND", /not on a server of WhatsApp/);
    assert.equal(asked, 0);
  });
});

it("tells who is linked", async (t) => {
  const { channel, call, run } = await running(t);
  assert.deepEqual(await channel.probe?.(call), { ok: true, number: `+${OWN}` });
  await run.stop();
  await rejects((async () => channel.probe?.(call))(), "UNAVAILABLE", /not connected/);
});

it("connects nobody without a login", async (t) => {
  const channel = await channelOf(t, worldOf({ url: "ws://127.0.0.1:9/" }));
  const [{ id: accountId, settings } = { id: "", settings: undefined }] = channel.accounts;
  const { signal } = new AbortController();
  const openState = accountStateInMemory();
  const run = { accountId, settings, commands: [], signal, alive() {}, report() {}, openState };
  const receive = async () => ({ accepted: true, sessionKey: "" }) as const;
  await rejects(channel.run({ ...run, receive }), "NOT_LINKED", /next: svc channels login whatsapp/);
});
