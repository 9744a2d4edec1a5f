/** Outgoing messages, files, refusals of the Graph API, and the login. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unlinked } from "@svc/kit/channels";
import type { MessageButton, OutboundMedia } from "@svc/sdk/channels";
import { textBodies, uploadOf } from "../../../plugins/whatsapp/messages.ts";
import { hidesSecrets, LOGIN, openScene, rejects, SUITE_MS } from "./scene.ts";
import { ADA, graphError, NUMBER_ID, SECRET, TOKEN } from "./server.ts";

const MESSAGES = new RegExp(`^POST ${NUMBER_ID}/messages$`);
const to = { messaging_product: "whatsapp", recipient_type: "individual", to: ADA };
const button = (label: string, value = label): MessageButton => ({ label, value });
const opus = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(24), Buffer.from("OpusHead")]);
const unnamed = { name: "name.bin", bytes: Buffer.from("bytes") };
const file = (kind: OutboundMedia["kind"], mimeType: string, more: Partial<OutboundMedia> = {}): OutboundMedia => {
  return { kind, mimeType, ...unnamed, ...more };
};

describe("bodies", () => {
  it("have the markup of WhatsApp", () => {
    const cases = [
      ["*b* _i_ ~s~ `c`\n```\nx &lt; y\n```\n> q", "*b* _i_ ~s~ `c`\n```\nx < y\n```\n> q"],
      ["see <https://a.example/?x=1&amp;y=2|the page>", "see the page (https://a.example/?x=1&y=2)"],
      ["<https://a.example> <https://b.example|https://b.example>", "https://a.example https://b.example"],
      ["<https://a.example|<https://b.example/i.png|logo>>", "logo (https://b.example/i.png) (https://a.example)"],
      ["a &lt;b|c&gt; &amp;lt;", "a <b|c> &lt;"],
    ] as const;
    for (const [given, expected] of cases) assert.equal(unlinked(given), expected);
  });

  it("show up to three buttons, and up to ten as a list", () => {
    const labels = ["Yes", "No, and never ask me this again", "No, and never ask me that again"];
    const three = labels.map((label, index) => button(label, `v${index}`));
    const shown = (text: string, buttons: readonly MessageButton[]) =>
      Object(textBodies(text, buttons).at(-1)).interactive as Record<string, unknown>;
    const titles = ["Yes", "No, and never ask m…", "3 No, and never ask…"];
    const buttons = titles.map((title, index) => ({ type: "reply", reply: { id: `v${index}`, title } }));
    assert.deepEqual(shown("Sure?", three), { type: "button", body: { text: "Sure?" }, action: { buttons } });
    const rows = [
      { id: "v0", title: "Yes" },
      { id: "v1", title: "No, and never ask me th…", description: labels[1] },
      { id: "v2", title: "3 No, and never ask me …", description: labels[2] },
      { id: "Later", title: "Later" },
    ];
    const action = { button: "Choose:", sections: [{ rows }] };
    const list = { type: "list", body: { text: "Choose:" }, action };
    assert.deepEqual(shown("", [...three, button("Later")]), list);
    const types = textBodies("x".repeat(1_025), [button("Yes")]).map(({ type }) => type);
    assert.deepEqual(types, ["text", "interactive"]);
    const many = Array.from({ length: 11 }, (_, index) => button(`${index}`));
    assert.throws(() => textBodies("a", many), { code: "INVALID_REQUEST" });
  });

  it("show files as what they are, if WhatsApp can", () => {
    const cases: readonly (readonly [OutboundMedia, string, string?])[] = [
      [file("image", "image/png"), "image"],
      [file("image", "image/png", { bytes: Buffer.alloc(5_000_001) }), "document"],
      [file("image", "image/webp"), "document"],
      [file("video", "video/mp4"), "video"],
      [file("video", "video/webm"), "document"],
      [file("audio", "Audio/MPEG; x=1"), "audio", "audio/mpeg"],
      [file("audio", "audio/ogg", { bytes: opus }), "audio", "audio/ogg; codecs=opus"],
      [file("audio", "audio/ogg"), "document"],
      [file("audio", "audio/wav"), "document"],
      [file("file", "image/png"), "document"],
    ];
    for (const [media, type, mimeType = media.mimeType] of cases)
      assert.deepEqual(uploadOf(media), { type, mimeType, isVoice: false });
    assert.ok(uploadOf(file("audio", "audio/ogg", { bytes: opus, isVoice: true })).isVoice);
    assert.ok(!uploadOf(file("audio", "audio/mpeg", { isVoice: true })).isVoice);
  });
});

describe("sending", { timeout: SUITE_MS }, () => {
  it("sends texts, answers, reactions and files", async (t) => {
    const { server, channel, call, send } = await openScene(t);
    assert.match((await send({ text: "see https://a.example", replyTo: "wamid.0" })).messageId ?? "", /^wamid\.sent/);
    await send({ text: "hidden", to: "US.1349" });
    const reaction = { ...call, to: ADA, messageId: "wamid.0", emoji: "👍" };
    await channel.react?.(reaction);
    await channel.react?.({ ...reaction, remove: true });
    await send({ media: file("image", "image/png"), text: "a caption" });
    await send({ media: file("audio", "audio/ogg", { bytes: opus, isVoice: true }), text: "words" });
    await send({ media: file("file", "application/pdf", { name: "a.pdf" }), buttons: [[button("Yes")]] });
    const { to: _, ...envelope } = to;
    const plain = (body: string, preview_url = false) => ({ type: "text", text: { body, preview_url } });
    const buttons = [{ type: "reply", reply: { id: "Yes", title: "Yes" } }];
    const interactive = { type: "button", body: { text: "Choose:" }, action: { buttons } };
    const sent = JSON.parse(JSON.stringify(server.messages()).replaceAll(/upload\d+/g, "up")) as unknown;
    assert.deepEqual(sent, [
      { ...to, context: { message_id: "wamid.0" }, ...plain("see https://a.example", true) },
      { ...envelope, recipient: "US.1349", ...plain("hidden") },
      { ...to, type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } },
      { ...to, type: "reaction", reaction: { message_id: "wamid.0", emoji: "" } },
      { ...to, type: "image", image: { id: "up", caption: "a caption" } },
      { ...to, type: "audio", audio: { id: "up", voice: true } },
      { ...to, ...plain("words") },
      { ...to, type: "document", document: { id: "up", filename: "a.pdf" } },
      { ...to, type: "interactive", interactive },
    ]);
    const [, { file: upload, ...form } = {}] = server.sent(/media$/);
    assert.deepEqual(form, { messaging_product: "whatsapp", type: "audio/ogg; codecs=opus" });
    assert.equal((upload as File).name, "name.bin");
  });

  it("sends only the rest of a message again", async (t) => {
    const { server, send } = await openScene(t);
    const message = { id: "1".repeat(32), text: "x".repeat(1_025), buttons: [[button("Yes")]] };
    await send(message);
    server.fails({ matches: MESSAGES, status: 503 });
    await rejects(send({ ...message, id: "2".repeat(32) }), "UNAVAILABLE", /status 503/);
    await send({ ...message, id: "2".repeat(32) });
    await send(message);
    const types = server.messages().map(({ type }) => type);
    assert.deepEqual(types, ["text", "interactive", "text", "text", "interactive"]);
  });

  it("tells errors apart by their code", async (t) => {
    const { server, send } = await openScene(t);
    const cases: readonly (readonly [status: number, code: number, expected: string, message: RegExp, ms?: number])[] =
      [
        [401, 190, "NOT_LINKED", /refuses the access token: error 190/],
        [400, 4, "UNAVAILABLE", /code 4/, 60_000],
        [400, 80007, "UNAVAILABLE", /code 80007/, 60_000],
        [400, 130429, "UNAVAILABLE", /code 130429/, 5_000],
        [400, 131048, "UNAVAILABLE", /code 131048/, 60_000],
        [400, 131056, "UNAVAILABLE", /code 131056/, 6_000],
        [400, 131000, "UNAVAILABLE", /code 131000/],
        [400, 131016, "UNAVAILABLE", /code 131016/],
        [500, 77, "UNAVAILABLE", /code 77/],
        [400, 100, "INVALID_REQUEST", /check phoneNumberId/],
        [400, 130472, "INVALID_REQUEST", /next: wait until the person writes: an experiment/],
        [400, 131026, "INVALID_REQUEST", /next: check the number/],
        [400, 131047, "INVALID_REQUEST", /next: wait until the person writes: after 24 hours .* templates/],
        [400, 131051, "INVALID_REQUEST", /next: send a text/],
        [400, 987, "INVALID_REQUEST", /refuses it: error 987 \(code 987\)$/],
      ];
    for (const [status, code, expected, message, retryAfterMs] of cases) {
      server.fails({ matches: MESSAGES, status, body: graphError(code) });
      await rejects(send({ text: "a" }), expected, message, retryAfterMs);
    }
  });

  it("keeps its secrets, whatever the answer is", async (t) => {
    const { server, send } = await openScene(t);
    const error = graphError(131009, `bad ${TOKEN}`, { error_data: { details: `${TOKEN} and ${SECRET}` } });
    const answers: readonly (readonly [object, string, RegExp])[] = [
      [{ status: 400, body: error }, "INVALID_REQUEST", /\[token\] and \[secret\]/],
      [{ status: 200, body: error }, "INVALID_REQUEST", /\[token\]/],
      [{ status: 400, body: graphError(1, "a", { is_transient: true }) }, "UNAVAILABLE", /a/],
      [{ status: 502, body: `<html>${TOKEN}</html>` }, "UNAVAILABLE", /status 502/],
      [{ status: 401, body: "" }, "NOT_LINKED", /status 401/],
      [{ status: 302, headers: { location: "http://127.0.0.1:9/" } }, "INVALID_REQUEST", /redirect.*check graphUrl/],
      [{ status: 200, body: "ok" }, "UNAVAILABLE", /not that of the Graph API/],
      [{ status: 200, body: { messages: [] } }, "INVALID_REQUEST", /did not name the sent message/],
      [{ status: 200, body: "x".repeat(1_000_001) }, "UNAVAILABLE", /too large/],
    ];
    for (const [fault, code, message] of answers) {
      server.fails({ matches: MESSAGES, ...fault });
      await rejects(send({ text: "a" }), code, message);
    }
    server.fails({ matches: MESSAGES, status: 429, headers: { "retry-after": "17" } });
    await rejects(send({ text: "a" }), "UNAVAILABLE", /status 429/, 17_000);
    server.fails({ matches: /media$/, status: 200, body: {} });
    await rejects(send({ media: file("image", "image/png") }), "INVALID_REQUEST", /did not store the file/);
    await rejects(send({ text: "" }), "INVALID_REQUEST", /the message is empty/);
  });

  it("stops a request that is cancelled", async (t) => {
    const { server, send } = await openScene(t);
    server.state.isSilent = true;
    const stopping = new AbortController();
    const sending = send({ text: "a", signal: stopping.signal });
    stopping.abort(new Error("cancelled"));
    await assert.rejects(sending, /cancelled/);
  });

  it("names the address of a file", async (t) => {
    const { server, channel, call } = await openScene(t);
    const media = async (ref: string, settings: object = {}) =>
      channel.media?.({ ...call, settings: Object.assign({}, call.settings, settings), ref, maxBytes: 1_000 });
    server.files.set("m1", { size: 5, bytes: Buffer.from("bytes") });
    server.files.set("m2", { size: 2_500_000, bytes: Buffer.alloc(0) });
    const source = await media("m1");
    assert.ok(source && "url" in source);
    const { url, ...options } = source;
    assert.equal(await (await fetch(url, options)).text(), "bytes");
    await rejects(media("m2"), "INVALID_REQUEST", /^it has 2.5 MB, at most 1 kB are accepted$/);
    await rejects(media("gone"), "NOT_FOUND", /does not have the file/);
    await rejects(media("../me"), "NOT_FOUND", /not the id of a file/);
    server.fails({ matches: /GET m1/, status: 200, body: { id: "m1" } });
    await rejects(media("m1"), "NOT_FOUND", /does not name the address/);
    server.fails({ matches: /GET m1/, status: 500 });
    await rejects(media("m1"), "UNAVAILABLE", /status 500/);
  });
});

describe("login", { timeout: SUITE_MS }, () => {
  it("checks number, token and secret with the network", async (t) => {
    const { server, channel, call } = await openScene(t);
    const { login } = channel;
    assert.ok(login);
    const start = await login.start({ accountId: "work", signal: call.signal });
    assert.deepEqual(start.kind === "form" && start.fields.map(({ key }) => key), Object.keys(LOGIN));
    const next = async (answers: Record<string, string>) =>
      login.next({ accountId: "work", signal: call.signal, state: undefined, answers: { ...LOGIN, ...answers } });
    for (const [answers, message] of [
      [{ phoneNumberId: "+49 151" }, /consists of digits/],
      [{ phoneNumberId: "99999" }, /check phoneNumberId/],
      [{ accessToken: " " }, /are required/],
      [{ appSecret: "" }, /are required/],
      [{ accessToken: "wrong" }, /refuses the access token: .*\[token\]/],
      [{ appSecret: "wrong" }, /different apps/],
    ] as const)
      await rejects(next({ ...answers }), "INVALID_REQUEST", message);
    const done = await next({ accessToken: ` ${TOKEN} ` });
    assert.deepEqual(done.kind === "done" && done.config, LOGIN);
    assert.match(done.message, /Helper Inc .*\/plugins\/whatsapp\/work\/webhook and the verify token that you entered/);
    hidesSecrets(done.message);
    const made = await next({ verifyToken: "" });
    assert.ok(made.kind === "done");
    const { verifyToken = "" } = { ...made.config } as { verifyToken?: string };
    assert.match(verifyToken, /^[0-9a-f]{32}$/);
    assert.ok(made.message.includes(verifyToken));
    server.fails({ matches: /^GET/, status: 503 });
    await rejects(next({}), "UNAVAILABLE", /status 503/);
  });

  it("shows the number, and a missing token of the webhook", async (t) => {
    const { channel, call } = await openScene(t);
    const facts = { ok: true, number: "+1 555-078-3881", name: "Helper Inc", quality: "GREEN" };
    const webhook = "/plugins/whatsapp/default/webhook";
    assert.deepEqual(await channel.probe?.(call), { ...facts, webhook });
    const settings = Object.assign({}, call.settings, { verifyToken: "" });
    assert.match(String(Object(await channel.probe?.({ ...call, settings })).hint), /without verifyToken/);
  });
});
