/** Events of a homeserver, and the messages they become; addresses; contents of sent events. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import { editOf, plainOf } from "../../../plugins/matrix/content.ts";
import { relatedId, type RoomEvent } from "../../../plugins/matrix/events.ts";
import { addressOf, toInbound } from "../../../plugins/matrix/translate.ts";
import { ADA, BOB, BOT, TOWN } from "./server.ts";

const room = {
  name: "Town",
  members: new Map([
    [BOT, "The Helper"],
    [ADA, "Ada"],
    [BOB, ""],
  ]),
  isEncrypted: false,
};
const event = (content: object, more: Partial<RoomEvent> = {}): RoomEvent => ({
  type: "m.room.message",
  event_id: "$1:test",
  sender: ADA,
  content: { ...content },
  origin_server_ts: 5,
  ...more,
});
const text = (body: string, more: object = {}) => event({ msgtype: "m.text", body, ...more });
const own = event({ msgtype: "m.text", body: "my words" }, { event_id: "$own:test", sender: BOT });
const adas = event(
  { msgtype: "m.text", body: "> <@bot:test> my words\n> twice\n\nher words" },
  { event_id: "$old:test" },
);
const poll = event(
  {
    "org.matrix.msc3381.poll.start": {
      max_selections: 2,
      answers: [
        { id: "1", "org.matrix.msc1767.text": "red" },
        { id: "2", "org.matrix.msc1767.text": "blue" },
      ],
    },
  },
  { event_id: "$poll:test", sender: BOT, type: "org.matrix.msc3381.poll.start" },
);
const said = (one: RoomEvent, related?: RoomEvent, isDirect = false) =>
  toInbound(one, { me: BOT, roomId: TOWN, room, isDirect, related });
const reply = (id: string) => ({ "m.relates_to": { "m.in_reply_to": { event_id: id } } });
const thread = (more: object = {}) => ({ "m.relates_to": { rel_type: "m.thread", event_id: "$own:test", ...more } });
const replace = (id: string, body: string) => ({
  "m.new_content": { msgtype: "m.text", body },
  "m.relates_to": { rel_type: "m.replace", event_id: id },
});
const annotates = (id: string) => ({ "m.relates_to": { rel_type: "m.annotation", event_id: id, key: "👍" } });
const info = { mimetype: "image/png", size: 7 };
const picture = { msgtype: "m.image", body: "a.png", url: "mxc://test/abc", info };

describe("an event", () => {
  it("of a group names room, sender and time", () => {
    assert.deepEqual(said(text("hello")), {
      id: "$1:test",
      messageId: "$1:test",
      chat: { type: "group", id: TOWN, name: "Town" },
      sender: { id: ADA, name: "Ada" },
      text: "hello",
      mentioned: false,
      at: 5,
    });
  });

  it("of a direct chat has the address of the person", () => {
    assert.deepEqual(said(text("hello"), undefined, true)?.chat, { type: "direct", id: `user:${ADA}`, name: "Ada" });
  });

  const cases: readonly [
    what: string,
    event: RoomEvent,
    related: RoomEvent | undefined,
    expected: Partial<InboundMessage>,
  ][] = [
    ["an emote", event({ msgtype: "m.emote", body: "waves" }), undefined, { text: "* waves" }],
    [
      "a picture",
      event(picture),
      undefined,
      { text: "", media: [{ ref: "mxc://test/abc", kind: "image", name: "a.png", mimeType: "image/png", size: 7 }] },
    ],
    [
      "a file with a caption",
      event({
        ...picture,
        msgtype: "m.file",
        filename: "b.pdf",
        body: "see this",
        info: { mimetype: "application/pdf" },
      }),
      undefined,
      {
        text: "see this",
        media: [{ ref: "mxc://test/abc", kind: "file", name: "b.pdf", mimeType: "application/pdf" }],
      },
    ],
    [
      "a voice message",
      event({ msgtype: "m.audio", body: "voice", url: "mxc://test/v", "org.matrix.msc3245.voice": {} }),
      undefined,
      { media: [{ ref: "mxc://test/v", kind: "audio", name: "voice", isVoice: true }] },
    ],
    [
      "a sticker",
      event({ body: "cat", url: "mxc://test/s", info: {} }, { type: "m.sticker" }),
      undefined,
      { text: "", media: [{ ref: "mxc://test/s", kind: "image", name: "cat" }] },
    ],
    ["a file whose address is none", event({ ...picture, url: "https://evil/abc" }), undefined, { text: "" }],
    [
      "a location",
      event({ msgtype: "m.location", body: "Big Ben", geo_uri: "geo:51.5,-0.12;u=35" }),
      undefined,
      { text: "", location: { latitude: 51.5, longitude: -0.12, name: "Big Ben" } },
    ],
    [
      "an answer, whose quote is removed",
      text("> <@bot:test> my words\n> twice\n\nno", reply("$own:test")),
      own,
      { text: "no", replyTo: { messageId: "$own:test", text: "my words", senderName: "The Helper", isOwn: true } },
    ],
    [
      "an answer to an answer",
      text("yes", reply("$old:test")),
      { ...adas, content: { ...adas.content, ...reply("$own:test") } },
      { replyTo: { messageId: "$old:test", text: "her words", senderName: "Ada", isOwn: false } },
    ],
    [
      "an answer to something unknown",
      text("yes", reply("$gone:test")),
      undefined,
      { replyTo: { messageId: "$gone:test" } },
    ],
    [
      "a message of a thread, which answers the first one",
      text("more", thread({ is_falling_back: true, "m.in_reply_to": { event_id: "$old:test" } })),
      own,
      {
        chat: { type: "group", id: TOWN, name: "Town", threadId: "$own:test" },
        replyTo: { messageId: "$own:test", text: "my words", senderName: "The Helper", isOwn: true },
      },
    ],
    [
      "an edit",
      text("* new", replace("$old:test", "new")),
      adas,
      { text: "new", event: { kind: "edit", messageId: "$old:test" } },
    ],
    [
      "a reaction",
      event(annotates("$own:test"), { type: "m.reaction" }),
      own,
      {
        text: "",
        messageId: "$own:test",
        event: { kind: "reaction", messageId: "$own:test", emoji: "👍", isOwn: true },
      },
    ],
    [
      "a removed reaction",
      event({ redacts: "$r:test" }, { type: "m.room.redaction" }),
      event(annotates("$own:test"), { type: "m.reaction", event_id: "$r:test" }),
      { event: { kind: "reaction", messageId: "$own:test", emoji: "👍", isRemoved: true } },
    ],
    [
      "a deletion",
      event({}, { type: "m.room.redaction", redacts: "$old:test" }),
      adas,
      { text: "", event: { kind: "deletion", messageId: "$old:test" } },
    ],
    [
      "an answer to a poll",
      event(
        {
          "org.matrix.msc3381.poll.response": { answers: ["2", "9"] },
          "m.relates_to": { rel_type: "m.reference", event_id: "$poll:test" },
        },
        { type: "org.matrix.msc3381.poll.response" },
      ),
      poll,
      { event: { kind: "poll-answer", pollId: "$poll:test", options: ["blue"] } },
    ],
    [
      "a withdrawn answer to a poll",
      event(
        { "m.selections": [], "m.relates_to": { rel_type: "m.reference", event_id: "$poll:test" } },
        { type: "m.poll.response" },
      ),
      poll,
      { event: { kind: "poll-answer", pollId: "$poll:test", options: [] } },
    ],
  ];
  for (const [what, one, related, expected] of cases)
    it(`becomes ${what}`, () => {
      const message = said(one, related);
      for (const [key, value] of Object.entries(expected))
        assert.deepEqual(message?.[key as keyof InboundMessage], value, key);
    });

  const nothing: readonly [what: string, event: RoomEvent, related?: RoomEvent][] = [
    ["a notice", event({ msgtype: "m.notice", body: "I am a bot" })],
    ["a request for a verification", event({ msgtype: "m.key.verification.request", body: "verify" })],
    ["a deleted message", event({})],
    ["a topic", event({ topic: "x" }, { type: "m.room.topic" })],
    ["an edit by somebody else", event(replace("$old:test", "forged"), { sender: BOB }), adas],
    ["an edit of something unknown", event(replace("$gone:test", "new"))],
    ["a redaction of something unknown", event({ redacts: "$gone:test" }, { type: "m.room.redaction" })],
    [
      "a reaction without a key",
      event({ "m.relates_to": { rel_type: "m.annotation", event_id: "$1:test" } }, { type: "m.reaction" }),
    ],
    [
      "an answer to the poll of somebody else",
      event(
        { "m.selections": ["1"], "m.relates_to": { rel_type: "m.reference", event_id: "$poll:test" } },
        { type: "m.poll.response" },
      ),
      { ...poll, sender: BOB },
    ],
  ];
  for (const [what, one, related] of nothing)
    it(`is ignored: ${what}`, () => {
      assert.equal(said(one, related), undefined);
    });

  it("names the event that it answers, changes or belongs to", () => {
    const both = { is_falling_back: false, "m.in_reply_to": { event_id: "$old:test" } };
    assert.equal(relatedId(text("a")), undefined);
    assert.equal(relatedId(text("a", { "m.relates_to": "nonsense" })), undefined);
    assert.equal(relatedId(text("a", thread(both))), "$old:test");
    assert.equal(relatedId(text("a", thread({ ...both, is_falling_back: true }))), "$own:test");
    assert.equal(relatedId(text("a", reply("$old:test"))), "$old:test");
  });
});

describe("a mention", () => {
  const listed = { "m.mentions": { user_ids: [BOT] } };
  const pill = { formatted_body: '<a href="https://matrix.to/#/%40bot%3Atest">The Helper</a>: /new' };
  const cases: readonly [text: string, more: object, mentioned: boolean, rest: string][] = [
    ["The Helper: /new", listed, true, "/new"],
    ["The Helper /new", listed, true, "/new"],
    ["The Helper: /new", pill, true, "/new"],
    ["@bot:test, hello", {}, true, "hello"],
    ["bot: hello", {}, true, "hello"],
    ["hello @bot", {}, true, "hello @bot"],
    ["hello", listed, true, "hello"],
    ["bot hello", {}, false, "bot hello"],
    ["The Helpers: hello", {}, false, "The Helpers: hello"],
    ["mail me@bot:test", {}, false, "mail me@bot:test"],
    ["hello @bot:test.org", {}, false, "hello @bot:test.org"],
    ["hello @bottom", { "m.mentions": { user_ids: "nonsense" } }, false, "hello @bottom"],
  ];
  for (const [body, more, mentioned, rest] of cases)
    it(`${mentioned ? "is" : "is not"} in "${body}" ${JSON.stringify(more)}`, () => {
      const message = said(text(body, more));
      assert.deepEqual([message?.mentioned, message?.text], [mentioned, rest]);
    });
});

it("finds a bot whose name has characters of regular expressions", () => {
  const me = "@my-bot.2+x:test";
  const members = new Map([[me, "Bot (2) [x] a-b"]]);
  const facts = { me, roomId: TOWN, room: { ...room, members }, isDirect: false };
  for (const body of ["Bot (2) [x] a-b: hi", "@my-bot.2+x hi", "my-bot.2+x, hi"])
    assert.equal(toInbound(text(body, { "m.mentions": { user_ids: [me] } }), facts)?.text, "hi");
});

it("reads addresses", () => {
  const room12 = "!9t4T1Nq_7Hf4vO1LwSxCzXk2aJbQeRgYuPmDnFiKoWs";
  const cases: readonly [string, string | undefined][] = [
    ["@ada:test", "user:@ada:test"],
    ["user:@ada:test:8448", "user:@ada:test:8448"],
    ["matrix:user:@ada:test", "user:@ada:test"],
    ["ROOM:!a:test", "!a:test"],
    [room12, room12],
    ["#town:test", "#town:test"],
    ["https://matrix.to/#/%23town%3Atest", "#town:test"],
    ["https://matrix.to/#/!a:test/$event:test?via=test", "!a:test"],
    ["https://evil.to/#/!a:test", undefined],
    ["user:#town:test", undefined],
    ["@ada", undefined],
  ];
  for (const [given, wanted] of cases) assert.equal(addressOf(given), wanted, given);
});

it("writes HTML and readable text", () => {
  const html =
    '<b>a &lt; b</b>\n<a href="https://x/?a=1&amp;b">link</a>\n<blockquote>q\nr</blockquote>\n<pre>one\ntwo</pre>';
  const plain = "a < b\nlink (https://x/?a=1&b)\n> q\n> r\none\ntwo";
  assert.equal(plainOf(html), plain);
  assert.deepEqual(editOf("$1:test", html), {
    msgtype: "m.text",
    body: `* ${plain}`,
    "m.new_content": {
      msgtype: "m.text",
      body: plain,
      format: "org.matrix.custom.html",
      formatted_body: html
        .replace("</b>\n", "</b><br/>")
        .replace("</a>\n", "</a><br/>")
        .replace("q\nr", "q<br/>r")
        .replace("e>\n<p", "e><br/><p"),
      "m.mentions": {},
    },
    "m.mentions": {},
    "m.relates_to": { rel_type: "m.replace", event_id: "$1:test" },
  });
});
