/** Pure translation: addresses, mentions, events, emoji, buttons. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attachmentsOf, signatureOf } from "../../../plugins/mattermost/buttons.ts";
import { accountsOf } from "../../../plugins/mattermost/config.ts";
import { emojiName, emojiOf } from "../../../plugins/mattermost/emoji.ts";
import { changesOf, type NetworkEvent, Post, readEvent, readFrame } from "../../../plugins/mattermost/events.ts";
import { commandOf } from "../../../plugins/mattermost/routes.ts";
import {
  addressed,
  addressOf,
  isIgnored,
  toInbound,
  withoutMassMentions,
} from "../../../plugins/mattermost/translate.ts";

const id = (name: string) => name.padEnd(26, "0");
const bot = { id: id("bot"), name: "help.bot", isBot: true };
const channel = { type: "O", name: "Town", teamId: id("team") };
const post = (fields: object = {}) => ({
  id: id("p"),
  user_id: id("ada"),
  channel_id: id("town"),
  message: "hi",
  create_at: 5,
  ...fields,
});
const posted = (fields: object = {}, more: object = {}): NetworkEvent => ({
  kind: "posted",
  post: post(fields),
  ...more,
});

describe("a mention of the bot", () => {
  const cases: [text: string, isMentioned: boolean, rest: string][] = [
    ["@help.bot /new", true, "/new"],
    ["  @Help.Bot: hello", true, "hello"],
    ["@help.bot", true, ""],
    ["@help.bot, and @ada", true, "and @ada"],
    ["please, @help.bot!", true, "please, @help.bot!"],
    ["ask @help.bot.", true, "ask @help.bot."],
    ["@help.bot.", true, "."],
    ["@helpxbot hello", false, "@helpxbot hello"],
    ["@help.bot2 hello", false, "@help.bot2 hello"],
    ["@help.bot.two hello", false, "@help.bot.two hello"],
    ["mail me@help.bot", false, "mail me@help.bot"],
    ["help.bot", false, "help.bot"],
  ];
  for (const [text, isMentioned, rest] of cases)
    it(`in "${text}": ${isMentioned}`, () => assert.deepEqual(addressed(text, bot.name), { isMentioned, text: rest }));
});

it("mentions of everybody notify nobody, other mentions stay", () => {
  const given = "@all @Channel, (@here) @all-hands **@HERE** @allison @hereford a@all @ada";
  const wanted =
    "@\u200dall @\u200dChannel, (@\u200dhere) @\u200dall-hands **@\u200dHERE** @allison @hereford a@\u200dall @ada";
  assert.equal(withoutMassMentions(given), wanted);
});

describe("code is left alone:", () => {
  const same: [what: string, text: string][] = [
    ["a span", "run `npm i @all-contributors/cli`, then `@channel = 1`"],
    ["a span of two backticks", "``a ` @all`` is code"],
    ["a fenced block", "so:\n```ruby\n@channel = 1\n\n@here\n```\ndone"],
    ["a fenced block of a list", "1. so:\n   ~~~~\n   ```\n\n   @all\n   ~~~~~ \n2. done"],
    ["a fenced block with Windows line ends", "```\r\n@all\r\n```\r\ndone"],
  ];
  for (const [what, text] of same) it(what, () => assert.equal(withoutMassMentions(text), text));

  const others: [what: string, text: string][] = [
    ["text between spans", "`a` @all `b`"],
    ["text after a block", "```\n1\n```\n@all\n```\n2\n```"],
    ["a span over two lines and what follows", "`a\nb` @all `c`"],
    ["a span that a list interrupts", "`a\n- @all`"],
    ["a span that a paragraph interrupts", "`a\n\n@all`"],
    ["an escaped backtick", "\\`@all`"],
    ["backticks without a pair", "``@all`"],
    ["a block that is not closed", "```\n@all"],
    ["a block that its list ends", "- a\n  ```\n@all\n  ```"],
    ["a block that begins beside its bullet", "- ```\n  1\n  ```\n@all\n```\n2\n```"],
    ["text after a block with shorter marks in it", "~~~~\n~~~\n~~~~\n@all\n~~~~\n~~~~"],
    ["a mark that is shorter than the first", "````\n```\n@all"],
  ];
  for (const [what, text] of others)
    it(`not ${what}`, () => assert.equal(withoutMassMentions(text), text.replace("@all", "@\u200dall")));

  it("also in a long text without an end", () => {
    const text = `${" ```\n".repeat(2)}${"   \n".repeat(500)}${"`` ` ".repeat(400)}@all`;
    const before = performance.now();
    assert.match(withoutMassMentions(text), /@\u200dall$/);
    assert.ok(performance.now() - before < 500);
  });
});

describe("an address", () => {
  const cases: [text: string, address: string | undefined][] = [
    [id("town"), id("town")],
    [` channel:${id("town")} `, id("town")],
    [`user:${id("ada")}`, `user:${id("ada")}`],
    ["@Ada.L-1_x", "@ada.l-1_x"],
    ["@all", undefined],
    ["ada", undefined],
    [`user:${id("ada")}0`, undefined],
    [`${id("town")} x`, undefined],
    ["@ada lovelace", undefined],
    ["@../users/me", undefined],
    ["user:@ada", undefined],
  ];
  for (const [text, address] of cases) it(`"${text}": ${address}`, () => assert.equal(addressOf(text), address));
});

describe("an event", () => {
  const ignored: [why: string, event: NetworkEvent][] = [
    ["the bot's own post", posted({ user_id: bot.id })],
    ["another bot's post", posted({ props: { from_bot: "true" } })],
    ["a webhook's post, which has the id of its creator", posted({ props: { from_webhook: "true" } })],
    ["a system message", posted({ type: "system_join_channel" })],
    ["a post of a plugin", posted({ type: "custom_calls" })],
    ["a pinned post", { kind: "edited", post: post({ edit_at: 0 }) }],
    [
      "the bot's own reaction",
      { kind: "reaction", isRemoved: false, reaction: { user_id: bot.id, post_id: id("p"), emoji_name: "x" } },
    ],
  ];
  for (const [why, event] of ignored) it(`is ignored: ${why}`, () => assert.equal(isIgnored(event, bot.id), true));

  it("of a person is not ignored, whatever its properties look like", () => {
    for (const fields of [{}, { props: null }, { props: "from_bot" }, { props: { from_bot: false } }, { type: "me" }])
      assert.equal(isIgnored(posted(fields), bot.id), false);
  });

  it("becomes a message with media, thread and answer", () => {
    const files = [
      { id: id("f"), name: "a.png", mime_type: "image/png", size: 3 },
      { id: "not an id", name: "b" },
      { id: id("g") },
    ];
    const root = post({ id: id("root"), user_id: bot.id, message: "earlier" });
    const message = toInbound(posted({ root_id: id("root"), metadata: { files } }), {
      bot,
      channel,
      senderName: "ada",
      post: root,
      postSenderName: "help.bot",
    });
    assert.deepEqual(message, {
      id: id("p"),
      messageId: id("p"),
      chat: { type: "group", id: id("town"), name: "Town", teamId: id("team"), threadId: id("root") },
      sender: { id: id("ada"), name: "ada" },
      text: "hi",
      mentioned: false,
      media: [
        { ref: id("f"), kind: "image", name: "a.png", mimeType: "image/png", size: 3 },
        { ref: id("g"), kind: "file" },
      ],
      replyTo: { messageId: id("root"), text: "earlier", senderName: "help.bot", isOwn: true },
      at: 5,
    });
  });

  it("with a link to another post forwards its words and files", () => {
    const linked = post({ id: id("old"), message: "/new", metadata: { files: [{ id: id("f") }] } });
    const embeds = [
      { type: "opengraph", url: "https://example.com" },
      { type: "permalink", url: "", data: { post_id: id("old"), post: linked, channel_display_name: "Off-Topic" } },
    ];
    const { text, forwarded, media } = toInbound(posted({ message: "see", metadata: { embeds } }), { bot, channel });
    assert.deepEqual([text, forwarded], ["see", { text: "/new", from: "Off-Topic" }]);
    assert.deepEqual(media, [{ ref: id("f"), kind: "file" }]);
    const hidden = posted({ metadata: { embeds: [{ type: "permalink", url: "" }] } });
    assert.equal(toInbound(hidden, { bot, channel }).forwarded, undefined);
  });

  it("is a mention if the server lists the bot among the mentioned", () => {
    const { mentioned, text } = toInbound(posted({}, { mentions: [id("x"), bot.id] }), { bot, channel });
    assert.deepEqual([mentioned, text], [true, "hi"]);
  });

  const malformed: [why: string, frame: string][] = [
    ["not JSON", "{"],
    ["not an object", "[]"],
    ["without post", '{"event":"posted","seq":1,"data":{}}'],
    ["with a post that is no JSON", '{"event":"posted","seq":1,"data":{"post":"{"}}'],
    [
      "with a post without id",
      `{"event":"posted","seq":1,"data":{"post":${JSON.stringify(JSON.stringify({ message: "x" }))}}}`,
    ],
    ["with a list for data", '{"event":"reaction_added","seq":1,"data":[]}'],
  ];
  for (const [why, frame] of malformed)
    it(`${why} is malformed`, () => assert.throws(() => readEvent(readFrame(frame)), Error));

  it("of another kind is skipped", () => {
    assert.equal(readEvent(readFrame('{"event":"typing","seq":1,"data":{"user_id":"x"}}')), undefined);
  });
});

it("a changed post is new, edited, deleted, or none of them", () => {
  const kinds = (fields: object) => changesOf(post(fields) as Post, 100).map(({ kind }) => kind);
  assert.deepEqual(kinds({ create_at: 101 }), ["posted"]);
  assert.deepEqual(kinds({ create_at: 101, edit_at: 102 }), ["posted", "edited"]);
  assert.deepEqual(kinds({ create_at: 50, edit_at: 102 }), ["edited"]);
  assert.deepEqual(kinds({ create_at: 50, delete_at: 102 }), ["deleted"]);
  assert.deepEqual(kinds({ create_at: 50, update_at: 102 }), []);
  assert.deepEqual(kinds({ create_at: 101, original_id: id("p"), delete_at: 101 }), []);
});

it("emoji have names both ways; skin tones are dropped, unknown ones are names", () => {
  for (const emoji of ["👍", "❤️", "👍🏽", "🎉", "✅", "👀"]) assert.match(emojiName(emoji) ?? "", /^[a-z0-9_+]+$/);
  assert.equal(emojiName("👍🏽"), "+1");
  assert.equal(emojiOf("thumbsup"), "👍");
  assert.equal(emojiOf("wave_medium_dark_skin_tone"), "👋");
  assert.equal(emojiOf("party-parrot"), ":party-parrot:");
  assert.equal(emojiName(":party-parrot:"), "party-parrot");
  assert.equal(emojiName("🦖"), undefined);
  assert.equal(emojiName(":../users/me:"), undefined);
});

it("a slash command is the command of its words", () => {
  const known = ["status", "new", "model"];
  assert.deepEqual(
    ["status", " /new ", "", "model x y", "what is new?"].map((text) => commandOf(text, known)),
    ["/status", "/new", "/help", "/model x y", "what is new?"],
  );
});

describe("buttons", () => {
  const [account] = accountsOf({ baseUrl: "http://mm/", botToken: "t", callbackUrl: "http://gateway/svc/" });
  const place = { accountId: "default", channelId: id("town"), settings: account?.settings ?? assert.fail() };

  it("are one attachment for each row, signed for their channel", () => {
    const rows = [
      [
        { label: "Yes", value: "y", style: "primary" as const },
        { label: "No", value: "n" },
      ],
      [],
    ];
    const sig = (label: string, value: string) => signatureOf("t", id("town"), { value, label });
    const action = (name: string, value: string, style: string, at: number) => ({
      id: `row0button${at}`,
      name,
      type: "button",
      style,
      integration: {
        url: "http://gateway/svc/plugins/mattermost/default/action",
        context: { value, label: name, sig: sig(name, value) },
      },
    });
    assert.deepEqual(attachmentsOf(rows, place), [
      { actions: [action("Yes", "y", "primary", 0), action("No", "n", "default", 1)] },
    ]);
    assert.notEqual(sig("Yes", "y"), signatureOf("t", id("other"), { value: "y", label: "Yes" }));
    assert.notEqual(sig("Yes", "y"), signatureOf("u", id("town"), { value: "y", label: "Yes" }));
  });

  it("need the address of the gateway", () => {
    const [plain] = accountsOf({ baseUrl: "http://mm", botToken: "t" });
    const settings = plain?.settings ?? assert.fail();
    assert.deepEqual(attachmentsOf([[{ label: "Yes", value: "y" }]], { ...place, settings }), []);
  });
});

it("accounts override the section, and one without token is not configured", () => {
  const accounts = accountsOf({ baseUrl: "http://mm/", accounts: { work: { botToken: "w", pingMs: 100 }, idle: {} } });
  assert.deepEqual(
    accounts.map(({ id: name, configured, settings }) => [name, configured, settings]),
    [
      ["work", true, { baseUrl: "http://mm", botToken: "w", pingMs: 100 }],
      ["idle", false, { baseUrl: "http://mm", botToken: "", pingMs: 2_000 }],
    ],
  );
});
