/** Messages, events and addresses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Author } from "chat";
import {
  addressOf,
  toButton,
  toCommand,
  toDeletion,
  toInbound,
  toReaction,
} from "../../../plugins/chat-sdk/translate.ts";
import { author, messageOf, tiny } from "./scene.ts";

const { adapter } = tiny();
const TOWN = "tiny:town:1";
const place = { chat: { type: "group", id: TOWN, parentId: "tiny:town" }, sender: { id: "ann", name: "Ann Lee" } };
const read = (more: object = {}, threadId = TOWN, isEdit = false) =>
  toInbound(adapter, threadId, messageOf({ id: "m", ...more }), { refOf: (_, key) => key, isEdit });
const bots: Partial<Author>[] = [{ isMe: true }, { isBot: true }, { isSystem: true }];

describe("messages of adapters", () => {
  it("come from threads of channels, or from people", () => {
    const rest = { id: `${TOWN} m`, messageId: "m", text: "hello", media: [], at: 1_700_000_000_000 };
    assert.deepEqual(read(), { ...rest, ...place, mentioned: false });
    const direct = read({ author: { ...author, fullName: "", userName: "ann" } }, "tiny:dm-ann");
    assert.deepEqual(direct?.chat, { type: "direct", id: "user:ann", name: "ann" });
    assert.equal(direct?.mentioned, true);
    const { chat } =
      toInbound({ ...adapter, isDM: undefined } as never, "tiny:dm-ann", messageOf(), { refOf: () => "" }) ?? {};
    assert.deepEqual(chat, { type: "group", id: "tiny:dm-ann" });
    const failing = { ...adapter, isDM: () => assert.fail(), channelIdFromThreadId: () => assert.fail() };
    assert.equal(toInbound(failing, TOWN, messageOf(), { refOf: () => "" })?.chat.id, TOWN);
    for (const bot of bots) assert.equal(read({ author: { ...author, ...bot } }), undefined);
    assert.ok(read({ author: { ...author, isBot: "unknown" } }));
  });

  const mentions: [given: string, isMention: boolean | undefined, text: string, mentioned: boolean][] = [
    ["@tinybot /new", undefined, "/new", true],
    ["  @TinyBot, hello", undefined, "hello", true],
    ["<@B1>: hello", undefined, "hello", true],
    ["hello @tinybot", undefined, "hello @tinybot", true],
    ["@tinybots hello", undefined, "@tinybots hello", false],
    ["ann@tinybot.example", undefined, "ann@tinybot.example", false],
    ["@tinybot hello", false, "hello", false],
    ["hello", true, "hello", true],
  ];
  for (const [given, isMention, text, mentioned] of mentions)
    it(`"${given}" ${mentioned ? "mentions" : "does not mention"} the bot`, () => {
      const known = { ...adapter, botUserId: "B1" };
      const message = toInbound(known, TOWN, messageOf({ text: given, isMention }), { refOf: () => "" });
      assert.deepEqual([message?.text, message?.mentioned], [text, mentioned]);
    });

  it("have files, and the message that they answer", () => {
    const replyTo = messageOf({ id: "q", text: "?", author: { ...author, isMe: true, fullName: "Tiny" } });
    const message = read({
      replyTo,
      attachments: [{ type: "audio", mimeType: "audio/ogg", size: -1 }],
      metadata: { dateSent: new Date(NaN) },
    });
    assert.deepEqual(message?.replyTo, { messageId: "q", text: "?", senderName: "Tiny", isOwn: true });
    assert.deepEqual(message?.media, [{ ref: `${TOWN} m 0`, kind: "audio", mimeType: "audio/ogg" }]);
    assert.equal(message?.at, undefined);
  });

  it("are edited and deleted", () => {
    const [first, again, second] = [read({}, TOWN, true), read({}, TOWN, true), read({ text: "new" }, TOWN, true)];
    assert.deepEqual(first?.event, { kind: "edit", messageId: "m" });
    assert.equal(first?.id, again?.id);
    assert.notEqual(first?.id, second?.id);
    const deleted = { threadId: TOWN, messageId: "m" };
    const previousMessage = messageOf();
    const event = { kind: "deletion", messageId: "m" };
    const gone = { id: `${TOWN} m deletion`, messageId: "m", ...place, text: "", event };
    assert.deepEqual(toDeletion(adapter, { ...deleted, previousMessage }), gone);
    assert.equal(toDeletion(adapter, deleted), undefined);
    const own = messageOf({ author: { ...author, isMe: true } });
    assert.equal(toDeletion(adapter, { ...deleted, previousMessage: own }), undefined);
  });

  it("get reactions as Unicode", () => {
    const base = { threadId: TOWN, messageId: "m", added: true, user: author, raw: { id: 1 } };
    const rows: [rawEmoji: string, name: string, emoji: string][] = [
      ["👍", "thumbs_up", "👍"],
      ["+1", "thumbs_up", "👍"],
      [":tada:", "party", "🎉"],
      ["LOVE", "heart", "❤"],
      ["own", "own", ":own:"],
    ];
    const react = (rawEmoji: string, name: string, more: object = {}) =>
      toReaction(adapter, { ...base, rawEmoji, emoji: { name, toJSON: () => name }, ...more });
    for (const [rawEmoji, name, emoji] of rows)
      assert.deepEqual(react(rawEmoji, name)?.event, { kind: "reaction", messageId: "m", emoji, isRemoved: false });
    const message = messageOf({ author: { ...author, isMe: true } });
    assert.deepEqual(react("👍", "", { added: false, message })?.event, {
      kind: "reaction",
      messageId: "m",
      emoji: "👍",
      isRemoved: true,
      isOwn: true,
    });
    assert.notEqual(react("👍", "")?.id, react("👎", "")?.id);
    for (const bot of bots) assert.equal(react("👍", "", { user: { ...author, ...bot } }), undefined);
  });

  it("are commands, and presses of buttons", () => {
    const command = { channelId: "tiny:town", command: "/new", text: "now", user: author, raw: { id: 1 } };
    const sent = toCommand(adapter, command);
    assert.deepEqual([sent?.text, sent?.mentioned, sent?.chat.id], ["/new now", true, "tiny:town"]);
    assert.equal(toCommand(adapter, { ...command, command: "new", text: "" })?.text, "/new");
    assert.equal(sent?.id, toCommand(adapter, command)?.id);
    const circular: { own?: object } = {};
    circular.own = circular;
    assert.equal(toCommand(adapter, { ...command, raw: circular })?.id, undefined);
    const press = { actionId: "a", messageId: "m", threadId: TOWN, user: author, raw: undefined };
    assert.deepEqual(toButton(adapter, press, undefined)?.event, { kind: "button", messageId: "m", value: "a" });
    assert.deepEqual(toButton(adapter, { ...press, value: "v" }, undefined)?.event, {
      kind: "button",
      messageId: "m",
      value: "v",
    });
    for (const bot of bots) {
      const user = { ...author, ...bot };
      assert.deepEqual(
        [toCommand(adapter, { ...command, user }), toButton(adapter, { ...press, user }, undefined)],
        [undefined, undefined],
      );
    }
  });

  it("are answered at addresses that people write", () => {
    const rows = {
      "user:a": "user:a",
      a: "user:a",
      " chat-sdk:gchat:spaces/A:b ": "gchat:spaces/A:b",
      "+1555": "user:+1555",
    };
    for (const [text, address] of Object.entries(rows)) assert.equal(addressOf(text), address);
  });
});
