/** Events of a server reach the gateway: each once accepted, in order, and none is lost. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError, unavailable } from "@svc/sdk";
import { channelContract } from "@svc/sdk/testing";
import { freePort } from "../../free-port.ts";
import { until } from "../../until.ts";
import { restarted } from "../channels/states.ts";
import { scene, SUITE_MS } from "./scene.ts";
import { ADA, BOT, DIRECT, id, type Post, startServer, TOKEN, TOWN } from "./server.ts";

async function start(t: TestContext, more: object = {}) {
  const server = await startServer(t);
  const it = await scene(t, { baseUrl: server.url, botToken: TOKEN, pingMs: 200, ...more });
  return { server, ...it };
}

describe("a message", { timeout: SUITE_MS }, () => {
  it("arrives with its chat, sender, team, thread and files", async (t) => {
    const { server, run, channel, facts } = await start(t);
    const running = await run();
    const file = { id: id("file"), name: "a.pdf", mime_type: "application/pdf", size: 9 };
    const root = server.says("@helper look", { metadata: { files: [file] } });
    server.says("and?", { root_id: root.id, user_id: id("bob") }, { mentions: JSON.stringify([BOT]) });
    server.says("hello", { channel_id: DIRECT });
    server.says("all of you", { channel_id: id("group") });
    const [first, second, third, fourth] = await running.received(4);
    assert.deepEqual(first, {
      id: root.id,
      messageId: root.id,
      chat: { type: "group", id: TOWN, name: "Town Square", teamId: id("team") },
      sender: { id: ADA, name: "ada" },
      text: "look",
      mentioned: true,
      media: [{ ref: file.id, kind: "file", name: "a.pdf", mimeType: "application/pdf", size: 9 }],
      at: root.create_at,
    });
    assert.equal(second?.chat.threadId, root.id);
    assert.deepEqual(second.replyTo, { messageId: root.id, text: "@helper look", senderName: "ada", isOwn: false });
    assert.equal(second.mentioned, true);
    assert.deepEqual(third?.chat, { type: "direct", id: `user:${ADA}`, name: "ada" });
    assert.deepEqual(fourth?.chat, { type: "group", id: id("group"), name: "ada, bob" });
    assert.deepEqual(await channel.media?.({ maxBytes: 1_000, ...facts, ref: file.id }), {
      url: `${server.url}/api/v4/files/${file.id}`,
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...facts, ref: "../users/me" }), {
      code: "NOT_FOUND",
    });
  });

  it("in a thread of the bot answers the bot", async (t) => {
    const { server, run, channel, facts } = await start(t);
    const running = await run();
    const { messageId = "" } = await channel.send({ ...facts, id: "1".repeat(32), to: TOWN, text: "a question" });
    server.says("an answer", { root_id: messageId });
    const [message] = await running.received(1);
    assert.deepEqual(message?.replyTo, { messageId, text: "a question", senderName: "helper", isOwn: true });
  });

  it("is edited, deleted and gets reactions", async (t) => {
    const { server, run, channel, facts } = await start(t);
    const running = await run();
    const own = await channel.send({ ...facts, id: "2".repeat(32), to: TOWN, text: "mine" });
    const post = server.says("frist");
    server.edits(post, "@helper first");
    server.reacts(post, "tada");
    server.reacts(server.posts.get(own.messageId ?? "") ?? assert.fail(), "thumbsup", { isRemoved: true });
    server.reacts(post, "eyes", { userId: id("robot") });
    server.reacts(post, "eyes", { userId: BOT });
    server.deletes(post);
    const [, edit, reaction, removal, deletion] = await running.received(5);
    assert.deepEqual([edit?.event, edit?.text, edit?.mentioned], [{ kind: "edit", messageId: post.id }, "first", true]);
    assert.deepEqual(edit?.sender, { id: ADA, name: "ada" });
    assert.deepEqual(reaction?.event, { kind: "reaction", messageId: post.id, emoji: "🎉", isOwn: false });
    assert.deepEqual(removal?.event, {
      kind: "reaction",
      messageId: own.messageId,
      emoji: "👍",
      isRemoved: true,
      isOwn: true,
    });
    assert.deepEqual([deletion?.event, deletion?.text], [{ kind: "deletion", messageId: post.id }, ""]);
    assert.equal(new Set(running.messages.map((message) => message.id)).size, 5);
  });

  it("of the bot, another bot, a webhook or the system is ignored", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    server.says("own", { user_id: BOT });
    server.says("robot", { user_id: id("robot"), props: { from_bot: "true" } });
    server.says("hook", { props: { from_webhook: "true" } });
    server.says("joined", { type: "system_join_channel" });
    server.edits(server.says("", { user_id: id("robot"), props: { from_bot: "true" } }), "a bot's edit");
    server.says("a person");
    await running.received(1);
    assert.deepEqual(
      running.messages.map(({ text }) => text),
      ["a person"],
    );
  });

  it("with hostile names and markup arrives as it is", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const text = '<b>"&\u202e</b> **[x](javascript:1)** `\u0000` \\ @channel';
    const file = { id: id("evil"), name: "../../etc/passwd", mime_type: "__proto__" };
    server.says(text, { metadata: { files: [file], __proto__: 1 } }, { sender_name: "@../<script>" });
    const [message] = await running.received(1);
    assert.deepEqual([message?.text, message?.sender.name], [text, "../<script>"]);
    assert.deepEqual(message?.media, [{ ref: file.id, kind: "file", name: file.name, mimeType: "__proto__" }]);
  });

  it("that is malformed is skipped, and the run goes on", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    server.raw("not JSON");
    server.raw("[]");
    server.raw('{"event":"posted"}');
    server.emit("posted", { post: "{" });
    server.emit("posted", { post: JSON.stringify({ id: "x", message: 7 }) });
    server.emit("reaction_added", {});
    server.emit("typing", { user_id: ADA });
    server.says("still here");
    await running.received(1);
    assert.deepEqual(
      running.reports.map(({ state }) => state),
      ["connecting", "connected"],
    );
  });
});

describe("nothing is lost", { timeout: SUITE_MS }, () => {
  it("of 50 messages at once, which stay in order", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const texts = Array.from({ length: 50 }, (_, at) => `message ${at}`);
    for (const text of texts) server.says(text);
    const messages = await running.received(50);
    assert.deepEqual(
      messages.map(({ text }) => text),
      texts,
    );
  });

  it("if a message is not accepted at first: it comes again, before the next one", async (t) => {
    const { server, run } = await start(t);
    const refusals: (() => Promise<never>)[] = [
      () => Promise.reject(new Error("the disk is full")),
      async () => unavailable("the storage is away", { retryAfterMs: 20 }),
      async () => unavailable("too many messages wait"),
    ];
    const running = await run({ receive: () => refusals.shift()?.() });
    server.says("one");
    server.says("two");
    await running.received(2);
    assert.equal(refusals.length, 0);
    assert.deepEqual(
      running.messages.map(({ text }) => text),
      ["one", "two"],
    );
  });

  it("if a message is refused for good: it is submitted once", async (t) => {
    const { server, run } = await start(t);
    let refused = 0;
    const running = await run({
      receive: (message) =>
        message.text === "no"
          ? Promise.resolve({ accepted: false as const, reason: ++refused ? "not-allowed" : "invalid" })
          : undefined,
    });
    server.says("no");
    server.says("yes");
    await running.received(1);
    assert.deepEqual([refused, running.messages[0]?.text], [1, "yes"]);
  });

  it("if the same event arrives twice: it keeps its id", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const post = server.says("twice");
    server.announce(post);
    server.edits(post, "edited");
    server.emit("post_edited", { post: JSON.stringify(post) });
    const messages = await running.received(4);
    assert.equal(messages[0]?.id, messages[1]?.id);
    assert.equal(messages[2]?.id, messages[3]?.id);
    assert.notEqual(messages[0]?.id, messages[2]?.id);
  });

  it("of what happens while the connection is away", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    const seen = server.says("seen");
    const doomed = server.says("doomed");
    await first.received(2);
    server.cuts();
    assert.match(String(await first.ended), /ended: it closed the connection/);
    assert.equal((await first.reported("disconnected")).detail, "it closed the connection");
    server.says("a channel not seen before", { channel_id: DIRECT });
    server.says("missed");
    server.edits(seen, "seen, then edited");
    server.deletes(doomed);
    server.says("a bot's", { props: { from_bot: "true" } });
    const second = await run();
    await until(() => second.messages.some(({ text }) => text === "missed"));
    server.says("afterwards");
    await until(() => second.messages.some(({ text }) => text === "afterwards"));
    const news = second.messages.filter(({ id: own }) => !first.messages.some((message) => message.id === own));
    assert.deepEqual(
      news.filter(({ chat }) => chat.id === TOWN).map(({ text, event }) => [text, event?.kind]),
      [
        ["seen, then edited", "edit"],
        ["", "deletion"],
        ["missed", undefined],
        ["afterwards", undefined],
      ],
    );
    assert.deepEqual(
      news
        .filter(({ chat }) => chat.id === `user:${ADA}`)
        .map(({ text, sender, chat }) => [text, sender.name, chat.type]),
      [["a channel not seen before", "ada", "direct"]],
    );
  });

  it("if the connection is cut while a message is submitted", async (t) => {
    const { server, run } = await start(t);
    let release = () => {};
    const blocked = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
    const first = await run({ receive: () => blocked as Promise<never> });
    server.says("one");
    server.says("two");
    server.emit("posted", { post: "{" });
    const root = server.says("three");
    server.reacts(root, "tada");
    await until(() => first.alive() > 5); // all of it has arrived
    server.cuts();
    await first.reported("disconnected");
    release();
    assert.match(String(await first.ended), /closed the connection/);
    assert.deepEqual(
      first.messages.map(({ text, event }) => event?.kind ?? text),
      ["one", "two", "three", "reaction"],
    );
  });

  it("if the account stops while a message is not accepted, or the gateway restarts", async (t) => {
    const server = await startServer(t);
    const config = { baseUrl: server.url, botToken: TOKEN };
    const one = await scene(t, config);
    let tries = 0;
    const running = await one.run({ receive: () => (tries++, Promise.reject(new Error("no"))) });
    server.says("important");
    await until(() => tries > 0);
    const before = performance.now();
    assert.equal(await running.stop(), "returned");
    assert.ok(performance.now() - before < 1_000);
    const other = await scene(t, config);
    restarted(one.channel, other.channel);
    const again = await other.run();
    const [message] = await again.received(1);
    assert.equal(message?.text, "important");
  });

  it("if the number of an event shows that one is missing", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    server.says("one");
    await first.received(1);
    server.state.isDeaf = true; // the event is counted, but not sent
    server.emit("posted", { post: JSON.stringify(server.says("two")) });
    server.state.isDeaf = false;
    server.raw(JSON.stringify({ event: "typing", data: {}, seq: 4 }));
    assert.match(String(await first.ended), /event 2 is missing/);
    const second = await run();
    await until(() => second.messages.some(({ text }) => text === "two"));
  });

  it("if names cannot be looked up: the message arrives without them", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    server.faults.push(
      { matches: /GET .posts/, status: 400 },
      { matches: /GET .users/, status: 302, headers: { location: "/login" } },
    );
    server.says("an answer", { root_id: id("root") });
    server.says("nameless", {}, { sender_name: "" });
    const [answer, nameless] = await running.received(2);
    assert.deepEqual(
      [answer?.text, answer?.replyTo, nameless?.text, nameless?.sender],
      ["an answer", undefined, "nameless", { id: ADA }],
    );
    assert.equal(server.faults.length, 0);
  });

  for (const status of [302, 403])
    it(`if a proxy answers ${status} for the chat: the next run has the message`, async (t) => {
      const { server, run } = await start(t);
      const first = await run();
      const post = server.says("one", { channel_id: DIRECT });
      await first.received(1);
      await first.stop();
      const second = await run();
      server.faults.push({ matches: /GET .channels.direct0+$/, status, body: "<html>" });
      server.edits(post, "two");
      assert.ok((await second.ended) instanceof Error);
      assert.equal(server.faults.length, 0);
      const third = await run();
      await until(() => third.messages.some(({ text }) => text === "two"));
    });

  it("of a stream that is busy with other events while a message waits", async (t) => {
    const { server, run } = await start(t);
    let release = () => {};
    const blocked = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
    const running = await run({ receive: () => blocked as Promise<never> });
    server.says("one");
    for (let count = 0; count < 2_500; count += 1) server.emit("typing", { user_id: ADA });
    server.says("two");
    const before = running.alive();
    await until(() => running.alive() > before + 2_500);
    release();
    await running.received(2);
    assert.deepEqual(
      running.reports.map(({ state }) => state),
      ["connecting", "connected"],
    );
  });

  it("if the server limits the rate while missed posts are fetched", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    server.says("one");
    await first.received(1);
    server.cuts();
    await first.ended;
    server.says("two");
    server.faults.push({ matches: /GET .*\/posts/, status: 429, headers: { "retry-after": "0.05" } });
    const second = await run();
    await until(() => second.messages.some(({ text }) => text === "two"));
    assert.equal(server.faults.length, 0);
  });
});

describe("a connection", { timeout: SUITE_MS }, () => {
  it("that is silent is reported, and the run ends", async (t) => {
    const { server, run } = await start(t, { pingMs: 100 });
    const running = await run();
    await until(() => running.alive() > 1);
    server.state.isDeaf = true;
    assert.equal((await running.reported("disconnected")).detail, "it does not answer");
    assert.match(String(await running.ended), /does not answer/);
    assert.equal(server.streams(), 0);
  });

  it("with a revoked token needs a login", async (t) => {
    const { server, run, start: begin } = await start(t);
    const first = await run();
    server.state.token = "another";
    server.cuts();
    await first.ended;
    const second = begin();
    const error = await second.ended;
    assert.ok(isGatewayError(error) && error.code === "NOT_LINKED");
    assert.match(error.message, /refuses the bot token: Invalid session BEARER \[token\]\.; next: /);
    assert.ok(!JSON.stringify([error.message, second.reports]).includes(TOKEN));
  });

  it("is reported as soon as it works, and its loss while missed posts are submitted", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    server.says("one");
    await first.received(1);
    await first.stop();
    server.says("two");
    let release = () => {};
    const blocked = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
    const second = await run({ receive: () => blocked as Promise<never> });
    await second.reported("connected");
    server.cuts();
    await second.reported("disconnected");
    release();
    assert.match(String(await second.ended), /closed the connection/);
    assert.deepEqual(
      second.reports.map(({ state }) => state),
      ["connecting", "connected", "disconnected"],
    );
  });

  it("stops within a second, also while it is established", async (t) => {
    const { server, start: begin } = await start(t);
    server.state.isSilent = true;
    const running = begin();
    await until(() => server.streams() === 1);
    const before = performance.now();
    assert.equal(await running.stop(), "returned");
    assert.ok(performance.now() - before < 1_000);
    await until(() => server.streams() === 0);
  });

  it("to nowhere ends the run", async (t) => {
    const { start: begin } = await start(t, { baseUrl: `http://127.0.0.1:${await freePort()}` });
    assert.match(String(await begin().ended), /cannot be reached: .*ECONNREFUSED/);
  });

  it("keeps the contract when it is cut, and when events are repeated", async (t) => {
    const { server, channel } = await start(t);
    let last: Post | undefined;
    await Promise.all([1, 2, 3].map(() => fetch(server.url))); // sockets that `fetch` keeps open
    await channelContract(t, {
      channel,
      network: {
        says: (text) => void (last = server.says(text)),
        heard: () => [...server.posts.values()].filter((post) => post.user_id === BOT).map(({ message }) => message),
        repeats: () => server.announce(last ?? assert.fail()),
        cuts: () => server.cuts(),
        evidence: {
          edits: () => server.sent(/^PUT .*\/patch$/).map((body) => String(Object(body).message)),
          reactions: () => server.sent(/^POST \/reactions$/).map((body) => JSON.stringify(body)),
          typing: () => server.sent(/^POST .*\/typing$/).map((body) => JSON.stringify(body)),
          media: () => [...server.files.values()].map(({ name }) => name),
          buttons: () => server.sent(/^POST \/posts$/).map((body) => JSON.stringify(body)),
          threads: () => server.sent(/^POST \/posts$/).map((body) => String(Object(body).root_id)),
          threadId: id("thread"),
        },
      },
      targets: [TOWN, "@ada", `user:${ADA}`],
    });
  });
});
