/** Translation of what Slack sends, and of what is sent to Slack. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { emojiNamed, slackName } from "../../../plugins/slack/emoji.ts";
import { signatureProblem } from "../../../plugins/slack/http.ts";
import { blocksOf } from "../../../plugins/slack/text.ts";
import { type Bot, type DeliveryKind, isForeign, named, toIncoming } from "../../../plugins/slack/translate.ts";
import { ANN, callback, DIRECT, inRoom, mention, ROOM, said } from "./scene.ts";
import { BOT, TEAM } from "./server.ts";

const bot: Bot = { userId: BOT, teamId: TEAM, slashCommand: "/svc", commands: ["status", "new", "help"] };
const NAMES = new Map([
  [ANN, "Ann"],
  [BOT, "svc"],
  ["U00000EVIL", "<!channel> *x* &amp;"],
]);

/** The only message of a delivery. */
function read(body: unknown, kind: DeliveryKind = "events_api") {
  const all = toIncoming(kind, body, bot).map((incoming) => named(incoming, NAMES));
  assert.ok(all.length < 2);
  return all[0];
}
const textOf = (text: string) => read(inRoom(text))?.text;

describe("a message of Slack", () => {
  it("in a direct chat", () => {
    const body = said("hello", { ts: "1700000000.000100" });
    assert.deepEqual(read(body), {
      id: `message:${DIRECT}:1700000000.000100`,
      messageId: "1700000000.000100",
      chat: { type: "direct", id: DIRECT, teamId: TEAM },
      sender: { id: ANN, name: "Ann" },
      text: "hello",
      mentioned: false,
      at: 1_700_000_000_000,
    });
  });

  it("with a mention has the same id as message and as app_mention", () => {
    const { event } = inRoom(`${mention} hi`);
    const [one, other] = [
      read(callback(event)),
      read(callback({ ...event, type: "app_mention", channel_type: undefined })),
    ];
    assert.equal(one?.mentioned, true);
    assert.deepEqual(other, one);
  });

  for (const [why, type, expected] of [
    ["im", "im", "direct"],
    ["mpim", "mpim", "group"],
    ["group", "group", "group"],
    ["channel", "channel", "group"],
  ] as const)
    it(`of ${why} is ${expected}`, () => assert.equal(read(said("x", { channel_type: type }))?.chat.type, expected));

  it("in a thread names it, and the first message of a thread does not", () => {
    const reply = read(inRoom("yes", { thread_ts: "1600000000.000100", parent_user_id: ANN }));
    assert.deepEqual([reply?.chat.threadId, reply?.mentioned], ["1600000000.000100", false]);
    const first = read(inRoom("so", { ts: "1600000000.000100", thread_ts: "1600000000.000100" }));
    assert.equal(first?.chat.threadId, undefined);
  });

  it("in a thread of the bot addresses it", () =>
    assert.equal(read(inRoom("yes", { thread_ts: "1600000000.000100", parent_user_id: BOT }))?.mentioned, true));

  it("that was also sent to the channel, or is an action, is a message", () => {
    assert.equal(read(inRoom("both", { subtype: "thread_broadcast", thread_ts: "1600000000.000100" }))?.text, "both");
    assert.equal(read(inRoom("waves", { subtype: "me_message" }))?.text, "waves");
  });

  const texts: [why: string, text: string, expected: string][] = [
    ["a leading mention", `${mention} /new`, "/new"],
    ["a leading mention with a name, twice", ` <@${BOT}|svc>: ${mention}, go`, "go"],
    ["a mention inside", `ask ${mention} now`, "ask @svc now"],
    ["a mention of a known person", `<@${ANN}> hi`, "@Ann hi"],
    ["a mention of an unknown person", "<@U00000BOB1> and <@U00000BOB1|bob>", "@U00000BOB1 and @bob"],
    ["a hostile name stays text", "<@U00000EVIL> said", "@<!channel> *x* &amp; said"],
    ["entities once", "a &amp;lt; b &lt;@U000&gt; &amp;amp;", "a &lt; b <@U000> &amp;"],
    ["links", "see <https://a.example/?x=1&amp;y=2|the page>", "see the page (https://a.example/?x=1&y=2)"],
    ["links without a label", "<https://a.example>", "https://a.example"],
    [
      "addresses that Slack made links of",
      "<http://a.example|a.example> <mailto:a@b.example|a@b.example>",
      "a.example a@b.example",
    ],
    ["channels and groups", "<#C1|team> <#C2> <!here> <!subteam^S1|@devs>", "#team #C2 @here @devs"],
    ["dates", "<!date^1392734382^{date}|18 Feb>", "18 Feb"],
    ["unfinished markup", "a < b <@ <", "a < b <@ <"],
  ];
  for (const [why, text, expected] of texts) it(`has ${why}`, () => assert.equal(textOf(text), expected));

  it("has files by kind, without those that cannot be read", () => {
    const files = [
      { id: "F1", name: "a.png", mimetype: "image/png", size: 12 },
      { id: "F2", name: null, mimetype: "audio/mp4", subtype: "slack_audio" },
      { id: "F3", name: "b.mp4", mimetype: "video/mp4" },
      { id: "F4", name: "c.pdf", mimetype: "application/pdf" },
      { id: "F5", mode: "tombstone" },
      { id: "F6", mode: "external", title: "Plan", url_private: "https://elsewhere.example/plan" },
    ];
    const message = read(said("", { subtype: "file_share", files }));
    assert.deepEqual(message?.media, [
      { ref: "F1", kind: "image", name: "a.png", mimeType: "image/png", size: 12 },
      { ref: "F2", kind: "audio", mimeType: "audio/mp4", isVoice: true },
      { ref: "F3", kind: "video", name: "b.mp4", mimeType: "video/mp4" },
      { ref: "F4", kind: "file", name: "c.pdf", mimeType: "application/pdf" },
    ]);
    assert.equal(message?.text, "Plan: https://elsewhere.example/plan");
  });

  it("is kept apart from one that it forwards, which addresses nobody", () => {
    const files = [{ id: "F1", name: "a.png", mimetype: "image/png" }];
    const shared = { is_share: true, author_name: "Bob", text: `/new ${mention} &amp; <@${ANN}>`, files };
    const message = read(inRoom("look", { attachments: [shared, { title: "a page", text: "its preview" }] }));
    assert.deepEqual([message?.text, message?.mentioned], ["look", false]);
    assert.deepEqual(message?.forwarded, { text: "/new @svc & @Ann", from: "Bob" });
    assert.deepEqual(message.media, [{ ref: "F1", kind: "image", name: "a.png", mimeType: "image/png" }]);
    const linked = read(inRoom("see", { attachments: [{ is_msg_unfurl: true, text: "there" }] }));
    assert.deepEqual(linked?.forwarded, { text: "there" });
    assert.equal(read(inRoom("page", { attachments: [{ text: "its preview" }] }))?.forwarded, undefined);
  });

  it("is foreign if the app is installed in another workspace too, and the event is for that one", () => {
    const of = (team: string, more: object = {}) => ({ ...said("x"), authorizations: [{ team_id: team, ...more }] });
    assert.equal(isForeign(of("T0000OTHER"), bot), true);
    for (const body of [of(TEAM), of("T0000OTHER", { is_enterprise_install: true }), said("x"), null])
      assert.equal(isForeign(body, bot), false);
  });

  const ignored: [why: string, body: unknown][] = [
    ["of the bot", said("x", { user: BOT })],
    ["of another bot", said("x", { bot_id: "B1", subtype: "bot_message" })],
    ["of Slackbot", said("x", { user: "USLACKBOT" })],
    ["about someone who joined", said("x", { subtype: "channel_join" })],
    ["of another type", callback({ type: "team_join" })],
  ];
  for (const [why, body] of ignored) it(`${why} is ignored`, () => assert.equal(read(body), undefined));

  for (const body of [
    null,
    {},
    callback({ type: "message", text: "x" }),
    said("x", { files: [{}] }),
    said("x", { text: 5 }),
  ])
    it(`of the wrong shape is refused: ${JSON.stringify(body)}`, () => assert.throws(() => read(body), /at /));
});

describe("what happens to a message of Slack", () => {
  const old = { ts: "1700000000.000100", user: ANN, text: "old" };
  const changed = (message: object, previous: object = old) =>
    callback(
      {
        type: "message",
        subtype: "message_changed",
        channel: ROOM,
        ts: "1700000009.1",
        message,
        previous_message: previous,
      },
      "EvX",
    );

  it("is an edit", () => {
    const message = read(changed({ ...old, text: `${mention} new`, edited: { ts: "1700000009.0" } }));
    assert.deepEqual(message?.event, { kind: "edit", messageId: old.ts });
    assert.deepEqual([message?.id, message?.text, message?.mentioned], ["event:EvX", "new", true]);
  });

  it("is no edit if Slack only adds a preview, or a bot edits its own", () => {
    assert.equal(read(changed({ ...old, attachments: [{}] })), undefined);
    assert.equal(read(changed({ ...old, bot_id: "B1", text: "new" })), undefined);
  });

  it("is a deletion", () => {
    const gone = { type: "message", subtype: "message_deleted", channel: ROOM, ts: "1700000009.1", deleted_ts: old.ts };
    const message = read(callback({ ...gone, previous_message: old }));
    assert.deepEqual([message?.event, message?.sender.id], [{ kind: "deletion", messageId: old.ts }, ANN]);
    assert.equal(read(callback({ ...gone, previous_message: { ...old, user: BOT } })), undefined);
    const tombstone = read(
      changed({ ts: old.ts, user: "USLACKBOT", subtype: "tombstone", text: "This message was deleted." }),
    );
    assert.deepEqual(tombstone?.event, { kind: "deletion", messageId: old.ts });
  });

  const reaction = (more: object, type = "reaction_added") =>
    callback({
      type,
      user: ANN,
      reaction: "+1",
      item: { type: "message", channel: ROOM, ts: old.ts },
      item_user: BOT,
      ...more,
    });

  it("is a reaction", () => {
    const message = read(reaction({}));
    assert.deepEqual(message?.event, { kind: "reaction", messageId: old.ts, emoji: "👍", isOwn: true });
    assert.deepEqual(message?.chat, { type: "group", id: ROOM, teamId: TEAM });
    const removed = read(reaction({ item_user: ANN, reaction: "wave::skin-tone-4" }, "reaction_removed"))?.event;
    assert.deepEqual(removed, { kind: "reaction", messageId: old.ts, emoji: "👋🏽", isRemoved: true, isOwn: false });
    assert.equal(read(reaction({ user: BOT })), undefined);
    assert.equal(read(reaction({ item: { type: "file", file: "F1" } })), undefined);
  });

  it("is a pressed button", () => {
    const action = {
      action_id: "svc:0:1",
      action_ts: "1700000010.5",
      value: "go-7",
      text: { type: "plain_text", text: "Go &amp; win" },
    };
    const body = {
      type: "block_actions",
      user: { id: ANN },
      team: { id: TEAM },
      channel: { id: ROOM, name: "team" },
      container: { type: "message", message_ts: old.ts, thread_ts: "1600000000.000100" },
      actions: [action],
    };
    const message = read(body, "interactive");
    assert.deepEqual(message?.event, { kind: "button", value: "go-7", messageId: old.ts });
    assert.deepEqual(message.chat, {
      type: "group",
      id: ROOM,
      name: "team",
      threadId: "1600000000.000100",
      teamId: TEAM,
    });
    assert.deepEqual([message.text, message.mentioned, message.sender.name], ["Go & win", true, "Ann"]);
    assert.equal(read(body, "interactive")?.id, message.id);
    assert.notEqual(
      read({ ...body, actions: [{ ...action, action_ts: "1700000011.5" }] }, "interactive")?.id,
      message.id,
    );
    assert.equal(read({ type: "view_submission" }, "interactive"), undefined);
  });
});

describe("a slash command", () => {
  const body = {
    command: "/svc",
    user_id: ANN,
    channel_id: ROOM,
    channel_name: "team",
    team_id: TEAM,
    trigger_id: "1.2.x",
  };
  const cases: [text: string | undefined, expected: string][] = [
    ["status", "/status"],
    ["new the plan", "/new the plan"],
    ["/status", "/status"],
    ["hello", "hello"],
    [" ", "/help"],
    [undefined, "/help"],
  ];
  for (const [text, expected] of cases)
    it(`with the text ${text} is ${expected}`, () => {
      const message = read({ ...body, text }, "slash_commands");
      assert.deepEqual([message?.text, message?.mentioned, message?.id], [expected, true, "command:1.2.x"]);
      assert.deepEqual(message?.chat, { type: "group", id: ROOM, name: "team", teamId: TEAM });
    });

  it("in a direct chat is answered to the person", () =>
    assert.deepEqual(read({ ...body, channel_id: DIRECT, channel_name: "directmessage" }, "slash_commands")?.chat, {
      type: "direct",
      id: ANN,
      teamId: TEAM,
    }));

  it("in a private channel has no name of it", () => {
    const { chat } = read({ ...body, channel_name: "privategroup" }, "slash_commands") ?? assert.fail();
    assert.deepEqual(chat, { type: "group", id: ROOM, teamId: TEAM });
  });

  it("of another name is ignored", () =>
    assert.equal(read({ ...body, command: "/other" }, "slash_commands"), undefined));
});

describe("emoji", () => {
  it("have names on Slack and back", () => {
    for (const emoji of ["👍", "❤️", "👀", "✅", "🎉", "💯", "👋🏿"]) {
      const name = slackName(emoji) ?? assert.fail(emoji);
      assert.equal(emojiNamed(name), emoji.replace("\uFE0F", ""));
    }
    assert.equal(slackName("👍🏽"), "+1::skin-tone-4");
    assert.deepEqual(["🙄", "🤩", "🤦"].map(slackName), ["face_with_rolling_eyes", "star-struck", "face_palm"]);
    assert.equal(emojiNamed("thumbsup::skin-tone-2"), "👍🏻");
  });
  it("without a name are unknown, and names without an emoji stay", () => {
    assert.equal(slackName("🦑"), undefined);
    assert.deepEqual(
      [":party-blob:", ":constructor:"].map((text) => emojiNamed(text.slice(1, -1))),
      [":party-blob:", ":constructor:"],
    );
    assert.equal(slackName(":party-blob:"), "party-blob");
  });
});

describe("blocks", () => {
  const button = { label: "Go", value: "go", style: "primary" } as const;
  it("have the text and one row of buttons each", () => {
    assert.deepEqual(blocksOf("*hi*", [[button], [{ label: "No", value: "no" }]]), [
      { type: "section", text: { type: "mrkdwn", text: "*hi*", verbatim: true } },
      {
        type: "actions",
        elements: [
          {
            type: "button",
            action_id: "svc:0:0",
            text: { type: "plain_text", text: "Go", emoji: true },
            value: "go",
            style: "primary",
          },
        ],
      },
      {
        type: "actions",
        elements: [
          { type: "button", action_id: "svc:1:0", text: { type: "plain_text", text: "No", emoji: true }, value: "no" },
        ],
      },
    ]);
  });
  const long: [why: string, text: string][] = [
    ["lines", `${"word ".repeat(500)}\n${"more ".repeat(500)}`],
    ["emoji", "🎉".repeat(2_000)],
    ["no blanks", "x".repeat(9_001)],
  ];
  const textsOf = (text: string) =>
    blocksOf(text, []).map((block) => (block.type === "section" ? (block.text?.text ?? "") : ""));
  for (const [why, text] of long)
    it(`split a long text with ${why} without a loss`, () => {
      const found = textsOf(text);
      assert.ok(found.length > 1 && found.every((piece) => piece.length <= 3_000 && encodeURI(piece) !== ""));
      assert.equal(found.join("").replaceAll(/\s/g, ""), text.replaceAll(/\s/g, ""));
    });

  it("show the whole command of an approval as code", () => {
    const command = Array.from({ length: 120 }, (_, n) => `  echo "line ${n} of the &lt;script&gt;" &amp;&amp; \\`);
    const found = textsOf(["Approval needed:", "```", ...command, "```", "Valid for 5 min."].join("\n"));
    assert.ok(found.length > 1 && found.every((piece) => piece.length <= 3_000));
    for (const piece of found) assert.equal(piece.match(/^```$/gm)?.length, 2);
    const lines = found.join("\n").split("\n");
    assert.deepEqual(
      lines.filter((line) => line.startsWith("  echo")),
      command,
    );
  });
});

describe("a signature", () => {
  const secret = "8f742231b10e8888abcd99yyyzzz85a5";
  const now = 1_700_000_000_000;
  const rawBody = Buffer.from("token=a&text=ü");
  const signed = (seconds: number, more: object = {}) => {
    const hex = createHmac("sha256", secret).update(`v0:${seconds}:`).update(rawBody).digest("hex");
    return {
      rawBody,
      headers: { "x-slack-request-timestamp": `${seconds}`, "x-slack-signature": `v0=${hex}`, ...more },
    };
  };
  it("is valid for 5 minutes", () => {
    for (const seconds of [-300, 0, 300])
      assert.equal(signatureProblem(signed(now / 1_000 + seconds), secret, now), undefined);
    for (const seconds of [-301, 301])
      assert.match(String(signatureProblem(signed(now / 1_000 + seconds), secret, now)), /5 minutes/);
  });
  const wrong: [why: string, request: Parameters<typeof signatureProblem>[0], secret?: string][] = [
    ["another body", { ...signed(now / 1_000), rawBody: Buffer.from("token=b") }],
    ["another secret", signed(now / 1_000), "other"],
    ["no secret", signed(now / 1_000), ""],
    ["a short signature", signed(now / 1_000, { "x-slack-signature": "v0=ab" })],
    ["no signature", signed(now / 1_000, { "x-slack-signature": undefined })],
    ["a time that is none", signed(now / 1_000, { "x-slack-request-timestamp": "1e9" })],
  ];
  for (const [why, request, other = secret] of wrong)
    it(`with ${why} is refused`, () => assert.equal(typeof signatureProblem(request, other, now), "string"));
});
