/** Sends, files, cards, and refusals of the service. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { MediaSource, OutboundMedia } from "@svc/sdk/channels";
import { openScene, rejects, SUITE_MS } from "./scene.ts";
import { ADA, DIRECT, said, TOWN } from "./server.ts";

const PDF = { kind: "file", name: "plan.pdf", mimeType: "application/pdf" } as const;
const file = (size: number, more = {}): OutboundMedia => ({ ...PDF, bytes: Buffer.alloc(size, 7), ...more });

/** A scene in which the bot has met Ada and the channel. */
async function met(t: TestContext) {
  const scene = await openScene(t);
  const running = await scene.meet();
  const conversation = { id: `${TOWN};messageid=17`, conversationType: "channel" };
  await scene.server.delivers(said("hi", { conversation }));
  running.messages.length = 0;
  return { ...scene, running };
}

describe("a sent message", { timeout: SUITE_MS }, () => {
  it("goes to the proven service, into the thread, with a token that is used again", async (t) => {
    const { server, send, channel, call } = await met(t);
    const { messageId } = await send({ text: "<b>hello</b>\n  there <pre><code>a\n b</code></pre>\nend" });
    assert.equal(messageId, "sent-1");
    await send({ to: TOWN, threadId: "17", text: "in the thread" });
    await channel.edit?.({ ...call, to: TOWN, threadId: "17", messageId: "sent-2", text: "changed" });
    const lines = server.of(/activities/).map(({ line }) => decodeURIComponent(line));
    assert.deepEqual(lines, [
      `POST /amer/v3/conversations/${DIRECT}/activities`,
      `POST /amer/v3/conversations/${TOWN};messageid=17/activities`,
      `PUT /amer/v3/conversations/${TOWN};messageid=17/activities/sent-2`,
    ]);
    const text = "<strong>hello</strong><br>&nbsp;&nbsp;there <pre><code>a\n b</code></pre>end";
    assert.deepEqual(server.activities()[0], { type: "message", text, textFormat: "xml", attachments: [] });
    assert.match(server.of(/activities/)[0]?.headers.authorization ?? "", /^Bearer token-of-the-bot/);
  });

  it("needs an acquaintance, and a service that is still allowed", async (t) => {
    const { server, send, channel, call } = await met(t);
    const stranger = `user:${ADA.replace(/a$/, "b")}`;
    await rejects(send({ to: stranger, text: "hi" }), "INVALID_REQUEST", /has not met .*; next: somebody writes/);
    const settings = { ...(call.settings as object), serviceUrls: ["https://smba.trafficmanager.net"] };
    const foreign = { ...call, settings, id: "1", to: `user:${ADA}`, text: "hi" };
    await rejects(channel.send(foreign), "INVALID_REQUEST", /outside serviceUrls; next: add it there/);
    assert.equal(server.activities().length, 0);
  });

  it("has buttons and polls as cards, whose answers come back", async (t) => {
    const { server, send, running } = await met(t);
    await send({ text: "sure?", buttons: [[{ label: "Yes", value: "y:1", style: "primary" }], []] });
    const poll = { question: "Lunch?", options: ["Soup", "Salad", "Rice"], maxSelections: 2 };
    const { pollId } = await send({ id: "p".repeat(32), poll });
    const [buttons, question] = server.activities().map((activity) => JSON.stringify(activity["attachments"]));
    assert.match(
      buttons ?? "",
      /"title":"Yes","style":"positive","data":\{"svc":"button","value":"y:1","label":"Yes"\}/,
    );
    assert.match(question ?? "", /"isMultiSelect":true/);
    const data = { svc: "poll", poll: pollId, options: poll.options, most: 2 };
    await server.delivers(said("", { replyToId: "sent-1", value: { svc: "button", value: "y:1", label: "Yes" } }));
    await server.delivers(said("", { value: { ...data, choice: "2,0,1,9,x" } }));
    await server.delivers(said("", { value: data }));
    const seen = running.messages.map(({ text, event }) => [text, event]);
    assert.deepEqual(seen[0], ["Yes", { kind: "button", messageId: "sent-1", value: "y:1" }]);
    assert.deepEqual(seen[1], ["Rice\nSoup", { kind: "poll-answer", pollId, options: ["Rice", "Soup"] }]);
    assert.deepEqual(seen[2], ["", { kind: "poll-answer", pollId, options: [] }]);
  });
});

describe("a file", { timeout: SUITE_MS }, () => {
  const consent = (fileId: string, action: string, uploadUrl: string, more: object = {}) => ({
    ...said(""),
    type: "invoke",
    name: "fileConsent/invoke",
    value: {
      type: "fileUpload",
      action,
      context: { fileId },
      uploadInfo: {
        uploadUrl,
        contentUrl: "https://x.sharepoint.com/plan.pdf",
        name: "plan.pdf",
        uniqueId: "u1",
        fileType: "pdf",
      },
    },
    ...more,
  });
  const id = "f".repeat(32);

  it("is stored in the OneDrive of the person after consent, and shown", async (t) => {
    const { server, send } = await met(t);
    await send({ id, media: file(5) });
    assert.match(JSON.stringify(server.activities().at(-1)), /file\.consent.*"sizeInBytes":5/);
    const uploadUrl = `${server.url}/files/secret-of-the-file`;
    const post = async (activity: object) => (await server.post(server.activity(activity))).status;
    const town = { conversation: { id: TOWN, conversationType: "channel" } };
    assert.equal(await post(consent(id, "accept", uploadUrl, town)), 404, "somebody else's answer");
    assert.equal(await post(consent(id, "accept", "https://evil.example/x")), 400, "another store");
    server.faults.files.push({ status: 503 });
    assert.equal(await post(consent(id, "accept", uploadUrl)), 503, "the store is away");
    assert.equal(await post(consent(id, "accept", uploadUrl)), 200);
    assert.equal(await post(consent(id, "accept", uploadUrl)), 404, "only once");
    const [, put] = server.of(/^PUT \/files/);
    assert.deepEqual([put?.headers["content-range"], put?.bytes.length], ["bytes 0-4/5", 5]);
    assert.equal(put?.headers.authorization, undefined);
    assert.match(JSON.stringify(server.activities().at(-1)), /file\.info.*"uniqueId":"u1"/);
  });

  it("is forgotten when the person declines, and when there are too many", async (t) => {
    const { server, send } = await met(t);
    for (let index = 0; index < 21; index++) await send({ id: `f${index}`, media: file(1) });
    const answers = [
      ["f0", "accept"],
      ["f20", "decline"],
      ["f20", "accept"],
    ] as const;
    const statuses: number[] = [];
    for (const [fileId, action] of answers)
      statuses.push((await server.post(server.activity(consent(fileId, action, `${server.url}/files/x`)))).status);
    assert.deepEqual([statuses, server.of(/^PUT \/files/)], [[404, 200, 404], []]);
  });

  it("that is a small picture is part of the message; others are refused in groups", async (t) => {
    const { server, send } = await met(t);
    const picture = { kind: "image", name: "a.png", mimeType: "image/png" } as const;
    await send({ to: TOWN, media: file(3, picture), text: "look" });
    assert.deepEqual(server.activities()[0]?.["attachments"], [
      { contentType: "image/png", name: "a.png", contentUrl: "data:image/png;base64,BwcH" },
    ]);
    await rejects(
      send({ to: TOWN, media: file(3) }),
      "INVALID_REQUEST",
      /cannot send files to groups.*next: send a link/,
    );
    await rejects(send({ to: TOWN, media: file(1_000_001, picture) }), "INVALID_REQUEST", /small picture/);
  });

  it("of a person is read from its own store, and a picture from Teams with the bot token", async (t) => {
    const { server, channel, call, running } = await met(t);
    const download = (downloadUrl: string) => ({
      contentType: "application/vnd.microsoft.teams.file.download.info",
      name: "cat.png",
      content: { downloadUrl, fileType: "png" },
    });
    const attachments = [
      download(`${server.url}/files/secret-of-the-file`),
      { contentType: "image/*", contentUrl: `${server.serviceUrl}v3/attachments/1/views/original` },
      download("https://evil.example/x"),
      { contentType: "image/png", contentUrl: "https://evil.example/v3/attachments/1" },
      { contentType: "text/html", content: "<p>see</p>" },
    ];
    await server.delivers(said("see", { attachments }));
    const media = running.messages[0]?.media ?? [];
    assert.doesNotMatch(JSON.stringify(running.messages), /secret|evil/);
    const seen = media.map(({ kind, name, mimeType }) => [kind, name, mimeType].join(" "));
    assert.deepEqual(seen, ["image cat.png ", "image  ", "image cat.png ", "image  image/png"]);
    const read = async (index: number, maxBytes = 100) =>
      channel.media?.({ ...call, ref: media[index]?.ref ?? "", maxBytes });
    assert.deepEqual(await read(0), { bytes: Buffer.from("png"), mimeType: "image/png" });
    assert.match(((await read(1)) as MediaSource).headers?.["authorization"] ?? "", /^Bearer token-of-the-bot/);
    for (const index of [2, 3]) await rejects(read(index), "INVALID_REQUEST", /outside fileUrls/);
    server.faults.files.push({ status: 403 });
    await rejects(read(0), "NOT_FOUND", /answers 403; next: the person sends the file again/);
    server.faults.files.push("cut");
    await rejects(read(0), "UNAVAILABLE", /cannot be reached/);
    await rejects(read(0, 2), "INVALID_REQUEST", /are accepted/);
    await rejects(channel.media?.({ ...call, ref: "other", maxBytes: 1 }), "NOT_FOUND", /expired/);
  });
});

describe("a refusal of the service", { timeout: SUITE_MS }, () => {
  const body = (code: string) => ({ error: { code, message: "as the service says" } });
  it("says whether a retry may succeed, and what to do", async (t) => {
    const { server, send, channel, call } = await met(t);
    const { connector } = server.faults;
    const cases: [fault: (typeof connector)[number], code: string, message: RegExp][] = [
      [{ status: 403, body: body("BotNotInConversationRoster") }, "INVALID_REQUEST", /Roster.*next: add the bot/],
      [
        { status: 404, body: body("ConversationNotFound") },
        "INVALID_REQUEST",
        /ConversationNotFound.*next: add the bot/,
      ],
      [{ status: 413, body: body("MessageSizeTooBig") }, "INVALID_REQUEST", /next: send a shorter text/],
      [{ status: 400, body: {} }, "INVALID_REQUEST", /status 400/],
      [{ status: 302, headers: { location: "https://evil.example" } }, "INVALID_REQUEST", /status 302/],
      [{ status: 412 }, "UNAVAILABLE", /status 412/],
      [{ status: 502 }, "UNAVAILABLE", /status 502/],
      ["cut", "UNAVAILABLE", /cannot be reached/],
    ];
    for (const [fault, code, message] of cases) {
      connector.push(fault);
      await rejects(send({ text: "hi" }), code, message);
    }
    connector.push({ status: 429, headers: { "retry-after": "7" } });
    await assert.rejects(send({ text: "hi" }), { code: "UNAVAILABLE", retryAfterMs: 7_000 });
    connector.push({ status: 404, body: body("ActivityNotFoundInConversation") });
    await rejects(channel.edit?.({ ...call, to: TOWN, messageId: "1", text: "x" }), "NOT_FOUND", /ActivityNotFound/);
  });

  it("of the token is answered with a new one, once", async (t) => {
    const { server, send } = await met(t);
    server.faults.connector.push({ status: 401 });
    await send({ text: "hi" });
    const tokens = server.of(/activities/).map(({ headers }) => headers.authorization);
    assert.equal(new Set(tokens).size, 2);
    server.faults.connector.push({ status: 401 }, { status: 401, body: body("Unauthorized") });
    await rejects(send({ text: "hi" }), "NOT_LINKED", /Unauthorized.*next: check/);
    assert.equal(server.of(/activities/).length, 4);
  });

  it("of the login shows no secret, and a cancelled call sends nothing", async (t) => {
    const { server, send, channel, call } = await met(t);
    const settings = { ...(call.settings as object), appPassword: "password-of-the-test-2" };
    await rejects(channel.send({ ...call, settings, id: "1", to: TOWN, text: "hi" }), "NOT_LINKED", /invalid_client/);
    const before = server.activities().length;
    const ending = new AbortController();
    server.faults.connector.push("silent");
    const sent = assert.rejects(send({ text: "late", signal: ending.signal }));
    ending.abort();
    await sent;
    await assert.rejects(send({ text: "never", signal: ending.signal }));
    assert.ok(!server.heard().includes("never") && server.activities().length <= before + 1);
  });
});
