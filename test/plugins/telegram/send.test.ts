/** Outgoing messages, through the library, with a Bot API server on this machine. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "../../until.ts";
import { ann, CHAT, GROUP, openScene, refusal, rejects } from "./scene.ts";
import { TOKEN } from "./server.ts";

const bytes = new TextEncoder().encode("\u0000--bytes--\r\n\r\nof a file");

describe("the plugin telegram sends", { timeout: 60_000 }, () => {
  it("texts with markup, thread, answer, buttons and without a sound", async (t) => {
    const { server, send } = await openScene(t);
    const text = '<b>bold</b> &lt;script&gt; <a href="https://e.org/?a=1&amp;b=2">x</a>';
    const buttons = [[{ label: "Yes", value: "y", style: "primary" as const }], [{ label: "No", value: "n" }]];
    const receipt = await send({ to: String(GROUP), text, threadId: "7", replyTo: "3", buttons, silent: true });
    assert.deepEqual(receipt, { messageId: "1" });
    assert.deepEqual(server.of("sendMessage")[0]?.body, {
      chat_id: String(GROUP),
      message_thread_id: 7,
      text,
      parse_mode: "HTML",
      reply_parameters: { message_id: 3, allow_sending_without_reply: true },
      reply_markup: {
        inline_keyboard: [
          [{ text: "Yes", callback_data: "y", style: "primary" }],
          [{ text: "No", callback_data: "n" }],
        ],
      },
      disable_notification: true,
    });
  });

  for (const [field, method, kind, mimeType, isVoice] of [
    ["photo", "sendPhoto", "image", "image/png", false],
    ["voice", "sendVoice", "audio", "audio/ogg", true],
    ["audio", "sendAudio", "audio", "audio/mpeg", false],
    ["video", "sendVideo", "video", "video/mp4", false],
    ["document", "sendDocument", "file", "application/pdf", false],
  ] as const)
    it(`a file with ${method}`, async (t) => {
      const { server, send } = await openScene(t);
      await send({ text: "<i>see</i>", media: { kind, mimeType, isVoice, bytes, name: 'ev"il\r\n; x.bin' } });
      const [call] = server.of(method);
      assert.deepEqual([call?.body["caption"], call?.body["parse_mode"]], ["<i>see</i>", "HTML"]);
      assert.equal(call?.files[field]?.name, "ev_il_ x.bin");
      assert.deepEqual(call?.files[field]?.bytes, Buffer.from(bytes));
    });

  it("a picture that Telegram cannot show as a file, and speech as audio to people who forbid speech", async (t) => {
    const { server, send } = await openScene(t);
    server.next("sendVoice", refusal("Bad Request: VOICE_MESSAGES_FORBIDDEN"));
    await send({ media: { kind: "audio", mimeType: "audio/ogg", isVoice: true, bytes, name: "a.ogg" } });
    assert.deepEqual(server.of("sendAudio")[0]?.files["audio"]?.bytes, Buffer.from(bytes));
    server.next("sendPhoto", refusal("Bad Request: PHOTO_INVALID_DIMENSIONS"));
    await send({ media: { kind: "image", mimeType: "image/png", bytes, name: "a.png" } });
    assert.deepEqual(server.of("sendDocument")[0]?.files["document"]?.bytes, Buffer.from(bytes));
  });

  it("a poll, whose answers have the texts of its options", async (t) => {
    const { server, send, start } = await openScene(t);
    const options = ["<red>", "blue", "green"];
    const poll = { question: "Colour?", options, maxSelections: 2, seconds: 60 };
    const receipt = await send({ to: String(GROUP), poll });
    const { question, is_anonymous, allows_multiple_answers, open_period, ...body } =
      server.of("sendPoll")[0]?.body ?? {};
    assert.deepEqual([question, is_anonymous, allows_multiple_answers, open_period], ["Colour?", false, true, 60]);
    assert.deepEqual(body["options"], [{ text: "<red>" }, { text: "blue" }, { text: "green" }]);
    server.push({ poll_answer: { poll_id: receipt.pollId, user: ann, option_ids: [0, 2] } });
    const [answer] = await start(t).received(1);
    assert.deepEqual(answer?.event, { kind: "poll-answer", pollId: receipt.pollId, options: ["<red>", "green"] });
    assert.equal(answer?.chat.id, String(GROUP));
  });

  it("edits, reactions and typing, and gives addresses of files", async (t) => {
    const { server, channel, call } = await openScene(t);
    const place = { ...call, to: String(CHAT), messageId: "4" };
    await channel.edit?.({ ...place, text: "new", buttons: [[{ label: "A", value: "a" }]] });
    assert.equal(server.of("editMessageText")[0]?.body["text"], "new");
    server.next("editMessageText", refusal("Bad Request: message is not modified: same content"));
    await channel.edit?.({ ...place, text: "new" });
    server.next("editMessageText", refusal("Bad Request: there is no text in the message to edit"));
    await channel.edit?.({ ...place, text: "caption" });
    assert.equal(server.of("editMessageCaption")[0]?.body["caption"], "caption");
    server.next("editMessageText", refusal("Bad Request: message to edit not found"));
    await rejects(channel.edit?.({ ...place, text: "gone" }), "NOT_FOUND", /not found/);

    await channel.react?.({ ...place, emoji: "❤️" });
    await channel.react?.({ ...place, emoji: "❤️", remove: true });
    assert.deepEqual(
      server.of("setMessageReaction").map(({ body }) => body["reaction"]),
      [[{ type: "emoji", emoji: "❤" }], []],
    );
    server.next("setMessageReaction", refusal("Bad Request: REACTION_INVALID"));
    await rejects(channel.react?.({ ...place, emoji: "🧀" }), "INVALID_REQUEST", /REACTION_INVALID; .*another one/);

    await channel.typing?.({ ...place, threadId: "1" });
    assert.deepEqual(server.of("sendChatAction")[0]?.body, { chat_id: "77", action: "typing", message_thread_id: 1 });

    const source = await channel.media?.({ maxBytes: 1_000, ...call, ref: "f1" });
    assert.deepEqual(source, { url: `${server.apiRoot}/file/bot${TOKEN}/photos/f1.jpg` });
    server.next("getFile", refusal("Bad Request: file is too big"));
    await rejects(channel.media?.({ maxBytes: 1_000, ...call, ref: "f2" }), "INVALID_REQUEST", /20 MB/);
  });

  it("over connections that stay open while the account runs", async (t) => {
    const { server, send, start } = await openScene(t);
    const run = start(t);
    await run.reported("connected");
    await server.call("getUpdates");
    await send({ text: "first" });
    const made = server.connectionsMade();
    for (const text of ["second", "third", "fourth"]) await send({ text });
    assert.equal(server.connectionsMade(), made);
    await run.stop();
    await until(async () => (await server.connections()) === 0, "the end of the connections", 1_000);
    await send({ text: "without a run" });
    await until(async () => (await server.connections()) === 0, "the end of the connection", 1_000);
  });

  it("a text to its end although the account stops meanwhile", async (t) => {
    const { server, send, start } = await openScene(t);
    const run = start(t);
    await run.reported("connected");
    server.next("sendMessage", "slow");
    const sent = send({ text: "slow" });
    await server.call("sendMessage");
    await run.stop();
    assert.ok((await sent).messageId);
    await until(async () => (await server.connections()) === 0, "the end of the connections", 1_000);
  });

  it("to the new id of a group that became a supergroup", async (t) => {
    const { server, send } = await openScene(t);
    const moved = refusal("Bad Request: group chat was upgraded", 400, { migrate_to_chat_id: -100_900 });
    server.next("sendDocument", moved);
    await send({ to: "-5", media: { kind: "file", mimeType: "text/plain", bytes, name: "a.txt" } });
    const [, second] = server.of("sendDocument");
    assert.equal(second?.body["chat_id"], "-100900");
    assert.deepEqual(second.files["document"]?.bytes, Buffer.from(bytes));
    server.next("sendMessage", moved, moved);
    await rejects(send({ to: "-5", text: "x" }), "INVALID_REQUEST", /upgraded/);
  });

  it("once per call, and says whether a retry may succeed", async (t) => {
    const { server, send, call } = await openScene(t);
    const outcomes = [
      [refusal("Too Many Requests: retry after 7", 429, { retry_after: 7 }), "UNAVAILABLE", /Too Many/],
      [refusal("Forbidden: bot was blocked by the user", 403), "INVALID_REQUEST", /blocked .*press Start/],
      [refusal("Internal Server Error", 500), "UNAVAILABLE", /Internal/],
      ["html", "UNAVAILABLE", /does not answer/],
      ["cut", "UNAVAILABLE", /ECONNRESET/],
    ] as const;
    for (const [outcome, code, message] of outcomes) {
      server.next("sendMessage", outcome);
      await rejects(send({ text: "x" }), code, message);
    }
    server.next("sendMessage", outcomes[0][0]);
    await assert.rejects(send({ text: "x" }), { retryAfterMs: 7_000 });
    assert.equal(server.of("sendMessage").length, outcomes.length + 1);
    const elsewhere = { ...Object(call.settings), apiRoot: "http://127.0.0.1:9" };
    await rejects(send({ text: "x", settings: elsewhere }), "UNAVAILABLE", /ECONNREFUSED/);
  });
});
