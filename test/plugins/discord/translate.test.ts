/** The translation of events, and of outgoing values. No network. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import { learnContent, learnPlaces, learnPoll } from "../../../plugins/discord/learn.ts";
import { emptyMemory, type Memory } from "../../../plugins/discord/memory.ts";
import { addressOf, toCommands, toMessage, toRows } from "../../../plugins/discord/outgoing.ts";
import { toInbound } from "../../../plugins/discord/translate.ts";

const SELF = "150000000000000001";
const ADA = { id: "180000000000000001", username: "ada", global_name: "Ada L." };
const [GUILD, CHANNEL, THREAD, ROLE] = ["11", "12", "13", "14"];

function memory(): Memory {
  const known = { ...emptyMemory(), self: { id: SELF, name: "svc-bot", applicationId: "2" } };
  const channels = [{ id: CHANNEL, type: 0, name: "general", parent_id: "9" }];
  const threads = [{ id: THREAD, type: 11, name: "a thread", parent_id: CHANNEL }];
  const roles = [{ id: ROLE, tags: { bot_id: SELF } }, { id: "15" }];
  learnPlaces({ t: "GUILD_CREATE", d: { id: GUILD, channels, threads, roles } }, known);
  return known;
}

const said = (more: object = {}) => ({
  id: "100",
  type: 0,
  channel_id: CHANNEL,
  guild_id: GUILD,
  author: ADA,
  member: { nick: "Countess", roles: ["15"] },
  content: "hello",
  timestamp: "2026-01-02T03:04:05.000Z",
  edited_timestamp: null,
  mentions: [],
  mention_roles: [],
  attachments: [],
  ...more,
});
const read = (d: object, t = "MESSAGE_CREATE", known = memory(), s = 7): InboundMessage | undefined => {
  const messages = toInbound({ t, d, s }, known);
  learnContent({ t, d, s }, known);
  return messages[0];
};

describe("a message", () => {
  it("of a server has the facts that bindings match, and the name that people see", () => {
    assert.deepEqual(read(said()), {
      id: "100",
      chat: { type: "group", id: CHANNEL, name: "#general", guildId: GUILD },
      sender: { id: ADA.id, name: "Countess", roles: ["15"] },
      text: "hello",
      mentioned: false,
      at: Date.UTC(2026, 0, 2, 3, 4, 5),
    });
  });

  it("of a thread belongs to the thread and its parent channel", () => {
    const names = { name: "#general", threadId: THREAD, parentId: CHANNEL };
    const chat = { type: "group", id: THREAD, ...names, guildId: GUILD };
    assert.deepEqual(read(said({ channel_id: THREAD }))?.chat, chat);
  });

  it("that is direct has the address of the person", () => {
    const message = read(said({ guild_id: undefined, member: undefined, channel_id: "77" }));
    assert.deepEqual(message?.chat, { type: "direct", id: `user:${ADA.id}`, name: "Ada L." });
    assert.deepEqual(message.sender, { id: ADA.id, name: "Ada L." });
  });

  const bob = { id: "180000000000000002", username: "bob", member: { nick: "$& <@180000000000000001>" } };
  const mentions: [content: string, more: object, text: string, isMentioned: boolean][] = [
    [`<@${SELF}> /new`, { mentions: [{ id: SELF }] }, "/new", true],
    [`  <@!${SELF}>, <@&${ROLE}>: do it`, { mention_roles: [ROLE] }, "do it", true],
    [`ask <@${SELF}> later`, { mentions: [{ id: SELF }] }, "ask @svc-bot later", true],
    [`<@&${ROLE}>`, { mention_roles: [ROLE] }, "", true],
    ["<@&15> hi", { mention_roles: ["15"] }, "<@&15> hi", false],
    [`<@${bob.id}> hi <@1> <#12>`, { mentions: [bob] }, `@${bob.member.nick} hi <@1> <#12>`, false],
    ["@everyone hi", { mention_everyone: true }, "@everyone hi", false],
  ];
  for (const [content, more, text, isMentioned] of mentions)
    it(`with mentions: ${content}`, () => {
      const message = read(said({ content, ...more }));
      assert.deepEqual([message?.text, message?.mentioned], [text, isMentioned]);
    });

  it("that answers one of the bot says so", () => {
    const reply = { type: 19, message_reference: { message_id: "99" } };
    const own = said({ id: "99", author: { id: SELF, username: "svc-bot", bot: true }, content: "noon" });
    const message = read(said({ ...reply, referenced_message: own }));
    assert.deepEqual(
      [message?.mentioned, message?.replyTo],
      [false, { messageId: "99", text: "noon", senderName: "svc-bot", isOwn: true }],
    );
    const gone = read(said({ ...reply, referenced_message: null }));
    assert.deepEqual([gone?.mentioned, gone?.replyTo], [false, { messageId: "99", isOwn: false }]);
    const snapshot = { message: { content: "of somebody else", attachments: [] } };
    const forward = said({ id: "99", content: "", message_snapshots: [snapshot] });
    assert.equal(read(said({ ...reply, referenced_message: forward }))?.replyTo?.text, "of somebody else");
    const known = memory();
    learnContent({ t: "MESSAGE_CREATE", d: own, s: 1 }, known);
    assert.equal(read(said(reply), "MESSAGE_CREATE", known)?.replyTo?.isOwn, true);
  });

  it("has its files, and those of a forwarded message", () => {
    const file = { id: "5", filename: "a.png", content_type: "image/png", size: 3, url: "https://cdn/x" };
    const snapshot = {
      message: { content: "forwarded", attachments: [{ ...file, id: "6", content_type: undefined }] },
    };
    const message = read(
      said({
        content: "",
        attachments: [file],
        message_reference: { message_id: "1", channel_id: CHANNEL, type: 1 },
        message_snapshots: [snapshot],
      }),
    );
    assert.deepEqual([message?.text, message?.replyTo], ["", undefined]);
    assert.deepEqual(message?.forwarded, { text: "forwarded", from: "#general" });
    assert.deepEqual(message?.media, [
      { ref: `${CHANNEL}/100/5`, kind: "image", name: "a.png", mimeType: "image/png", size: 3 },
      { ref: `${CHANNEL}/100/6`, kind: "file", name: "a.png", size: 3 },
    ]);
    const voice = said({ content: "", flags: 1 << 13, attachments: [{ ...file, content_type: "audio/ogg" }] });
    assert.equal(read(voice)?.media?.[0]?.isVoice, true);
  });

  const ignored: [why: string, more: object][] = [
    ["a bot", { author: { ...ADA, bot: true } }],
    ["a webhook", { webhook_id: "3" }],
    ["the bot itself", { author: { id: SELF, username: "svc-bot" } }],
    ["Discord, about a new member", { type: 7 }],
  ];
  for (const [why, more] of ignored) it(`of ${why} is ignored`, () => assert.equal(read(said(more)), undefined));

  for (const more of [{ id: 100 }, { author: null }, { channel_id: {} }, { author: { ...ADA, id: "x" } }])
    it(`that is malformed throws: ${JSON.stringify(more)}`, () => assert.throws(() => read(said(more))));
});

describe("an event", () => {
  const changed = { content: "hello!", edited_timestamp: "2026-01-02T03:05:00.000Z" };

  it("of an edit has the new text, and none comes from a link preview", () => {
    const known = memory();
    read(said(), "MESSAGE_CREATE", known);
    assert.equal(read(said({ embeds: [{}] }), "MESSAGE_UPDATE", known), undefined);
    const edit = read(said(changed), "MESSAGE_UPDATE", known);
    assert.deepEqual([edit?.text, edit?.event], ["hello!", { kind: "edit", messageId: "100" }]);
    assert.deepEqual([edit?.id, edit?.messageId], [`edit:100:${changed.edited_timestamp}`, "100"]);
    assert.equal(read(said({ ...changed, embeds: [{}] }), "MESSAGE_UPDATE", known), undefined);
    assert.equal(read({ id: "100", channel_id: CHANNEL }, "MESSAGE_UPDATE", known), undefined);
  });

  it("of a deletion has the author of the message, if that is remembered", () => {
    const known = memory();
    read(said(), "MESSAGE_CREATE", known);
    const gone = { id: "100", channel_id: CHANNEL, guild_id: GUILD };
    const deletion = read(gone, "MESSAGE_DELETE", known);
    assert.deepEqual(deletion?.event, { kind: "deletion", messageId: "100" });
    assert.deepEqual(deletion.sender, { id: ADA.id, name: "Countess", roles: ["15"] });
    assert.equal(read({ ...gone, id: "101" }, "MESSAGE_DELETE", known), undefined);
    read(said({ id: "102", author: { id: SELF, username: "svc-bot", bot: true } }), "MESSAGE_CREATE", known);
    assert.equal(read({ ...gone, id: "102" }, "MESSAGE_DELETE", known), undefined);
    const bulk = { ids: ["101", "100"], channel_id: CHANNEL, guild_id: GUILD };
    assert.equal(read(bulk, "MESSAGE_DELETE_BULK", known)?.id, "deletion:100");
  });

  it("of a reaction says whose message it is about, and can be repeated by the person", () => {
    const known = memory();
    const reaction = {
      user_id: ADA.id,
      channel_id: CHANNEL,
      message_id: "99",
      guild_id: GUILD,
      emoji: { id: null, name: "👍" },
    };
    const added = read(
      { ...reaction, message_author_id: SELF, member: { user: ADA, roles: [] } },
      "MESSAGE_REACTION_ADD",
      known,
    );
    assert.deepEqual(added?.event, { kind: "reaction", messageId: "99", emoji: "👍", isRemoved: false, isOwn: true });
    const custom = { ...reaction, emoji: { id: "8", name: "party" } };
    const removed = read(custom, "MESSAGE_REACTION_REMOVE", known);
    assert.deepEqual(removed?.event, {
      kind: "reaction",
      messageId: "99",
      emoji: "<:party:8>",
      isRemoved: true,
      isOwn: false,
    });
    const ids = [7, 7, 8].map((s) => read(reaction, "MESSAGE_REACTION_ADD", known, s)?.id);
    assert.deepEqual([ids[0] === ids[1], ids[0] === ids[2]], [true, false]);
    assert.equal(read({ ...reaction, user_id: SELF }, "MESSAGE_REACTION_ADD", known), undefined);
  });

  it("of a vote has all selected options, only for polls of the bot", () => {
    const known = memory();
    const answers = ["tea", "milk"].map((text, at) => ({ answer_id: at + 1, poll_media: { text } }));
    learnPoll({ id: "50", poll: { answers } as never }, true, known); // the part of a poll that is used
    learnPoll({ id: "51", poll: { answers } as never }, false, known); // the same
    const vote = (answer: number, isAdded = true, poll = "50") =>
      read(
        { user_id: ADA.id, channel_id: CHANNEL, guild_id: GUILD, message_id: poll, answer_id: answer },
        `MESSAGE_POLL_VOTE_${isAdded ? "ADD" : "REMOVE"}`,
        known,
      )?.event;
    const options = [vote(1), vote(2), vote(1, false), vote(2, false), vote(9)].map(
      (event) => event?.kind === "poll-answer" && event.options,
    );
    assert.deepEqual(options, [["tea"], ["tea", "milk"], ["milk"], [], ["option 9"]]);
    assert.equal(vote(1, true, "51"), undefined);
  });

  it("of a button has its label, and of the menu the text of the command", () => {
    const common = {
      id: "60",
      token: "t",
      guild_id: GUILD,
      channel: { id: THREAD, type: 11 },
      member: { user: ADA, nick: null, roles: ["15"] },
    };
    const components = [{ type: 1, components: [{ type: 2, custom_id: "yes", label: "Yes!" }] }];
    const pressed = read(
      { ...common, type: 3, message: { id: "99", components }, data: { custom_id: "yes" } },
      "INTERACTION_CREATE",
    );
    assert.deepEqual([pressed?.text, pressed?.event], ["Yes!", { kind: "button", messageId: "99", value: "yes" }]);
    assert.deepEqual(
      [pressed?.chat.threadId, pressed?.sender],
      [THREAD, { id: ADA.id, name: "Ada L.", roles: ["15"] }],
    );
    const command = (options?: object[]) =>
      read({ ...common, type: 2, data: { name: "new", options } }, "INTERACTION_CREATE");
    assert.deepEqual(
      [command()?.text, command([{ name: "input", value: " a b " }])?.text, command()?.mentioned],
      ["/new", "/new a b", true],
    );
  });
});

describe("an outgoing message", () => {
  const button = (value: string) => ({ label: value, value });

  it("pings no role and not everyone, is created once, and survives the deletion of its question", () => {
    assert.deepEqual(
      toMessage({ id: "0123456789abcdef0123456789abcdef", text: "@everyone", replyTo: "5", silent: true }),
      {
        content: "@everyone",
        nonce: "0123456789abcdef012345678",
        enforce_nonce: true,
        allowed_mentions: { parse: ["users"] },
        message_reference: { message_id: "5", fail_if_not_exists: false },
        flags: 4096,
      },
    );
  });

  it("keeps rows of buttons within the limits of Discord", () => {
    const sizes = (rows: number[]) =>
      toRows(rows.map((size, row) => Array.from({ length: size }, (_, at) => button(`${row}.${at}`)))).map(
        (row) => "components" in row && row.components.length,
      );
    assert.deepEqual([sizes([1, 2]), sizes([7]), sizes([1, 1, 1, 1, 1, 1]), sizes([])], [[1, 2], [5, 2], [5, 1], []]);
    const [row] = toRows([[{ ...button("x"), style: "danger" }, button("y")]]);
    assert.deepEqual(row, {
      type: 1,
      components: [
        { type: 2, style: 4, label: "x", custom_id: "x" },
        { type: 2, style: 2, label: "y", custom_id: "y" },
      ],
    });
  });

  it("closes a poll after whole hours", () => {
    const poll = (seconds?: number) =>
      toMessage({
        id: "",
        text: "",
        poll: { question: "?", options: ["a"], maxSelections: 2, ...(seconds === undefined ? {} : { seconds }) },
      }).poll;
    assert.deepEqual([poll()?.duration, poll(1)?.duration, poll(3_601)?.duration], [undefined, 1, 2]);
    assert.deepEqual(poll(), {
      question: { text: "?" },
      answers: [{ poll_media: { text: "a" } }],
      allow_multiselect: true,
    });
  });

  it("goes to addresses as people write them", () => {
    const id = "180000000000000001";
    const texts = [
      id,
      `<#${id}>`,
      `channel:${id}`,
      `Channel:${id}`,
      `<@${id}>`,
      `<@!${id}>`,
      ` user:${id} `,
      "user:1",
      "#general",
      `<@&${id}>`,
    ];
    assert.deepEqual(texts.map(addressOf), [
      id,
      id,
      id,
      id,
      `user:${id}`,
      `user:${id}`,
      `user:${id}`,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

it("the command menu keeps the limits of Discord", () => {
  const commands = toCommands([
    { name: "new", description: "Start anew" },
    { name: "long", description: "x".repeat(200) },
  ]);
  assert.equal(commands[1] && "description" in commands[1] && commands[1].description?.length, 100);
  assert.deepEqual(
    commands.map(({ name }) => name),
    ["new", "long"],
  );
});
