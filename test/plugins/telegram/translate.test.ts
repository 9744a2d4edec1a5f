/** Updates of Telegram as messages of the gateway, and values of outgoing calls. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import type { Update } from "grammy/types";
import { joined } from "../../../plugins/telegram/albums.ts";
import { refusalError, unreachable } from "../../../plugins/telegram/failures.ts";
import { createMemory } from "../../../plugins/telegram/memory.ts";
import { chatTypeOf, fieldOf, fileNameOf, menuOf, threadOf } from "../../../plugins/telegram/outgoing.ts";
import { toInbound } from "../../../plugins/telegram/translate.ts";
import { ann, GROUP, says } from "./scene.ts";
import { BOT } from "./server.ts";

const group = { id: GROUP, type: "supergroup", title: "Team" };
const file = { file_id: "f1", file_unique_id: "u", file_size: 5 };
const memory = createMemory();
const update = (fields: object) => ({ update_id: 9, ...fields }) as Update; // as the network sends it
const inbound = (fields: object) => toInbound([update(fields)], BOT, memory);

/** The only message of an update. */
function one(fields: object): InboundMessage {
  const [message, ...more] = inbound(fields);
  assert.equal(more.length, 0);
  assert.ok(message, "the update is ignored");
  return message;
}
/** A text with `word` as an entity. */
const marked = (text: string, word: string, type = "mention") =>
  says(text, { chat: group, entities: [{ type, offset: text.indexOf(word), length: word.length }] });

describe("a message", () => {
  it("has the facts of its chat and sender", () => {
    assert.deepEqual(one(says("hi", { message_id: 5 })), {
      id: "update:9",
      messageId: "5",
      chat: { type: "direct", id: "77", name: "Ann" },
      sender: { id: "77", name: "Ann Lee" },
      text: "hi",
      mentioned: false,
      at: 1_700_000_000_000,
    });
    const topic = { chat: { ...group, is_forum: true }, is_topic_message: true, message_thread_id: 12 };
    const chat = { type: "group", id: "-100500", name: "Team", threadId: "12" };
    assert.deepEqual(one(says("hi", topic)).chat, chat);
    const answers = { chat: group, message_thread_id: 12 }; // of a group without topics
    assert.equal(one(says("hi", answers)).chat.threadId, undefined);
  });

  const addressed: readonly (readonly [message: object, text: string, mentioned: boolean])[] = [
    [marked("@svc_test_bot, hello", "@svc_test_bot"), "hello", true],
    [marked("hello @Svc_Test_Bot!", "@Svc_Test_Bot"), "hello @Svc_Test_Bot!", true],
    [marked("@svc_test_bot2 hello", "@svc_test_bot2"), "@svc_test_bot2 hello", false],
    [marked("@Svc_Test_Bot", "@Svc_Test_Bot"), "", true],
    [marked("/new@Svc_Test_Bot now", "/new@Svc_Test_Bot", "bot_command"), "/new now", true],
    [marked("/new@other_bot now", "/new@other_bot", "bot_command"), "/new@other_bot now", false],
    [marked("/new", "/new", "bot_command"), "/new", false],
    [marked("@Svc_Test_Bot /new a", "@Svc_Test_Bot"), "/new a", true],
    [marked("the code @Svc_Test_Bot", "@Svc_Test_Bot", "code"), "the code @Svc_Test_Bot", false],
    [says("Svc hi", { entities: [{ type: "text_mention", offset: 0, length: 3, user: BOT }] }), "hi", true],
    [marked("👍🏽 @Svc_Test_Bot ok", "@Svc_Test_Bot"), "👍🏽 @Svc_Test_Bot ok", true],
  ];
  for (const [message, text, mentioned] of addressed)
    it(`addresses the bot or not: ${JSON.stringify(Object(message).message.text)}`, () => {
      const found = one(message);
      assert.deepEqual([found.text, found.mentioned], [text, mentioned]);
    });

  it("that answers the bot is a mention; the first message of a topic is no answer", () => {
    const to = { message_id: 3, date: 1, chat: group, from: BOT, text: "earlier" };
    const found = one(says("yes", { chat: group, reply_to_message: to }));
    assert.deepEqual(found.replyTo, { messageId: "3", text: "earlier", senderName: "Svc", isOwn: true });
    assert.equal(found.mentioned, false, "the gateway counts the answer as a mention");
    const quoted = one(says("yes", { chat: group, reply_to_message: { ...to, from: ann }, quote: { text: "ear" } }));
    assert.deepEqual(quoted.replyTo, { messageId: "3", text: "ear", senderName: "Ann Lee", isOwn: false });
    assert.equal(quoted.mentioned, false);
    const topic = { ...to, text: undefined, forum_topic_created: { name: "News", icon_color: 1 } };
    assert.equal(one(says("yes", { chat: group, reply_to_message: topic })).replyTo, undefined);
  });

  it("of a bot, of a channel or without content is ignored; an anonymous administrator writes as the group", () => {
    assert.deepEqual(inbound(says("hi", { from: BOT })), []);
    assert.deepEqual(inbound(says("hi", { from: { ...ann, is_bot: true } })), []);
    assert.deepEqual(inbound({ channel_post: says("hi").message }), []);
    assert.deepEqual(inbound(says("hi", { text: undefined, new_chat_members: [ann] })), []);
    assert.deepEqual(inbound({ my_chat_member: {} }), []);
    const anonymous = { chat: group, from: { ...ann, id: 1087968824, is_bot: true }, sender_chat: group };
    assert.deepEqual(one(says("hi", anonymous)).sender, { id: "-100500", name: "Team" });
  });

  const files: readonly (readonly [message: object, media: object])[] = [
    [
      { photo: [1, 3, 2].map((width) => ({ ...file, file_id: `p${width}`, width, height: 1 })), caption: "see" },
      { ref: "p3", kind: "image", mimeType: "image/jpeg", size: 5 },
    ],
    [{ voice: file }, { ref: "f1", kind: "audio", mimeType: "audio/ogg", size: 5, isVoice: true }],
    [
      { audio: { ...file, file_name: "a.mp3", mime_type: "audio/mpeg" } },
      { ref: "f1", kind: "audio", name: "a.mp3", mimeType: "audio/mpeg", size: 5 },
    ],
    [{ video: file }, { ref: "f1", kind: "video", mimeType: "video/mp4", size: 5 }],
    [{ video_note: file }, { ref: "f1", kind: "video", mimeType: "video/mp4", size: 5 }],
    [
      { animation: file, document: file },
      { ref: "f1", kind: "video", mimeType: "video/mp4", size: 5 },
    ],
    [{ document: { ...file, mime_type: "image/png" } }, { ref: "f1", kind: "image", mimeType: "image/png", size: 5 }],
    [{ document: { file_id: "d" } }, { ref: "d", kind: "file" }],
    [{ sticker: { ...file, emoji: "🙂" } }, { ref: "f1", kind: "image", mimeType: "image/webp", size: 5 }],
  ];
  for (const [message, media] of files)
    it(`carries a file: ${Object.keys(message)[0]}`, () => {
      const found = one(says("", { text: undefined, ...message }));
      assert.deepEqual(found.media, [media]);
      assert.equal(found.text, "caption" in message ? "see" : "");
    });

  it("has words for a contact, a moving sticker and a dice, and a place", () => {
    const textOf = (fields: object) => one(says("", { text: undefined, ...fields })).text;
    const contact = { first_name: "Bo", last_name: "Ek", phone_number: "+467", user_id: 5 };
    assert.equal(textOf({ contact }), "Contact: Bo Ek, +467 (Telegram id 5)");
    assert.equal(textOf({ sticker: { ...file, is_animated: true, emoji: "🎉" } }), "🎉");
    assert.equal(textOf({ dice: { emoji: "🎲", value: 4 } }), "🎲 4");
    const location = { latitude: 1, longitude: 2 };
    const venue = { location, title: "Inn", address: "Road 1" };
    assert.deepEqual(one(says("", { location })).location, location);
    assert.deepEqual(one(says("", { location, venue })).location, { ...location, name: "Inn", address: "Road 1" });
  });

  it("that is forwarded has no words of its sender, and is neither a mention nor a command", () => {
    const from = (forward_origin: object, message = says("/new", { forward_origin })) => {
      const { text, mentioned, forwarded } = one(message);
      assert.deepEqual([text, mentioned], ["", false]);
      return forwarded;
    };
    const text = "/new";
    assert.deepEqual(from({ type: "user", sender_user: { ...ann, first_name: "Bo" } }), { text, from: "Bo Lee" });
    assert.deepEqual(from({ type: "hidden_user", sender_user_name: "Cy" }), { text, from: "Cy" });
    assert.deepEqual(from({ type: "chat", sender_chat: group }), { text, from: "Team" });
    const news = { type: "channel", chat: { id: -5, type: "channel", title: "News" } };
    assert.deepEqual(from(news), { text, from: "News" });
    const named = Object(marked("@Svc_Test_Bot pay", "@Svc_Test_Bot")).message;
    const mention = from(news, { message: { ...named, forward_origin: news } });
    assert.equal(mention?.text, "@Svc_Test_Bot pay");
    const photo = { text: undefined, caption: "look", photo: [{ ...file, width: 1, height: 1 }], forward_origin: news };
    assert.deepEqual(from(news, says("", photo)), { text: "look", from: "News" });
    assert.equal(one(says("", photo)).media?.length, 1);
    const album = toInbound([update(says("", { ...photo, caption: undefined })), update(says("", photo))], BOT, memory);
    assert.deepEqual(
      album.map((message) => [message.text, message.forwarded?.text, message.media?.length]),
      [["", "look", 2]],
    );
  });

  it("keeps hostile names and markup as they are", () => {
    const from = { ...ann, first_name: "<b>\u202Eroot</b>", last_name: undefined };
    const found = one(says("<script>&amp; [x](tg://user?id=1)\u0000", { from }));
    assert.equal(found.text, "<script>&amp; [x](tg://user?id=1)\u0000");
    assert.deepEqual(found.sender, { id: "77", name: "<b>\u202Eroot</b>" });
  });
});

describe("an event", () => {
  it("is an edit, but not the move of a live location", () => {
    const edited = { ...says("new").message, message_id: 4, edit_date: 1_700_000_001 };
    const found = one({ edited_message: edited });
    assert.deepEqual([found.event, found.text, found.at], [{ kind: "edit", messageId: "4" }, "new", 1_700_000_001_000]);
    assert.deepEqual(inbound({ edited_message: { ...edited, location: { latitude: 1, longitude: 1 } } }), []);
  });

  it("is a press of a button, with its label if Telegram still has the message", () => {
    const keyboard = [[{ text: "Yes", callback_data: "y:1" }]];
    const message = { message_id: 4, date: 1, chat: group, reply_markup: { inline_keyboard: keyboard } };
    const press = { id: "q", from: ann, message, data: "y:1", chat_instance: "i" };
    const found = one({ callback_query: press });
    assert.deepEqual(found.event, { kind: "button", messageId: "4", value: "y:1" });
    assert.deepEqual([found.text, found.chat.id], ["Yes", "-100500"]);
    assert.equal(one({ callback_query: { ...press, message: { ...message, date: 0 } } }).text, "y:1");
    assert.deepEqual(inbound({ callback_query: { ...press, message: undefined } }), []);
  });

  it("is each changed reaction, with an id of its own", () => {
    memory.sent("-100500", "4");
    const emoji = (...all: string[]) => all.map((one) => ({ type: "emoji", emoji: one }));
    const reaction = { chat: group, message_id: 4, user: ann, date: 1, old_reaction: emoji("👍", "👀") };
    const found = inbound({ message_reaction: { ...reaction, new_reaction: emoji("👀", "🔥") } });
    const common = { kind: "reaction", messageId: "4", isOwn: true };
    assert.deepEqual(
      found.map(({ id, event }) => [id, event]),
      [
        ["update:9", { ...common, emoji: "👍", isRemoved: true }],
        ["update:9:1", { ...common, emoji: "🔥", isRemoved: false }],
      ],
    );
    const other = inbound({ message_reaction: { ...reaction, message_id: 5, new_reaction: [] } });
    assert.deepEqual(Object(other[0]?.event).isOwn, false);
  });

  it("is an answer to a poll, with the texts of a known poll", () => {
    memory.sentPoll("p", { chat: { type: "group", id: "-100500", threadId: "3" }, options: ["red", "blue"] });
    const answer = { poll_id: "p", user: ann, option_ids: [1], option_persistent_ids: [] };
    const known = one({ poll_answer: answer });
    assert.deepEqual(known.event, { kind: "poll-answer", pollId: "p", options: ["blue"] });
    assert.deepEqual(known.chat, { type: "group", id: "-100500", threadId: "3" });
    const unknown = one({ poll_answer: { ...answer, poll_id: "old" } });
    assert.deepEqual(unknown.event, { kind: "poll-answer", pollId: "old", options: ["1"] });
    assert.deepEqual(unknown.chat, { type: "direct", id: "77", name: "Ann Lee" });
    const withdrawn = one({ poll_answer: { ...answer, option_ids: [] } });
    assert.deepEqual(Object(withdrawn.event).options, []);
  });
});

it("the parts of an album are together, and one message", () => {
  const part = (id: number, fields: object) =>
    update({ ...says("", { text: undefined, photo: [{ ...file, file_id: `p${id}` }], ...fields }), update_id: id });
  const album = { media_group_id: "a" };
  const updates = [part(1, album), part(2, {}), part(3, { ...album, caption: "both" })];
  const items = joined(updates);
  assert.deepEqual(
    items.map((item) => item.map((one) => one.update_id)),
    [[1, 3], [2]],
  );
  const [message, ...more] = toInbound(items[0] ?? [], BOT, memory);
  assert.equal(more.length, 0);
  assert.deepEqual(
    [message?.id, message?.text, message?.media?.map(({ ref }) => ref)],
    ["update:3", "both", ["p1", "p3"]],
  );
});

it("the memory forgets the oldest polls", () => {
  const small = createMemory();
  for (let id = 0; id <= 500; id++) small.sentPoll(String(id), { chat: { type: "group", id: "-1" }, options: [] });
  assert.equal(small.pollOf("0"), undefined);
  assert.ok(small.pollOf("1") && small.pollOf("500"));
});

it("outgoing values are what Telegram permits", () => {
  const media = (kind: "image" | "audio" | "video" | "file", mimeType: string, isVoice = false, size = 1) =>
    fieldOf({ kind, mimeType, isVoice, name: "x", bytes: new Uint8Array(size) });
  assert.equal(media("image", "image/png"), "photo");
  assert.equal(media("image", "image/png", false, 10_000_001), "document");
  assert.equal(media("image", "image/svg+xml"), "document");
  assert.equal(media("image", "image/gif"), "animation");
  assert.equal(media("audio", "audio/ogg; codecs=opus", true), "voice");
  assert.equal(media("audio", "audio/mpeg", true), "audio");
  assert.equal(media("video", "video/mp4"), "video");
  assert.equal(media("file", "application/pdf"), "document");
  assert.equal(fileNameOf('../a";\r\nb.pdf'), ".._a_b.pdf");
  assert.deepEqual(
    [threadOf("1"), threadOf("1", false), threadOf("7")],
    [{}, { message_thread_id: 1 }, { message_thread_id: 7 }],
  );
  assert.deepEqual([chatTypeOf("77"), chatTypeOf("-1"), chatTypeOf("@name")], ["direct", "group", "group"]);
  const menu = menuOf([
    { name: "new", description: " " },
    ...Array.from({ length: 120 }, (_, at) => ({ name: `c${at}`, description: "d".repeat(300) })),
  ]);
  assert.deepEqual(menu[0], { command: "new", description: "new" });
  assert.deepEqual([menu.length, menu[1]?.description.length], [100, 256]);
});

it("errors say whether a retry may succeed, and what to do", () => {
  const refused = (error_code: number, description: string, parameters = {}) =>
    refusalError({ error_code, description, parameters }, "sendMessage");
  const cases: readonly (readonly [error: Error, code: string, words: RegExp])[] = [
    [refused(403, "Forbidden: bot was blocked by the user"), "INVALID_REQUEST", /press Start$/],
    [refused(400, "Bad Request: chat not found"), "INVALID_REQUEST", /chat not found; check the id/],
    [refused(400, "Bad Request: file is too big"), "INVALID_REQUEST", /20 MB/],
    [refused(400, "Bad Request: message can't be edited"), "NOT_FOUND", /can't be edited/],
    [refused(401, "Unauthorized"), "NOT_LINKED", /@BotFather/],
    [refused(404, "Not Found"), "NOT_LINKED", /token/],
    [refused(409, "Conflict: terminated by other getUpdates request"), "UNAVAILABLE", /stop the other program/],
    [refused(500, "Internal Server Error"), "UNAVAILABLE", /Internal/],
    [unreachable(Object.assign(new Error("/bot1:secret/"), { code: "ECONNRESET" })), "UNAVAILABLE", /ECONNRESET/],
  ];
  for (const [error, code, words] of cases) {
    assert.equal(Object(error).code, code, error.message);
    assert.match(error.message, words);
    assert.doesNotMatch(JSON.stringify([error.message, error.cause]), /secret/);
  }
  assert.equal(refused(429, "Too Many Requests", { retry_after: 7 }).retryAfterMs, 7_000);
});
