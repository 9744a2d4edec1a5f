/** Messages, changes, reactions and typing reach a server; its refusals become errors of the gateway; login. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { freePort } from "../../free-port.ts";
import { until } from "../../until.ts";
import { scene, SUITE_MS } from "./scene.ts";
import { BOT, DIRECT, id, startServer, TOKEN, TOWN } from "./server.ts";

async function start(t: TestContext, more: object = {}) {
  const server = await startServer(t);
  const it = await scene(t, { baseUrl: server.url, botToken: TOKEN, ...more });
  let count = 0;
  const send = (fields: object) =>
    it.channel.send({ ...it.facts, id: String(++count).padStart(32, "0"), to: TOWN, text: "", ...fields });
  return { server, send, ...it };
}

describe("a sent message", { timeout: SUITE_MS }, () => {
  it("belongs to its thread and has an id of the sender", async (t) => {
    const { server, send } = await start(t);
    const { messageId } = await send({ text: "<b>*as it is*</b> @here", threadId: id("root"), replyTo: id("gone") });
    assert.deepEqual(server.sent(/POST \/posts$/), [
      {
        channel_id: TOWN,
        message: "<b>*as it is*</b> @\u200dhere",
        pending_post_id: `${BOT}:${"1".padStart(32, "0")}`,
        root_id: id("root"),
      },
    ]);
    assert.ok(server.posts.has(messageId ?? ""));
  });

  it("is posted once if its confirmation was lost", async (t) => {
    const { server, channel, facts } = await start(t);
    server.faults.push({ matches: /POST \/posts$/, status: 502, body: "<html>", after: true });
    const message = { ...facts, id: "a".repeat(32), to: TOWN, text: "once" };
    await assert.rejects(channel.send(message), { code: "UNAVAILABLE", message: /failed: status 502/ });
    const { messageId } = await channel.send(message);
    assert.deepEqual([...server.posts.keys()], [messageId]);
  });

  it("has its file", async (t) => {
    const { server, send } = await start(t);
    const bytes = new TextEncoder().encode("%PDF");
    const media = { kind: "file" as const, bytes, name: 'a "b" ü.pdf', mimeType: "application/pdf" };
    await send({ text: "see", media });
    const [[fileId, file] = []] = server.files;
    await until(() => file?.text !== "");
    assert.deepEqual(file, { name: 'a "b" ü.pdf', mime_type: "application/pdf", size: 4, text: "%PDF" });
    assert.deepEqual(
      server.sent(/POST \/posts$/).map((post) => (post as { file_ids: unknown }).file_ids),
      [[fileId]],
    );
  });

  it("to a person creates the direct chat, once", async (t) => {
    const { server, send } = await start(t);
    await send({ to: "@ada", text: "one" });
    await send({ to: "@ada", text: "two" });
    await send({ to: `user:${id("bob")}`, text: "three" });
    assert.deepEqual(server.sent(/channels\/direct/), [
      [BOT, id("ada")],
      [BOT, id("bob")],
    ]);
    assert.deepEqual(
      [...server.posts.values()].map((post) => post.channel_id),
      [DIRECT, DIRECT, DIRECT],
    );
  });

  it("is changed, with its buttons", async (t) => {
    const { server, send, channel, facts } = await start(t, { callbackUrl: "http://gateway" });
    assert.equal(channel.capabilities.buttons, true);
    const buttons = [[{ label: "Yes", value: "y" }]];
    const { messageId = "" } = await send({ text: "sure?", buttons });
    const post = server.posts.get(messageId);
    assert.ok(post);
    assert.equal((post.props["attachments"] as unknown[]).length, 1);
    await channel.edit?.({ ...facts, to: TOWN, messageId, text: "sure! @all" });
    assert.deepEqual([post.message, post.props], ["sure! @\u200dall", { attachments: [], from_bot: "true" }]);
  });

  it("has no buttons if one account has no callback", async (t) => {
    const { server, send, channel } = await start(t);
    assert.equal(channel.capabilities.buttons, false);
    await send({ text: "sure?", buttons: [[{ label: "Yes", value: "y" }]] });
    assert.deepEqual([...server.posts.values()][0]?.props, {});
  });

  it("gets and loses reactions, and a typing sign comes before it", async (t) => {
    const { server, send, channel, facts } = await start(t);
    const { messageId = "" } = await send({ text: "x" });
    const reaction = { ...facts, to: TOWN, messageId, emoji: "👍" };
    await channel.react?.(reaction);
    await channel.react?.({ ...reaction, remove: true });
    await channel.typing?.({ ...facts, to: TOWN, threadId: id("root") });
    assert.deepEqual(server.sent(/POST \/reactions/), [{ user_id: BOT, post_id: messageId, emoji_name: "+1" }]);
    assert.equal(server.sent(/^DELETE \/users\/bot0+\/posts\/post1x0+\/reactions\/\+1$/).length, 1);
    assert.deepEqual(server.sent(/typing/), [{ channel_id: TOWN, parent_id: id("root") }]);
    await assert.rejects(async () => channel.react?.({ ...reaction, emoji: "🦖" }), { code: "INVALID_REQUEST" });
  });
});

describe("a refusal", { timeout: SUITE_MS }, () => {
  const cases: [why: string, fault: object, error: object][] = [
    [
      "of the rate, with Retry-After",
      { status: 429, headers: { "retry-after": "7" } },
      { code: "UNAVAILABLE", retryAfterMs: 7_000 },
    ],
    [
      "of the rate, with X-RateLimit-Reset",
      { status: 429, headers: { "x-ratelimit-reset": "1" }, body: "limit exceeded" },
      { code: "UNAVAILABLE", retryAfterMs: 1_000, message: /limits the rate/ },
    ],
    ["by a failing server", { status: 503, body: "<html>" }, { code: "UNAVAILABLE", message: /status 503/ }],
    ["without JSON", { status: 200, body: "<html>" }, { code: "UNAVAILABLE", message: /check baseUrl/ }],
    [
      "of the content",
      { status: 400, body: { message: "Too long." } },
      { code: "INVALID_REQUEST", message: /Too long\./ },
    ],
    [
      "of the chat",
      { status: 403, body: { message: "No permission." } },
      { code: "INVALID_REQUEST", message: /No permission\.; next: add the bot/ },
    ],
    ["of an unknown chat", { status: 404 }, { code: "INVALID_REQUEST", message: /cannot send to town/ }],
    ["of the token", { status: 401 }, { code: "NOT_LINKED", message: /svc channels add mattermost/ }],
    [
      "by a redirect, which is not followed",
      { status: 302, headers: { location: "http://127.0.0.1:1/" } },
      { code: "INVALID_REQUEST", message: /redirects to http:\/\/127\.0\.0\.1:1\/; set baseUrl/ },
    ],
  ];
  for (const [why, fault, error] of cases)
    it(why, async (t) => {
      const { server, send } = await start(t);
      server.faults.push({ matches: /POST \/posts$/, status: 0, ...fault });
      await assert.rejects(send({ text: "x" }), error);
      assert.equal(server.sent(/POST \/posts$/).length, 1, "the outbox repeats it, nobody else");
    });

  it("of an unknown name", async (t) => {
    const { send } = await start(t);
    await assert.rejects(send({ to: "@nobody", text: "x" }), { code: "INVALID_REQUEST", message: /to @nobody/ });
  });

  it("of a change: the message is gone or too old", async (t) => {
    const { server, send, channel, facts } = await start(t);
    const edit = { ...facts, to: TOWN, messageId: id("gone"), text: "x" };
    await assert.rejects(async () => channel.edit?.(edit), { code: "NOT_FOUND" });
    const { messageId = "" } = await send({ text: "x" });
    const body = { id: "api.post.update_post.permissions_time_limit.app_error", message: "Too late." };
    server.faults.push({ matches: /PUT/, status: 400, body });
    await assert.rejects(async () => channel.edit?.({ ...edit, messageId }), {
      code: "NOT_FOUND",
      message: /Too late/,
    });
    server.faults.push({ matches: /PUT/, status: 400, body: { id: "x", message: "Bad." } });
    await assert.rejects(async () => channel.edit?.({ ...edit, messageId }), { code: "INVALID_REQUEST" });
    await assert.rejects(async () => channel.react?.({ ...edit, emoji: "👍" }), { code: "NOT_FOUND" });
  });

  it("of a server that is away", async (t) => {
    const { send } = await start(t, { baseUrl: `http://127.0.0.1:${await freePort()}` });
    await assert.rejects(send({ text: "x" }), { code: "UNAVAILABLE", message: /ECONNREFUSED/ });
  });
});

describe("the login", { timeout: SUITE_MS }, () => {
  async function login(t: TestContext, answers: Record<string, string>) {
    const { server, channel, facts } = await start(t);
    const step = await channel.login?.start(facts);
    assert.equal(step?.kind, "form");
    const values = { baseUrl: `${server.url}/`, botToken: TOKEN, ...answers };
    return { server, done: channel.login?.next({ ...facts, state: undefined, answers: values }) };
  }

  it("names the bot and returns what was entered", async (t) => {
    const { server, done } = await login(t, { slashCommandToken: " s ", callbackUrl: "" });
    assert.deepEqual(await done, {
      kind: "done",
      message: `Logged in as @helper on ${server.url}.`,
      config: { baseUrl: server.url, botToken: TOKEN, slashCommandToken: "s" },
    });
  });

  it("of a new account is on the server of the section, unless it names another one", async (t) => {
    const { server, channel, facts } = await start(t);
    const call = { ...facts, accountId: "work" };
    const step = await channel.login?.start(call);
    const [field] = step?.kind === "form" ? step.fields : [];
    assert.deepEqual([field?.key, field?.optional, field?.help], ["baseUrl", true, `leave it empty for ${server.url}`]);
    assert.deepEqual(await channel.login?.next({ ...call, state: undefined, answers: { botToken: TOKEN } }), {
      kind: "done",
      message: `Logged in as @helper on ${server.url}.`,
      config: { botToken: TOKEN },
    });
    const bare = await scene(t, {});
    const first = await bare.channel.login?.start(call);
    assert.equal(first?.kind === "form" && first.fields[0]?.optional, undefined);
  });

  const wrong: [why: string, answers: Record<string, string>, error: object][] = [
    ["an address that is none", { baseUrl: "chat" }, { code: "INVALID_REQUEST", message: /not the address/ }],
    ["a callback that is none", { callbackUrl: "ftp://x" }, { code: "INVALID_REQUEST", message: /ftp:/ }],
    ["no token", { botToken: " " }, { code: "INVALID_REQUEST", message: /Bot Accounts/ }],
    ["a wrong token", { botToken: "wrong" }, { code: "INVALID_REQUEST", message: /copy the token again/ }],
    ["a server that is away", { baseUrl: "http://127.0.0.1:1" }, { code: "UNAVAILABLE" }],
  ];
  for (const [why, answers, error] of wrong)
    it(`refuses ${why}`, async (t) => {
      const { done } = await login(t, answers);
      await assert.rejects(async () => done, error);
    });

  it("refuses a server that is not Mattermost", async (t) => {
    const { server, channel, facts } = await start(t);
    server.faults.push({ matches: /users\/me/, status: 200, body: {} });
    const answers = { baseUrl: server.url, botToken: TOKEN };
    await assert.rejects(async () => channel.login?.next({ ...facts, state: undefined, answers }), {
      code: "INVALID_REQUEST",
      message: /check baseUrl/,
    });
  });

  it("is checked by a probe", async (t) => {
    const { server, channel, facts } = await start(t);
    assert.deepEqual(await channel.probe?.(facts), {
      ok: true,
      bot: { id: BOT, name: "helper" },
      teams: ["Crew"],
      hint: "without callbackUrl there are no buttons and no slash command",
    });
    server.faults.push({ matches: /teams/, status: 200, body: [] });
    assert.match(JSON.stringify(await channel.probe?.(facts)), /the bot is in no team/);
    server.state.token = "another";
    await assert.rejects(async () => channel.probe?.(facts), { code: "NOT_LINKED" });
  });
});

it("an unconfigured plugin declares one account and needs no network", async (t) => {
  const { channel } = await scene(t, {});
  assert.deepEqual(
    channel.accounts.map(({ id: name, configured }) => [name, configured]),
    [["default", false]],
  );
  assert.equal(channel.capabilities.buttons, false);
});
