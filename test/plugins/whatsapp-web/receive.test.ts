/** What people send reaches the gateway: each message once, in order, and none is lost. */
// own process: the certificate of the test's server is not checked
import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { unavailable } from "@svc/sdk";
import type { InboundMessage } from "@svc/sdk/channels";
import { aesEncryptGCM, type AnyMessageContent, proto, type WAMessage } from "@whiskeysockets/baileys";
import { until } from "../../until.ts";
import { createPerson, type Person } from "./person.ts";
import { sceneOf } from "../channels/direct-scene.ts";
import { ADA, channelOf, EVE, GROUP, linkedChannel, OWN, SUITE_MS, trustAll } from "./scene.ts";

trustAll();

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const OGG = Buffer.concat([Buffer.from("OggS"), randomBytes(2_000)]);
const textsOf = (messages: readonly InboundMessage[]) => messages.map(({ text }) => text);

describe("a message", { timeout: SUITE_MS }, () => {
  it("has its sender, its chat and its time, and is marked as read when it is on disk", async (t) => {
    const { server, ada, start } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    assert.equal(run.reports.at(-1)?.detail, `+${OWN}`);
    const sent = await ada.sends(OWN, { text: "hello" });
    const [message] = await run.received(1);
    assert.ok(message?.at && Math.abs(message.at - Date.now()) < 60_000);
    assert.deepEqual(message, {
      id: sent?.key.id,
      chat: { type: "direct", id: ADA, name: "Ada" },
      sender: { id: ADA, name: "Ada" },
      mentioned: true,
      text: "hello",
      at: message.at,
    });
    const isRead = () =>
      server.of("receipt").some(({ attrs }) => attrs["type"] === "read" && attrs["id"] === message.id);
    await until(isRead, "the read mark");
    assert.ok(run.proofs() > 0);
  });

  it("is not marked as read where the account does not want it", async (t) => {
    const { server, ada, start } = await linkedChannel(t, { sendReadReceipts: false });
    const run = start(t);
    await ada.sends(OWN, { text: "one" });
    await run.received(1);
    await run.stop();
    assert.ok(!server.of("receipt").some(({ attrs }) => attrs["type"] === "read"));
  });

  it("may be a file, which is downloaded and decrypted", async (t) => {
    const { ada, channel, call, start } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    const contents: readonly [AnyMessageContent, object, Buffer][] = [
      [{ image: PNG, caption: "a dot" }, { kind: "image", mimeType: "image/jpeg" }, PNG],
      [
        { audio: OGG, ptt: true, mimetype: "audio/ogg; codecs=opus", seconds: 3 },
        { kind: "audio", mimeType: "audio/ogg; codecs=opus", isVoice: true },
        OGG,
      ],
      [{ video: OGG, mimetype: "video/mp4" }, { kind: "video", mimeType: "video/mp4" }, OGG],
      [
        { document: OGG, mimetype: "application/pdf", fileName: "a.pdf" },
        { kind: "file", mimeType: "application/pdf", name: "a.pdf" },
        OGG,
      ],
      [{ sticker: PNG }, { kind: "image", mimeType: "image/webp" }, PNG],
    ];
    for (const [at, [content, expected, bytes]] of contents.entries()) {
      await ada.sends(OWN, content);
      const message = (await run.received(at + 1))[at];
      const [media] = message?.media ?? [];
      assert.deepEqual(media, { ref: message?.id, size: bytes.byteLength, ...expected });
      const found = await channel.media?.({ ...call, ref: media?.ref ?? "", maxBytes: 10_000 });
      assert.ok(found && "bytes" in found);
      assert.deepEqual(Buffer.from(found.bytes), bytes);
    }
    assert.deepEqual(textsOf(run.messages), ["a dot", "", "", "", ""]);
  });

  it("may be a place, a contact, a poll, a quote, forwarded, or disappear", async (t) => {
    const { ada, channel, send, start } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    const vcard = "BEGIN:VCARD\nVERSION:3.0\nFN:Eve\nTEL;type=CELL:+49 151 1\nEND:VCARD";
    await ada.sends(OWN, { location: { degreesLatitude: 52.5, degreesLongitude: 13.4, name: "Office" } });
    await ada.sends(OWN, { contacts: { displayName: "Eve", contacts: [{ displayName: "Eve", vcard }] } });
    await ada.sends(OWN, { poll: { name: "Tea?", values: ["yes", "no"], selectableCount: 1 } });
    await run.received(3);
    const { messageId } = await send({ text: "the question" });
    const question = await ada.gets((content) => content.extendedTextMessage?.text === "the question", "the question");
    await ada.sends(OWN, { text: "an answer" }, { quoted: question as WAMessage });
    await ada.sends(OWN, { forward: question as WAMessage, force: true });
    await ada.sends(OWN, { text: "gone soon" }, { ephemeralExpiration: 86_400 });
    const [place, contact, poll, quote, forwarded, gone] = await run.received(6);
    assert.deepEqual([place?.text, place?.location], ["", { latitude: 52.5, longitude: 13.4, name: "Office" }]);
    assert.equal(contact?.text, "[contact: Eve, +49 151 1]");
    assert.equal(poll?.text, "[poll: Tea? | yes | no]");
    assert.deepEqual(quote?.replyTo, { messageId, isOwn: true, text: "the question" });
    assert.deepEqual([forwarded?.text, forwarded?.forwarded], ["", { text: "the question" }]);
    assert.equal(gone?.text, "gone soon");
    await send({ text: "gone, too" });
    const answer = await ada.gets((content) => content.extendedTextMessage?.text === "gone, too", "the answer");
    assert.equal(contextOf(answer)?.expiration, 86_400, "answers disappear like the questions");
    assert.ok(channel.capabilities.replies);
  });

  it("may be a reaction, a change or a deletion", async (t) => {
    const { ada, send, start } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    const { messageId = "" } = await send({ text: "news" });
    const news = await ada.gets((content) => content.extendedTextMessage?.text === "news", "the news");
    await ada.sends(OWN, { react: { text: "🎉", key: news?.key ?? {} } });
    await ada.sends(OWN, { react: { text: "", key: news?.key ?? {} } });
    const first = await ada.sends(OWN, { text: "frist" });
    await ada.sends(OWN, { text: "first", edit: first?.key ?? {} });
    await ada.sends(OWN, { delete: first?.key ?? {} });
    const messages = await run.received(5);
    const own = { kind: "reaction", messageId, isOwn: true };
    const id = first?.key.id;
    assert.deepEqual(
      messages.map(({ text, event }) => [text, event]),
      [
        ["", { ...own, emoji: "🎉" }],
        ["", { ...own, emoji: "(not named)", isRemoved: true }],
        ["frist", undefined],
        ["first", { kind: "edit", messageId: id }],
        ["", { kind: "deletion", messageId: id }],
      ],
    );
  });

  it("may answer a poll of the agent", async (t) => {
    const { ada, send, start } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    const poll = { question: "Tea or coffee?", options: ["tea", "coffee"], maxSelections: 2 };
    const { pollId = "" } = await send({ poll });
    const question = await ada.gets(
      (content) => content.pollCreationMessage ?? content.pollCreationMessageV3,
      "the poll",
    );
    await vote(ada, question as WAMessage, ["coffee"]);
    const [answer] = await run.received(1);
    assert.deepEqual(answer?.event, { kind: "poll-answer", pollId, options: ["coffee"] });
  });
});

const contextOf = (message: WAMessage | undefined) => message?.message?.extendedTextMessage?.contextInfo;

/** Answers a poll, as a phone does: the choice is encrypted with the secret of the poll. */
async function vote(person: Person, poll: WAMessage, choices: readonly string[]): Promise<void> {
  const { id = "" } = poll.key;
  const secret = poll.message?.messageContextInfo?.messageSecret ?? new Uint8Array();
  const [creator, voter] = [`${OWN}@s.whatsapp.net`, `${person.number}@s.whatsapp.net`];
  const hmac = (key: Uint8Array, data: Uint8Array) => createHmac("sha256", key).update(data).digest();
  const sign = Buffer.concat([Buffer.from(`${id}${creator}${voter}Poll Vote`), Buffer.from([1])]);
  const key = hmac(hmac(Buffer.alloc(32), secret), sign);
  const selectedOptions = choices.map((name) => createHash("sha256").update(name).digest());
  const plain = proto.Message.PollVoteMessage.encode({ selectedOptions }).finish();
  const encIv = randomBytes(12);
  const encPayload = aesEncryptGCM(plain, key, encIv, Buffer.from(`${id}\0${voter}`));
  const pollCreationMessageKey = { remoteJid: voter, fromMe: true, id };
  const pollUpdateMessage = { pollCreationMessageKey, vote: { encPayload, encIv }, senderTimestampMs: Date.now() };
  await person.socket.client.relayMessage(creator, { pollUpdateMessage }, {});
}

describe("a group", { timeout: SUITE_MS }, () => {
  it("is read with names, and mentions of the number are found", async (t) => {
    const { server, ada, send, start } = await linkedChannel(t);
    server.group(GROUP, "Friends", [OWN, ADA]);
    const run = start(t);
    await run.reported("connected");
    await ada.sends(GROUP, { text: "good morning" });
    await ada.sends(GROUP, { text: `@${OWN} what is new?`, mentions: [`${OWN}@s.whatsapp.net`] });
    const [plain, mentioned] = await run.received(2);
    const chat = { type: "group", id: GROUP, name: "Friends" };
    assert.deepEqual([plain?.chat, plain?.mentioned, plain?.text], [chat, false, "good morning"]);
    assert.deepEqual([mentioned?.sender.id, mentioned?.mentioned, mentioned?.text], [ADA, true, "what is new?"]);
    await send({ to: GROUP, text: "nothing" });
    const answer = await ada.gets((content) => content.extendedTextMessage?.text === "nothing", "the answer");
    assert.equal(answer?.key.remoteJid, GROUP);
  });
});

describe("the own chat", { timeout: SUITE_MS }, () => {
  it("is all that is read of a number whose owner uses it", async (t) => {
    const { server, ada, send, start } = await linkedChannel(t, { selfChat: true });
    const owner = await createPerson(t, server, OWN, "Owner");
    const run = start(t);
    await run.reported("connected");
    await ada.sends(OWN, { text: "for the owner" });
    await owner.sends(ADA, { text: "from the owner" });
    await until(() => ada.heard().includes("from the owner"), "the message of the owner");
    await owner.sends(OWN, { text: "for the agent" });
    const [message] = await run.received(1);
    assert.deepEqual([message?.text, message?.sender.id, message?.chat.id], ["for the agent", OWN, OWN]);
    await send({ to: OWN, text: "from the agent" });
    await until(() => owner.heard().includes("from the agent"), "the answer");
    await owner.sends(OWN, { text: "thanks" });
    assert.deepEqual(textsOf(await run.received(2)), ["for the agent", "thanks"], "not what the agent wrote");
  });

  it("is not read otherwise, and neither is what the owner writes to others", async (t) => {
    const { server, ada, start } = await linkedChannel(t);
    const owner = await createPerson(t, server, OWN, "Owner");
    const run = start(t);
    await run.reported("connected");
    await owner.sends(OWN, { text: "a note" });
    await owner.sends(ADA, { text: "from the owner" });
    await until(() => ada.heard().includes("from the owner"), "the message of the owner");
    await ada.sends(OWN, { text: "hello" });
    assert.deepEqual(textsOf(await run.received(1)), ["hello"]);
  });
});

describe("nothing is lost", { timeout: SUITE_MS }, () => {
  it("of 30 messages of two people, each in its order", async (t) => {
    const { server, ada, start } = await linkedChannel(t);
    const eve = await createPerson(t, server, EVE, "Eve");
    const run = start(t);
    await run.reported("connected");
    const texts = Array.from({ length: 15 }, (_, at) => `message ${at}`);
    const says = async (one: Person) => {
      for (const text of texts) await one.sends(OWN, { text });
    };
    await Promise.all([ada, eve].map(says));
    const messages = await run.received(30);
    for (const from of [ADA, EVE])
      assert.deepEqual(textsOf(messages.filter(({ sender }) => sender.id === from)), texts);
  });

  it("if a message is not accepted at first: it is submitted again, before the next one", async (t) => {
    const { ada, start } = await linkedChannel(t);
    const refusals = [
      () => Promise.reject<never>(new Error("the disk is full")),
      async () => unavailable("too many messages wait", { retryAfterMs: 20 }),
    ];
    const run = start(t, () => refusals.shift()?.());
    await ada.sends(OWN, { text: "one" });
    await ada.sends(OWN, { text: "two" });
    assert.deepEqual(textsOf(await run.received(2)), ["one", "two"]);
  });

  it("if the gateway is killed after WhatsApp was told of the arrival: the next start submits it, with its id", async (t) => {
    const { server, ada, start, channel, world } = await linkedChannel(t);
    const asked: string[] = [];
    const first = start(t, ({ id }) => (asked.push(id ?? ""), new Promise<never>(() => {})));
    await first.reported("connected");
    const [one, two] = [await ada.sends(OWN, { text: "one" }), await ada.sends(OWN, { text: "two" })];
    const confirmed = (id: unknown) =>
      server.of("receipt").some(({ attrs }) => attrs["id"] === id && attrs["type"] === "inactive");
    await until(() => confirmed(one?.key.id) && confirmed(two?.key.id), "the confirmations");
    assert.deepEqual(asked, [one?.key.id]);
    void first.stop();
    // A gateway of the same state, as after `kill -9`: nothing of the first one is in its memory.
    const next = sceneOf(await channelOf(t, world), ADA);
    const second = next.start(t);
    const messages = await second.received(2);
    assert.deepEqual(
      messages.map(({ id, text }) => [id, text]),
      [
        [one?.key.id, "one"],
        [two?.key.id, "two"],
      ],
    );
    await ada.sends(OWN, { text: "three" });
    await second.received(3);
    await second.stop();
    const third = next.start(t);
    await ada.sends(OWN, { text: "four" });
    assert.deepEqual(textsOf(await third.received(1)), ["four"], "accepted messages do not come again");
    assert.ok(channel);
  });

  it("of what people write while the gateway is down", async (t) => {
    const { ada, start } = await linkedChannel(t);
    const first = start(t);
    await first.reported("connected");
    await first.stop();
    await ada.sends(OWN, { text: "meanwhile" });
    assert.deepEqual(textsOf(await start(t).received(1)), ["meanwhile"]);
  });

  it("if the disk is full when a message arrives: the phone sends it again", async (t) => {
    const { ada, start, world } = await linkedChannel(t);
    const run = start(t);
    await run.reported("connected");
    await ada.sends(OWN, { text: "before" });
    await run.received(1);
    let failures = 0;
    world.memory.fault = () => {
      world.memory.fault = () => undefined;
      failures += 1;
      return { when: "before", error: () => new Error("the disk is full") };
    };
    await ada.sends(OWN, { text: "during" });
    const second = start(t);
    await until(() => [...run.messages, ...second.messages].some(({ text }) => text === "during"), "the message");
    assert.equal(failures, 1);
  });
});
