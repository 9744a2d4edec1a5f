/** Sending through an adapter: texts, answers, files, buttons, direct chats and refusals. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Attachment } from "chat";
import type { OutboundMedia } from "@svc/sdk/channels";
import { author, messageOf, openTiny, rejects, SECRET } from "./scene.ts";

const TOWN = "tiny:town:1";
const media: OutboundMedia = { kind: "image", bytes: Buffer.from("bytes"), name: "a.png", mimeType: "image/png" };

async function connected(t: TestContext, more: object = {}) {
  const scene = await openTiny(t, more);
  const run = scene.start(t);
  await run.reported("connected");
  const says = (message: object, threadId = TOWN) =>
    scene.chat().processMessage(scene.adapter, threadId, messageOf(message));
  return { ...scene, run, says };
}

describe("sending with chat-sdk", { timeout: 60_000 }, () => {
  it("posts Markdown, files, and answers where the adapter has them", async (t) => {
    const { send, of, record, adapter } = await connected(t);
    assert.deepEqual(await send({ text: "**a**" }), { messageId: "sent" });
    await send({ media });
    await send({ text: "no answers here", replyTo: "m1" });
    const file = { data: Buffer.from("bytes"), filename: "a.png", mimeType: "image/png" };
    assert.deepEqual(of("postMessage"), [
      [TOWN, { markdown: "**a**" }],
      [TOWN, { markdown: "", files: [file] }],
      [TOWN, { markdown: "no answers here" }],
    ]);
    Object.assign(adapter, {
      reply: record("reply", { id: "answer" }),
      postChannelMessage: record("post", { id: "top" }),
    });
    assert.deepEqual(await send({ text: "b", replyTo: "m1" }), { messageId: "answer" });
    assert.deepEqual(of("reply"), [[TOWN, "m1", { markdown: "b" }]]);
    assert.deepEqual(await send({ text: "c", to: "tiny:town" }), { messageId: "top" });
    assert.deepEqual(of("post"), [["tiny:town", { markdown: "c" }]]);
  });

  it("shows buttons as a card, also of an edited message", async (t) => {
    const { send, of, channel, call, chat, adapter, run } = await connected(t);
    const buttons = [
      [{ label: "Yes", value: "v".repeat(60), style: "primary" as const }],
      [{ label: "No", value: "n" }],
    ];
    await send({ text: "Sure?", buttons });
    const [[, sent]] = of("postMessage") as [[string, { card: { children: { children: { id: string }[] }[] } }]];
    const [yes = "", no = ""] = sent.card.children.slice(1).map(({ children: [one] }) => one?.id ?? "");
    assert.match(yes, /^[0-9a-f]{16}$/);
    const row = (button: object) => ({ type: "actions", children: [{ type: "button", ...button }] });
    const card = {
      type: "card",
      children: [
        { type: "text", content: "Sure?" },
        row({ id: yes, label: "Yes", style: "primary" }),
        row({ id: no, label: "No" }),
      ],
    };
    assert.deepEqual(sent, { card, fallbackText: "Sure?" });
    await channel.edit?.({ ...call, to: TOWN, messageId: "m1", text: "Done" });
    assert.deepEqual(of("editMessage"), [[TOWN, "m1", { markdown: "Done" }]]);
    for (const actionId of [yes, "of another program"])
      await chat().processAction(
        { adapter, actionId, messageId: "m1", threadId: TOWN, user: author, raw: { actionId } },
        undefined,
      );
    assert.deepEqual(
      run.messages.map(({ text, event }) => [text, event]),
      [
        ["Yes", { kind: "button", messageId: "m1", value: "v".repeat(60) }],
        ["", { kind: "button", messageId: "m1", value: "of another program" }],
      ],
    );
  });

  it("writes to a person in the thread of their last message, or opens a direct chat", async (t) => {
    const { send, of, says, adapter, record, channel } = await connected(t);
    await rejects(send({ to: "user:ann", text: "a" }), "INVALID_REQUEST", /begins no direct chats/);
    Object.assign(adapter, { openDM: record("openDM", "tiny:dm-new") });
    await send({ to: "user:ann", text: "a" });
    await says({}, "tiny:dm-ann:9");
    await send({ to: "user:ann", text: "b" });
    assert.deepEqual(
      of("postMessage").map(([to]) => to),
      ["tiny:dm-new", "tiny:dm-ann:9"],
    );
    const types = ["user:ann", "tiny:dm-ann:9", TOWN, "other:dm-1"].map((to) => channel.chatType?.(to));
    assert.deepEqual(types, ["direct", "direct", "group", "group"]);
  });

  it("reacts, and shows that it writes", async (t) => {
    const { of, channel, call } = await connected(t);
    const reaction = { ...call, to: TOWN, messageId: "m1" };
    await channel.react?.({ ...reaction, emoji: "👍" });
    await channel.react?.({ ...reaction, emoji: "🦤", remove: true });
    await channel.typing?.({ ...call, to: TOWN });
    assert.deepEqual([String(of("addReaction")[0]?.[2]), of("removeReaction")[0]?.[2]], ["{{emoji:thumbs_up}}", "🦤"]);
    assert.deepEqual(of("startTyping"), [[TOWN]]);
  });

  it("reads files with the adapter, also after a restart, with a limit", async (t) => {
    const { says, run, channel, call, start } = await connected(t, {
      rehydrateAttachment: (one: Attachment) =>
        one.fetchMetadata ? { ...one, fetchData: async () => Buffer.from(`file ${one.fetchMetadata?.["id"]}`) } : one,
    });
    const fetchData = async () => new TextEncoder().encode("of the run").buffer;
    const attachments = [
      { type: "image", name: "a.png", mimeType: "image/png", size: 6, fetchMetadata: { id: "7" }, fetchData },
      { type: "audio", fetchData },
      { type: "file", url: "https://files.example/a.bin" },
      { type: "file", url: `https://files.example/${SECRET}`, data: Buffer.from("own") },
      { type: "file", url: `https://files.example/${"x".repeat(2_000)}` },
    ];
    await says({ attachments });
    const [first, ...rest] = run.messages[0]?.media ?? [];
    assert.deepEqual({ ...first, ref: "" }, { ref: "", kind: "image", name: "a.png", mimeType: "image/png", size: 6 });
    const read = async (ref = "", maxBytes = 100) => {
      const got = await channel.media?.({ ...call, ref, maxBytes });
      return got && "bytes" in got ? Buffer.from(got.bytes).toString() : got;
    };
    const refs = [first, ...rest].map((one) => one?.ref);
    const long = { url: attachments[4]?.url };
    assert.deepEqual(await Promise.all(refs.map((ref) => read(ref))), [
      "file 7",
      "of the run",
      { url: attachments[2]?.url },
      "own",
      long,
    ]);
    assert.ok(refs.every((ref) => !ref?.includes(SECRET)));
    await rejects(read(first?.ref, 3), "INVALID_REQUEST", /too large/);
    await run.stop();
    await rejects(read(first?.ref), "UNAVAILABLE", /not connected/);
    const second = start(t);
    await second.reported("connected");
    assert.equal(await read(first?.ref), "file 7");
    await rejects(read(rest[0]?.ref), "NOT_FOUND", /only while the account ran/);
  });

  it("tells whether a retry may succeed", async (t) => {
    const { send, adapter, channel, call, run } = await connected(t);
    const fail = (fields: object) => () => Promise.reject(Object.assign(new Error(`because ${SECRET}`), fields));
    const rows: [object, string, RegExp, number?][] = [
      [{}, "UNAVAILABLE", /^postMessage of the adapter tiny-adapter failed: because \(hidden\)$/],
      [{ code: "RATE_LIMITED", retryAfter: 3 }, "UNAVAILABLE", /failed/, 3_000],
      [{ code: "RATE_LIMITED", retryAfterMs: 70 }, "UNAVAILABLE", /failed/, 70],
      [{ code: "NOT_IMPLEMENTED" }, "INVALID_REQUEST", /^the adapter tiny-adapter does not implement postMessage$/],
      [{ name: "NotImplementedError" }, "INVALID_REQUEST", /does not implement/],
      [{ code: "NOT_FOUND" }, "INVALID_REQUEST", /failed/],
      [{ code: "PERMISSION_DENIED" }, "INVALID_REQUEST", /failed/],
      [{ code: "AUTH_FAILED" }, "NOT_LINKED", /check credentials/],
    ];
    for (const [error, code, message, retryAfterMs] of rows) {
      Object.assign(adapter, { postMessage: fail(error) });
      await rejects(send({ text: "a" }), code, message);
      await assert.rejects(send({ text: "a" }), { retryAfterMs });
    }
    Object.assign(adapter, {
      editMessage: fail({ code: "NOT_FOUND" }),
      startTyping: () => fail({ statusCode: 429 })(),
    });
    await rejects(channel.edit?.({ ...call, to: TOWN, messageId: "m", text: "a" }), "NOT_FOUND", /editMessage/);
    await rejects(channel.typing?.({ ...call, to: TOWN }), "UNAVAILABLE", /startTyping/);
    await run.stop();
    await rejects(send({ text: "a" }), "UNAVAILABLE", /not connected/);
    await rejects(channel.probe?.(call), "UNAVAILABLE", /not connected/);
  });
});
