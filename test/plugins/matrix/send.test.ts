/** Messages, changes, reactions and typing reach a homeserver; its refusals become errors of the gateway; login. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LoginStep } from "@svc/sdk/channels";
import { openScene, rejects } from "./scene.ts";
import { ADA, BOB, BOT, DIRECT, PASSWORD, TOKEN, TOWN } from "./server.ts";

const SEND = /^PUT client\/v3\/rooms\/.*\/send\//;
const png = { kind: "image", bytes: Buffer.from("PNG"), name: "ü a.png", mimeType: "image/png" } as const;

describe("a sent message", { timeout: 30_000 }, () => {
  it("has HTML and plain text, belongs to its thread, and mentions nobody", async (t) => {
    const { server, send } = await openScene(t);
    await send({ text: "<b>hi</b> @room\nthere" });
    await send({ text: "plain", threadId: "$root:test" });
    await send({ text: "both", threadId: "$root:test", replyTo: "$q:test", silent: true });
    await send({ text: "answer", replyTo: "$q:test" });
    const thread = { rel_type: "m.thread", event_id: "$root:test" };
    const quiet = { "m.mentions": {} };
    assert.deepEqual(server.contents(), [
      {
        msgtype: "m.text",
        body: "hi @room\nthere",
        format: "org.matrix.custom.html",
        formatted_body: "<b>hi</b> @room<br/>there",
        ...quiet,
      },
      {
        msgtype: "m.text",
        body: "plain",
        ...quiet,
        "m.relates_to": { ...thread, is_falling_back: true, "m.in_reply_to": { event_id: "$root:test" } },
      },
      {
        msgtype: "m.notice",
        body: "both",
        ...quiet,
        "m.relates_to": { ...thread, is_falling_back: false, "m.in_reply_to": { event_id: "$q:test" } },
      },
      { msgtype: "m.text", body: "answer", ...quiet, "m.relates_to": { "m.in_reply_to": { event_id: "$q:test" } } },
    ]);
  });

  it("is stored once if its confirmation was lost", async (t) => {
    const { server, send } = await openScene(t);
    server.faults.push({ matches: SEND, status: 502, body: "<html>", after: true });
    await rejects(send({ id: "a".repeat(32), text: "once" }), "UNAVAILABLE", /failed: status 502/);
    const { messageId } = await send({ id: "a".repeat(32), text: "once" });
    assert.deepEqual(
      server.sent.map(({ event, transaction }) => [event.event_id, transaction]),
      [[messageId, "a".repeat(32)]],
    );
  });

  it("carries a file, with its caption, or as a voice message", async (t) => {
    const { server, send } = await openScene(t);
    await send({ media: png, text: "see <b>this</b>" });
    await send({ media: { ...png, kind: "audio", mimeType: "audio/ogg", isVoice: true } });
    const [upload] = server.of(/^POST media\/v3\/upload$/);
    assert.deepEqual([upload?.query["filename"], upload?.raw.toString()], ["ü a.png", "PNG"]);
    const [picture, voice] = server.contents();
    const { body, filename, url, info, msgtype } = picture ?? {};
    assert.deepEqual(
      [msgtype, body, filename, url, info],
      ["m.image", "see this", "ü a.png", "mxc://test/file3", { mimetype: "image/png", size: 3 }],
    );
    assert.deepEqual(
      [voice?.["msgtype"], voice?.["body"], voice?.["org.matrix.msc3245.voice"]],
      ["m.audio", "ü a.png", {}],
    );
  });

  it("can be a poll", async (t) => {
    const { server, send } = await openScene(t);
    const poll = { question: "Colour?", options: ["red", "blue"], maxSelections: 2, isAnonymous: true };
    const { messageId, pollId } = await send({ poll });
    assert.equal(messageId, pollId);
    const [content] = server.contents("org.matrix.msc3381.poll.start");
    assert.equal(content?.["org.matrix.msc1767.text"], "Colour?\n1. red\n2. blue");
    assert.equal(Object(content?.["org.matrix.msc3381.poll.start"]).kind, "org.matrix.msc3381.poll.undisclosed");
  });

  it("to a person goes to the direct chat, which is created once", async (t) => {
    const { server, send } = await openScene(t);
    await send({ to: `user:${ADA}`, text: "one" });
    await send({ to: `user:${BOB}`, text: "two" });
    await send({ to: `user:${BOB}`, text: "three" });
    assert.deepEqual(
      server.sent.map(({ roomId }) => roomId),
      [DIRECT, "!made2:test", "!made2:test"],
    );
    assert.equal(server.of(/createRoom/).length, 1);
    assert.deepEqual(server.direct(), { [ADA]: [DIRECT], [BOB]: ["!made2:test"] });
  });

  it("to a person never goes to a room with other people, or that the person has left", async (t) => {
    const { server, send } = await openScene(t);
    server.rooms.get(DIRECT)?.members.set(BOB, "Bob");
    await send({ to: `user:${ADA}`, text: "secret" });
    server.rooms.get("!made2:test")?.others.set(ADA, "leave");
    const [sent] = server.sent;
    assert.equal(sent?.roomId, "!made2:test");
  });

  it("to a person answers in the room of the question", async (t) => {
    const { server, start, send, channel, call } = await openScene(t);
    server.rooms.set("!other:test", {
      members: new Map([
        [BOT, ""],
        [ADA, "Ada"],
      ]),
      others: new Map(),
    });
    const run = start(t);
    await run.reported("connected");
    const question = server.says("here", {}, "!other:test");
    server.says("and there");
    await run.received(2);
    const { messageId = "" } = await send({ to: `user:${ADA}`, text: "answer", replyTo: question });
    await channel.edit?.({ ...call, to: `user:${ADA}`, messageId, text: "better" });
    assert.deepEqual(
      server.sent.map(({ roomId }) => roomId),
      ["!other:test", "!other:test"],
    );
  });

  it("to an alias goes to its room", async (t) => {
    const { server, send } = await openScene(t);
    await send({ to: "#town:test", text: "hi" });
    assert.equal(server.sent[0]?.roomId, TOWN);
    await rejects(send({ to: "#unknown:test", text: "hi" }), "INVALID_REQUEST", /cannot send to #unknown:test/);
  });

  it("to an encrypted room is refused", async (t) => {
    const { server, send } = await openScene(t);
    const town = server.rooms.get(TOWN);
    if (town) town.encrypted = true;
    await rejects(
      send({ to: TOWN, text: "hi" }),
      "INVALID_REQUEST",
      /is encrypted.*next: make a room without encryption/,
    );
    assert.deepEqual(server.sent, []);
  });

  const refusals: readonly [what: string, answer: object, code: string, message: RegExp][] = [
    [
      "a rate limit",
      { status: 429, body: { errcode: "M_LIMIT_EXCEEDED", error: "slow", retry_after_ms: 700 } },
      "UNAVAILABLE",
      /limits the rate/,
    ],
    [
      "a missing permission",
      { status: 403, body: { errcode: "M_FORBIDDEN", error: "not there" } },
      "INVALID_REQUEST",
      /not there; next: invite the bot/,
    ],
    [
      "a large event",
      { status: 413, body: { errcode: "M_TOO_LARGE", error: "too large" } },
      "INVALID_REQUEST",
      /too large/,
    ],
    ["a revoked token", { status: 401, body: { errcode: "M_UNKNOWN_TOKEN", error: TOKEN } }, "NOT_LINKED", /\[token\]/],
    ["a lost connection", { cut: true }, "UNAVAILABLE", /cannot be reached/],
  ];
  for (const [what, answer, code, message] of refusals)
    it(`fails with ${code} after ${what}`, async (t) => {
      const { server, send } = await openScene(t);
      server.faults.push({ matches: SEND, ...answer });
      await rejects(send({ text: "hi" }), code, message);
    });

  it("names the time after which a retry may succeed", async (t) => {
    const { server, send } = await openScene(t);
    const body = { errcode: "M_LIMIT_EXCEEDED", error: "slow" };
    server.faults.push({ matches: SEND, status: 429, body: { ...body, retry_after_ms: 700 } });
    await assert.rejects(send({ text: "hi" }), { retryAfterMs: 700 });
    server.faults.push({ matches: SEND, status: 429, body, headers: { "retry-after": "2" } });
    await assert.rejects(send({ text: "hi" }), { retryAfterMs: 2_000 });
  });

  it("ends when its call is cancelled", async (t) => {
    const { server, send } = await openScene(t);
    const stopping = new AbortController();
    server.faults.push({ matches: SEND, silent: true });
    const sending = send({ text: "hi", signal: stopping.signal });
    await server.request(SEND);
    stopping.abort(new Error("cancelled"));
    await assert.rejects(sending, /cancelled/);
  });
});

describe("beside messages", { timeout: 30_000 }, () => {
  it("reactions are added once and removed", async (t) => {
    const { server, channel, call, send } = await openScene(t);
    const { messageId = "" } = await send({ text: "hi" });
    const reaction = { ...call, to: DIRECT, messageId, emoji: "❤" };
    await channel.react?.({ ...reaction, emoji: "❤️" });
    server.faults.push({ matches: SEND, status: 400, body: { errcode: "M_DUPLICATE_ANNOTATION", error: "twice" } });
    await channel.react?.(reaction);
    const own = server.sent.find(({ event }) => event.type === "m.reaction");
    await channel.react?.({ ...reaction, remove: true });
    assert.equal(
      server
        .of(/\/redact\//)
        .at(-1)
        ?.call.includes(own?.event.event_id ?? "none"),
      true,
    );
    await channel.react?.({ ...reaction, emoji: "👍", remove: true });
    assert.equal(server.of(/\/redact\//).length, 1);
  });

  it("typing creates no direct chat", async (t) => {
    const { server, channel, call } = await openScene(t);
    await channel.typing?.({ ...call, to: `user:${ADA}` });
    assert.deepEqual(server.of(/\/typing\//)[0]?.body, { typing: true, timeout: 10_000 });
    await rejects(channel.typing?.({ ...call, to: `user:${BOB}` }), "NOT_FOUND", /no direct chat/);
    assert.equal(server.of(/createRoom/).length, 0);
  });

  it("files are downloaded with the token in a header", async (t) => {
    const { server, channel, call } = await openScene(t);
    assert.deepEqual(await channel.media?.({ ...call, ref: "mxc://test:80/a-b_1", maxBytes: 1 }), {
      url: `${server.url}/_matrix/client/v1/media/download/test%3A80/a-b_1`,
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    await rejects(channel.media?.({ ...call, ref: "mxc://../a", maxBytes: 1 }), "NOT_FOUND", /not the address/);
    await rejects(channel.media?.({ ...call, ref: "https://x/a", maxBytes: 1 }), "NOT_FOUND", /not the address/);
  });

  it("a probe names the account; a logout ends it, also twice", async (t) => {
    const { channel, call } = await openScene(t);
    assert.deepEqual(await channel.probe?.(call), { ok: true, bot: { id: BOT }, versions: ["v1.11"] });
    const out = { cleared: false, loggedOut: true };
    assert.deepEqual([await channel.logout?.(call), await channel.logout?.(call)], [out, out]);
    await rejects(channel.probe?.(call), "NOT_LINKED", /refuses the access token: .*\[token\]/);
  });
});

describe("a login", { timeout: 30_000 }, () => {
  async function logIn(
    t: Parameters<typeof openScene>[0],
    answers: Record<string, string>,
    settings = {},
  ): Promise<LoginStep | undefined> {
    const { channel, call, server } = await openScene(t, settings);
    const filled = Object.entries(answers).map(([key, value]) => [key, value === "server" ? server.url : value]);
    return channel.login?.next({ ...call, state: undefined, answers: Object.fromEntries(filled) });
  }
  const here = { homeserverUrl: "server" };
  const config = async (step: Promise<LoginStep | undefined>) => {
    const done = await step;
    return done?.kind === "done" ? done.config : undefined;
  };

  it("with a password makes a token; with a token checks it", async (t) => {
    const byPassword = await config(logIn(t, { ...here, userId: BOT, password: PASSWORD }));
    assert.equal(byPassword?.["accessToken"], TOKEN);
    const byToken = await config(logIn(t, { accessToken: TOKEN }));
    assert.equal(byToken?.["accessToken"], TOKEN);
  });

  it("finds the homeserver of a server name", async (t) => {
    const asked: string[] = [];
    const real = globalThis.fetch;
    t.mock.method(globalThis, "fetch", async (url: string, options: RequestInit) => {
      asked.push(url);
      if (!url.startsWith("https://")) return real(url, options);
      if (url.endsWith("/client")) return Response.json({ "m.homeserver": { base_url: "https://hs.test/" } });
      return Response.json({ user_id: BOT });
    });
    const found = await config(logIn(t, { homeserverUrl: "example.com", accessToken: TOKEN }));
    assert.deepEqual(found, { homeserverUrl: "https://hs.test", accessToken: TOKEN });
    assert.deepEqual(asked, [
      "https://example.com/.well-known/matrix/client",
      "https://hs.test/_matrix/client/v3/account/whoami",
    ]);
  });

  const refusals: readonly [what: string, answers: Record<string, string>, message: RegExp][] = [
    [
      "a wrong password",
      { ...here, userId: BOT, password: "wrong" },
      /Invalid username or password; next: check user id and password/,
    ],
    ["a wrong token", { ...here, accessToken: "wrong" }, /next: copy the access token again/],
    ["another server", { homeserverUrl: "server/sub", accessToken: TOKEN }, /is not a homeserver; next:/],
    ["no address", { homeserverUrl: "ftp://x", accessToken: TOKEN }, /"ftp:\/\/x" is not a homeserver; next:/],
    ["nothing", { ...here }, /incomplete; next: enter user id and password/],
  ];
  for (const [what, answers, message] of refusals)
    it(`refuses ${what}`, async (t) => {
      await rejects(logIn(t, answers), "INVALID_REQUEST", message);
    });
});
