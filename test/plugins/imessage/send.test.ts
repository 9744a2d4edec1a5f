/** Outgoing messages, files, login and refusals, with a BlueBubbles server on this machine. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { channelOf, hidesPassword, openScene, rejects } from "./scene.ts";
import { ANN, DIRECT, GROUP, PASSWORD } from "./server.ts";

const PHOTO = { kind: "image", bytes: Buffer.from("bytes"), name: "a.png", mimeType: "image/png" } as const;

describe("the plugin imessage sends to BlueBubbles", { timeout: 120_000 }, () => {
  it("texts to a chat, a group, and a person without a chat", async (t) => {
    const { server, send } = await openScene(t);
    const { messageId } = await send({ text: "one", replyTo: "G0" });
    assert.equal(messageId, server.rows.at(-1)?.guid);
    await send({ text: "two", to: `chat:${GROUP}` });
    await send({ text: "three", to: "bob@example.com" });
    await send({ text: "four", to: "bob@example.com" });
    const sent = (count: number) => ({ tempGuid: `svc-${"0".repeat(31)}${count}`, method: "apple-script" });
    assert.deepEqual(
      server.of(/message\/text$/).map(({ body }) => body),
      [
        { chatGuid: DIRECT, message: "one", ...sent(1) },
        { chatGuid: GROUP, message: "two", ...sent(2) },
        { chatGuid: "iMessage;-;bob@example.com", message: "four", ...sent(4) },
      ],
    );
    const [created] = server.of(/chat\/new$/);
    const body = { addresses: ["bob@example.com"], message: "three", service: "iMessage", ...sent(3) };
    assert.deepEqual(created?.body, body);
  });

  it("answers, voice messages, tapbacks and edits with the private API", async (t) => {
    const { server, channel, call, send } = await openScene(t, { privateApi: true });
    await send({ text: "yes", replyTo: "G0" });
    const [text] = server.of(/message\/text$/);
    assert.deepEqual([text?.body["selectedMessageGuid"], text?.body["method"]], ["G0", "private-api"]);
    await send({ media: { ...PHOTO, isVoice: true } });
    const [file] = server.of(/message\/attachment$/);
    assert.equal(await file?.files["attachment"]?.text(), "bytes");
    const { chatGuid, name, isAudioMessage } = file?.body ?? {};
    assert.deepEqual([chatGuid, name, isAudioMessage], [DIRECT, "a.png", "true"]);
    const place = { ...call, to: ANN, messageId: server.rows[0]?.guid ?? "" };
    await channel.react?.({ ...place, emoji: "👍", remove: true });
    assert.equal(server.of(/react$/)[0]?.body["reaction"], "-like");
    await rejects(
      channel.react?.({ ...place, emoji: "🦊" }),
      "INVALID_REQUEST",
      /no tapback for 🦊; next: use one of ❤ 👍/,
    );
    await channel.edit?.({ ...place, text: "no" });
    assert.equal(server.rows[0]?.["text"], "no");
    await rejects(channel.edit?.({ ...place, messageId: "gone", text: "no" }), "NOT_FOUND", /does not exist/);
    await rejects(channel.typing?.({ ...call, to: ANN }), "INVALID_REQUEST", /no private API: .*next: enable it/);
  });

  it("offers only what the server can do, and drafts only on demand", async (t) => {
    const { channel } = await openScene(t);
    const { edits, reactions, typing, replies, voice } = channel.capabilities;
    assert.deepEqual([edits, reactions, typing, replies, voice], [false, false, false, false, false]);
    assert.equal(channel.accounts[0]?.streaming, "off");
    const draft = await channelOf(t, {
      serverUrl: "http://mac",
      password: PASSWORD,
      privateApi: true,
      streaming: "draft",
    });
    assert.deepEqual([draft.accounts[0]?.streaming, draft.capabilities.edits], ["draft", true]);
    await assert.rejects(channelOf(t, { serverUrl: "http://mac", command: "imsg" }), /either serverUrl or command/);
    await assert.rejects(channelOf(t, { privateApi: true, command: "imsg" }), /belongs to BlueBubbles/);
  });

  it("reports each refusal with its code and without the password", async (t) => {
    const { server, send } = await openScene(t);
    await send({ text: "finds the chat" });
    const leak = `at /api/v1/x?password=${encodeURIComponent(PASSWORD)}`;
    const cases: readonly [status: number, words: string, code: string, message: RegExp, more?: object][] = [
      [400, leak, "INVALID_REQUEST", /refuses it: at .*\[password\]/],
      [401, leak, "NOT_LINKED", /refuses the password/],
      [404, leak, "INVALID_REQUEST", /cannot send: .*does not find it/],
      [500, "Chat does not exist!", "INVALID_REQUEST", /cannot send: /],
      [302, leak, "INVALID_REQUEST", /redirects/],
      [408, leak, "UNAVAILABLE", /failed/],
      [429, leak, "UNAVAILABLE", /failed/],
      [500, leak, "UNAVAILABLE", /failed: at .*\[password\]/],
      [400, "Message is already queued to be sent!", "UNAVAILABLE", /still being sent/],
      [500, "iMessage Private API is not enabled!", "INVALID_REQUEST", /no private API/],
      [500, "Message failed to send!", "INVALID_REQUEST", /has no iMessage/, { data: { error: 22 } }],
    ];
    for (const [status, words, code, message, more] of cases) {
      const headers = { location: `http://elsewhere/?password=${encodeURIComponent(PASSWORD)}`, "retry-after": "3" };
      server.faults.push({ matches: /text$/, status, headers, body: { error: { message: words }, ...more } });
      await rejects(send({ text: "x" }), code, message);
    }
    const queued = { error: { message: "Message is already queued to be sent!" } };
    server.faults.push({ matches: /text$/, status: 400, body: queued });
    await assert.rejects(send({ text: "x" }), { retryAfterMs: 5_000 });
    server.faults.push({ matches: /text$/, status: 429, headers: { "retry-after": "3" }, body: {} });
    await assert.rejects(send({ text: "x" }), { retryAfterMs: 3_000 });
    await rejects(send({ media: PHOTO, to: "new@example.com" }), "INVALID_REQUEST", /no chat with new@example.com yet/);
  });

  it("nothing that was cancelled, also while the server is silent", async (t) => {
    const { server, send } = await openScene(t);
    server.state.isSilent = true;
    const stopping = new AbortController();
    const sending = send({ text: "x", signal: stopping.signal });
    stopping.abort(new Error("cancelled"));
    await assert.rejects(sending, /cancelled/);
    assert.deepEqual(server.heard(), []);
  });

  it("downloads files within their limit, as bytes", async (t) => {
    const { channel, call } = await openScene(t);
    const file = async (ref: string, maxBytes: number) => channel.media?.({ ...call, ref, maxBytes });
    const found = await file("FILE", 100);
    assert.deepEqual(found, { bytes: Buffer.from("a photo"), mimeType: "image/jpeg" });
    hidesPassword(found);
    await rejects(file("FILE", 3), "INVALID_REQUEST", /more than 3 bytes/);
    await rejects(file("OTHER", 100), "NOT_FOUND", /does not find it/);
  });

  it("after a login that checks the values and finds the private API", async (t) => {
    const { server, channel, call } = await openScene(t);
    const login = (answers: Readonly<Record<string, string>>) =>
      Promise.resolve(channel.login?.next({ ...call, state: undefined, answers }));
    const values = { serverUrl: `${server.url}/`, password: PASSWORD, callbackUrl: "http://gw:1/" };
    const config = { serverUrl: server.url, password: PASSWORD, callbackUrl: "http://gw:1", command: undefined };
    const plain = await login(values);
    assert.deepEqual(plain?.kind === "done" && plain.config, { ...config, privateApi: undefined });
    server.state.hasPrivateApi = true;
    const full = await login(values);
    assert.deepEqual(full?.kind === "done" && full.config, { ...config, privateApi: true });
    assert.deepEqual(await channel.probe?.(call), { ok: true, name: "mac@example.com", privateApi: true });
    const cases: readonly [answers: Readonly<Record<string, string>>, message: RegExp][] = [
      [{}, /either the address/],
      [{ ...values, command: "imsg" }, /either the address/],
      [{ serverUrl: server.url }, /password is missing/],
      [{ ...values, password: "wrong" }, /refuses the password/],
      [{ ...values, serverUrl: "mac.local" }, /"mac.local" is not an address/],
      [{ ...values, serverUrl: `${server.url}/elsewhere` }, /does not find it/],
      [{ command: "no-such-imsg" }, /no program no-such-imsg; next: install imsg/],
    ];
    for (const [answers, message] of cases) await rejects(login(answers), "INVALID_REQUEST", message);
    await rejects(login({ ...values, serverUrl: "http://127.0.0.1:9" }), "UNAVAILABLE", /cannot be reached/);
  });
});
