/** Messages, changes, files and logins reach the daemon; its refusals become errors of the gateway. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { freePort } from "../../free-port.ts";
import { scene, SUITE_MS } from "./scene.ts";
import { ADA, GROUP, LINK, OWN, startServer } from "./server.ts";

async function start(t: TestContext, more: object = {}) {
  const server = await startServer(t);
  const it = await scene(t, { account: OWN, url: server.url, ...more });
  const send = (fields: object) => it.channel.send({ ...it.facts, id: "0".repeat(32), to: ADA, text: "", ...fields });
  const login = { accountId: "default", signal: it.facts.signal };
  const next = (answers: Record<string, string>, state?: unknown) =>
    it.channel.login?.next({ ...login, state, answers });
  return { server, send, next, ...it };
}

describe("a message", { timeout: SUITE_MS }, () => {
  it("has its file, or its voice", async (t) => {
    const { server, send } = await start(t);
    const media = { kind: "audio", bytes: Buffer.from("sound"), name: "a b+ü.ogg", mimeType: "audio/ogg" };
    await send({ text: "see", media });
    await send({ media: { ...media, isVoice: true }, to: `group:${GROUP}` });
    const attachments = [
      `data:audio/ogg;filename=a%20b%2B%C3%BC.ogg;base64,${Buffer.from("sound").toString("base64")}`,
    ];
    assert.deepEqual(server.of("send"), [
      { account: OWN, recipient: [ADA], message: "see", attachments },
      { account: OWN, groupId: GROUP, attachments, voiceNote: true },
    ]);
  });

  it("is edited with its quote, at most ten times", async (t) => {
    const { server, send, channel, facts } = await start(t);
    const { messageId = "" } = await send({ text: "one", replyTo: `5:${ADA}` });
    const edit = (text: string) => channel.edit?.({ ...facts, to: ADA, messageId, text });
    for (let count = 0; count < 10; count++) await edit("<i>two</i>");
    await assert.rejects(async () => edit("three"), { code: "NOT_FOUND", message: /10 edits/ });
    const quote = { quoteTimestamp: 5, quoteAuthor: ADA, quoteMessage: "" };
    const [, changed] = server.of("send");
    const editTimestamp = Number(messageId.split(":")[0]);
    const style = { message: "two", textStyle: ["0:3:ITALIC"] };
    assert.deepEqual(changed, { account: OWN, recipient: [ADA], ...style, ...quote, editTimestamp });
    await assert.rejects(async () => channel.edit?.({ ...facts, to: ADA, messageId: `5:${ADA}`, text: "x" }), {
      code: "NOT_FOUND",
    });
  });

  it("gets reactions, and loses them", async (t) => {
    const { server, channel, facts } = await start(t);
    const reaction = { ...facts, to: `group:${GROUP}`, messageId: `5:${ADA}`, emoji: "👍" };
    await channel.react?.(reaction);
    await channel.react?.({ ...reaction, remove: true });
    const params = { account: OWN, groupId: GROUP, emoji: "👍", targetAuthor: ADA, targetTimestamp: 5 };
    assert.deepEqual(server.of("sendReaction"), [
      { ...params, remove: false },
      { ...params, remove: true },
    ]);
    await assert.rejects(async () => channel.react?.({ ...reaction, messageId: "gone" }), { code: "NOT_FOUND" });
  });

  const refusals: Readonly<Record<string, readonly [object, string, RegExp, number?]>> = {
    "the account is not linked": [
      { error: { code: -32602, message: "Specified account does not exist" } },
      "NOT_LINKED",
      /svc channels login signal/,
    ],
    "the rate is limited": [
      { error: { code: -5, message: "rate limiting", data: { response: { results: [{ retryAfterSeconds: 9 }] } } } },
      "UNAVAILABLE",
      /limit/,
      9_000,
    ],
    "a proxy limits the rate": [{ status: 429, headers: { "retry-after": "3" } }, "UNAVAILABLE", /429/, 3_000],
    "the daemon fails": [{ status: 502, text: "<html>" }, "UNAVAILABLE", /502/],
    "the answer is nonsense": [{ text: "[1]" }, "UNAVAILABLE", /unknown way/],
    "the person has a new identity": [
      { error: { code: -4, message: "untrusted" } },
      "INVALID_REQUEST",
      /next: .*trust/,
    ],
  };
  for (const [name, [fault, code, message, retryAfterMs]] of Object.entries(refusals))
    it(`is refused if ${name}`, async (t) => {
      const { server, send } = await start(t);
      server.faults.push({ method: "send", ...fault });
      await assert.rejects(send({ text: "x" }), (error: { code?: string; message: string; retryAfterMs?: number }) => {
        assert.deepEqual([error.code, error.retryAfterMs], [code, retryAfterMs]);
        assert.match(error.message, message);
        return true;
      });
    });

  it("is not sent after an abort, and ends with it", async (t) => {
    const { server, send } = await start(t);
    server.faults.push({ method: "send", hangs: true });
    const ending = new AbortController();
    const sending = send({ text: "hangs", signal: ending.signal });
    ending.abort(new Error("cancelled"));
    await assert.rejects(sending, /cancelled/);
  });
});

describe("a file", { timeout: SUITE_MS }, () => {
  it("is fetched from the daemon, up to the limit", async (t) => {
    const { server, channel, facts } = await start(t);
    server.files.set("a.jpg", Buffer.from("picture").toString("base64"));
    server.files.set("pack", Buffer.from("sticker").toString("base64"));
    server.files.set("big", Buffer.alloc(5_000).toString("base64"));
    const media = (ref: string, maxBytes = 1_000) => channel.media?.({ ...facts, ref, maxBytes });
    assert.deepEqual(await media(`file ${ADA} a.jpg`), { bytes: Buffer.from("picture") });
    assert.deepEqual(server.of("getAttachment"), [{ account: OWN, recipient: ADA, id: "a.jpg" }]);
    assert.deepEqual(await media("sticker pack 3"), { bytes: Buffer.from("sticker") });
    assert.deepEqual(server.of("getSticker"), [{ account: OWN, packId: "pack", stickerId: 3 }]);
    await assert.rejects(async () => media(`file group:${GROUP} big`), { message: /too large/ });
    await assert.rejects(async () => media(`file ${ADA} gone`), { code: "NOT_FOUND" });
    await assert.rejects(async () => media("../../etc/passwd"), { code: "NOT_FOUND" });
  });
});

describe("a login", { timeout: SUITE_MS }, () => {
  it("shows a new code when the old one has expired", async (t) => {
    const { server, next } = await start(t);
    const shown = await next({ url: `${server.url}/` });
    assert.deepEqual([shown?.kind, Object(shown).qr], ["show", LINK]);
    server.faults.push({
      method: "finishLink",
      error: { code: -1, message: "Link request timed out, please try again." },
    });
    const again = await next({}, Object(shown).state);
    assert.equal(again?.kind, "show");
    server.scans();
    const done = await next({}, Object(again).state);
    assert.deepEqual(Object(done).config, { account: OWN, url: server.url });
    assert.deepEqual(server.of("finishLink").at(-1), { deviceLinkUri: LINK, deviceName: "svc gateway" });
  });

  it("is done at once if the daemon has the account", async (t) => {
    const { server, next } = await start(t);
    assert.deepEqual(Object(await next({ account: "+49 15100000001" })).config, { account: OWN });
    assert.deepEqual(server.of("startLink"), []);
  });

  it("is refused with the cause, without the link", async (t) => {
    const { server, next } = await start(t);
    await assert.rejects(async () => next({ url: "127.0.0.1:8080" }), { code: "INVALID_REQUEST", message: /http:/ });
    await assert.rejects(async () => next({ account: "0151" }), { code: "INVALID_REQUEST", message: /country code/ });
    const url = `http://127.0.0.1:${await freePort()}`;
    await assert.rejects(async () => next({ url }), { code: "UNAVAILABLE", message: /cannot be reached/ });
    const { state } = Object(await next({}));
    server.faults.push({ method: "finishLink", error: { code: -1, message: `${LINK} of ${OWN} already exists` } });
    const again = Object(await next({}, state)) as { kind: string; message: string };
    assert.match(again.message, /not used: .*already exists/);
    assert.ok(!again.message.includes(LINK) && !again.message.includes(OWN), again.message);
  });

  it("can be checked, but a daemon of somebody else is left alone", async (t) => {
    const { server, channel, facts } = await start(t);
    assert.deepEqual(await channel.probe?.(facts), { ok: true, version: "0.14.9" });
    server.state.accounts.length = 0;
    assert.deepEqual(Object(await channel.probe?.(facts)).ok, false);
    assert.deepEqual(await channel.logout?.(facts), { cleared: false });
  });
});
