/** The plugin with its real client library against a small Discord: what comes in, what goes out, and what goes wrong. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { API } from "@discordjs/core";
import type { GatewayError } from "@svc/sdk";
import { Channel } from "@svc/sdk/channels";
import { channelContract, contributionOf } from "@svc/sdk/testing";
import { createInbox } from "../../../plugins/discord/inbox.ts";
import { emptyMemory } from "../../../plugins/discord/memory.ts";
import plugin from "../../../plugins/discord/plugin.ts";
import { restarted } from "../channels/states.ts";
import { type Account, refusal, start, type StartOptions } from "./account.ts";
import { APPLICATION, BOT, type DiscordServer, soon, startDiscord, TOKEN } from "./server.ts";

const ADA = { id: "180000000000000001", username: "ada", global_name: "Ada" };
const [GUILD, CHANNEL, OTHER, THREAD, DIRECT] = [
  "160000000000000001",
  "160000000000000002",
  "160000000000000003",
  "160000000000000004",
  "190000000000000001",
];

const contribute = (t: TestContext, discord: DiscordServer, more?: object) =>
  contributionOf(t, Channel, "discord", { plugin, config: discord.config(more) });

/** A connected account whose bot is in a server. */
async function scene(t: TestContext, options: StartOptions = {}) {
  const discord = await startDiscord(t);
  const channel = await contribute(t, discord);
  const account = await start(t, channel, options);
  enter(discord);
  return { discord, channel, account };
}

function enter(discord: DiscordServer): void {
  const channels = [CHANNEL, OTHER].map((id) => ({ id, type: 0, name: `name-${id.slice(-1)}` }));
  discord.dispatch("GUILD_CREATE", { id: GUILD, channels, threads: [], roles: [] });
}

const says = (discord: DiscordServer, content: string, more: object = {}) =>
  discord.dispatch("MESSAGE_CREATE", {
    id: discord.newId(),
    type: 0,
    channel_id: CHANNEL,
    guild_id: GUILD,
    author: ADA,
    member: { roles: [] },
    content,
    timestamp: "2026-01-02T03:04:05.000Z",
    mentions: [],
    mention_roles: [],
    attachments: [],
    ...more,
  });

const texts = async (account: Account, count: number) => {
  const found: string[] = [];
  while (found.length < count) found.push((await account.received()).text);
  return found;
};

it("needs no network and no account to be set up", async (t) => {
  const channel = await contributionOf(t, Channel, "discord", { plugin });
  assert.deepEqual(
    channel.accounts.map(({ id, configured }) => [id, configured]),
    [["default", false]],
  );
  const accounts = { one: { token: "a" }, two: { token: "b", messageContent: false } };
  const several = await contributionOf(t, Channel, "discord", {
    plugin,
    config: { channels: { discord: { apiUrl: "http://127.0.0.1:1/", accounts } } },
  });
  assert.deepEqual(
    several.accounts.map(({ id, configured, settings }) => [id, configured, settings]),
    [
      ["one", true, { token: "a", apiUrl: "http://127.0.0.1:1", messageContent: true, heartbeatMs: 2_000 }],
      ["two", true, { token: "b", apiUrl: "http://127.0.0.1:1", messageContent: false, heartbeatMs: 2_000 }],
    ],
  );
});

it("keeps the contract of a channel", async (t) => {
  const discord = await startDiscord(t);
  const heard = () =>
    discord.requests.flatMap(({ method, path, body }) =>
      method === "POST" && path.endsWith("/messages") ? [String(body["content"])] : [],
    );
  const network = {
    says: (text: string) => void says(discord, text, { guild_id: undefined, channel_id: DIRECT }),
    heard,
    repeats: () => discord.repeat(),
    cuts: () => discord.cut(),
    evidence: {
      edits: () =>
        discord.requests.flatMap(({ method, body }) => (method === "PATCH" ? [String(body["content"])] : [])),
      reactions: () => discord.requests.map(({ path }) => path).filter((path) => path.includes("/reactions/")),
      typing: () => discord.requests.map(({ path }) => path).filter((path) => path.endsWith("/typing")),
      media: () => discord.requests.flatMap(({ files }) => files.map(({ name }) => name)),
      buttons: () => discord.requests.map(({ body }) => JSON.stringify(body["components"] ?? "")),
      polls: () => discord.requests.map(({ body }) => JSON.stringify(body["poll"] ?? "")),
      replies: () => discord.requests.map(({ body }) => JSON.stringify(body["message_reference"] ?? "")),
      threads: () => discord.requests.map(({ path }) => path),
      threadId: "180000000000000099",
    },
  };
  await channelContract(t, { channel: await contribute(t, discord), network, targets: [CHANNEL, `user:${ADA.id}`] });
});

describe("messages that come in", () => {
  it("50 at once stay in order, also if one is refused first; other channels do not wait", async (t) => {
    let isRefusing = true;
    const { discord, account } = await scene(t, {
      receive({ text }) {
        if (text === "0" && isRefusing) return refusal();
        if (text === "elsewhere") isRefusing = false;
        return { accepted: true, sessionKey: "" };
      },
    });
    const wanted = Array.from({ length: 50 }, (_, at) => String(at));
    for (const text of wanted) says(discord, text);
    says(discord, "elsewhere", { channel_id: OTHER });
    assert.deepEqual(await texts(account, 51), ["elsewhere", ...wanted]);
  });

  it("that the gateway is too busy for are submitted again; refusals are final", async (t) => {
    const submitted: string[] = [];
    const answers = [refusal, () => ({ accepted: false, reason: "not-allowed" }) as const];
    const { discord, account } = await scene(t, {
      receive({ text }) {
        submitted.push(text);
        return answers.shift()?.() ?? { accepted: true, sessionKey: "" };
      },
    });
    says(discord, "first");
    says(discord, "second");
    await texts(account, 2);
    assert.deepEqual(submitted, ["first", "first", "second"]);
  });

  it("are not lost when the connection is cut while one is being accepted", async (t) => {
    let accept = () => {};
    const accepted = new Promise<void>((resolve) => (accept = resolve));
    const { discord, account } = await scene(t, {
      async receive({ text }) {
        if (text === "before") await accepted;
        return { accepted: true, sessionKey: "" };
      },
    });
    says(discord, "before");
    discord.cut();
    says(discord, "meanwhile");
    await account.reported("disconnected");
    await account.reported("connected");
    says(discord, "after");
    accept();
    assert.deepEqual(await texts(account, 3), ["before", "meanwhile", "after"]);
    assert.deepEqual(
      discord.logins.map(({ op }) => op),
      [2, 6],
    );
  });

  it("that were not accepted when the run failed come again in the next run, with the same id", async (t) => {
    const discord = await startDiscord(t);
    const channel = await contribute(t, discord);
    const first = await start(t, channel, {
      receive: ({ text }) => (text === "one" ? { accepted: true, sessionKey: "" } : refusal()),
    });
    says(discord, "one", { guild_id: undefined });
    await first.received();
    const { id } = says(discord, "two", { guild_id: undefined });
    discord.cut(4013);
    assert.match(String(await first.outcome()), /closed the connection \(4013\)/);
    discord.replies("GET /gateway/bot", { status: 502 });
    const failed = await start(t, channel, { until: "connecting" });
    assert.match(String(await failed.outcome()), /status 502/);
    const second = await start(t, channel);
    says(discord, "three", { guild_id: undefined });
    const message = await second.received();
    assert.deepEqual([message.text, message.id, (await second.received()).text], ["two", id, "three"]);
  });

  it("that were not accepted when the run was stopped come again in the next run", async (t) => {
    const discord = await startDiscord(t);
    const channel = await contribute(t, discord);
    let submitted = () => {};
    const isSubmitted = new Promise<void>((resolve) => (submitted = resolve));
    const first = await start(t, channel, {
      receive() {
        submitted();
        return refusal();
      },
    });
    says(discord, "refused", { guild_id: undefined });
    await soon(isSubmitted);
    assert.equal(await first.stop(), "returned");
    const second = await start(t, channel);
    assert.deepEqual(await texts(second, 1), ["refused"]);
    assert.deepEqual(
      discord.logins.map(({ op }) => op),
      [2, 6],
    );
  });

  it("that were written while the gateway was stopped come when it runs again, and roles and channels are known", async (t) => {
    const discord = await startDiscord(t);
    let channel: Channel | undefined;
    const again = async (more?: object) => {
      const next = await contributionOf(t, Channel, "discord", { plugin, config: discord.config(more) });
      channel = channel ? restarted(channel, next) : next;
      return start(t, channel);
    };
    const first = await again();
    const roles = [{ id: "14", tags: { bot_id: BOT.id } }];
    discord.dispatch("GUILD_CREATE", { id: GUILD, channels: [], threads: [], roles });
    says(discord, "before");
    await first.received();
    assert.equal(await first.stop(), "returned");
    says(discord, "<@&14> meanwhile", { channel_id: THREAD, mention_roles: ["14"] });
    const thread = { id: THREAD, type: 11, name: "thread", parent_id: CHANNEL };
    discord.replies(`GET /channels/${THREAD}`, { body: thread });
    discord.replies(`GET /channels/${CHANNEL}`, { body: { id: CHANNEL, type: 0, name: "general" } });
    const second = await again();
    const { text, mentioned, chat } = await second.received();
    assert.deepEqual([text, mentioned, chat.name, chat.parentId], ["meanwhile", true, "#general", CHANNEL]);
    await second.stop();
    await again({ messageContent: false });
    assert.deepEqual(
      discord.logins.map(({ op }) => op),
      [2, 6, 2],
    );
  });

  it("that are malformed are skipped", async (t) => {
    const { discord, account } = await scene(t);
    for (const text of ["no json", "[]", "{}", '{"op":99}']) discord.raw(text);
    for (const d of [null, {}, { channel_id: CHANNEL, author: 1 }, { id: "1", author: {} }]) {
      discord.dispatch("MESSAGE_CREATE", d);
      discord.dispatch("INTERACTION_CREATE", d);
      discord.dispatch("MESSAGE_REACTION_ADD", d);
      discord.dispatch("GUILD_CREATE", d);
    }
    says(discord, "fine");
    assert.deepEqual(await texts(account, 1), ["fine"]);
  });

  it("from an unknown thread wait until its parent is known", async (t) => {
    const { discord, account } = await scene(t);
    const path = `GET /channels/${THREAD}`;
    discord.replies(path, {
      status: 429,
      headers: { "retry-after": "0.1" },
      body: { message: "slow down", retry_after: 0.1 },
    });
    discord.replies(path, { body: { id: THREAD, type: 11, name: "thread", parent_id: CHANNEL } });
    says(discord, "in the thread", { channel_id: THREAD });
    says(discord, "in a hidden channel", { channel_id: "160000000000000009" });
    const chats = new Map([await account.received(), await account.received()].map(({ text, chat }) => [text, chat]));
    const names = { name: "#name-2", threadId: THREAD, parentId: CHANNEL };
    const thread = { type: "group", id: THREAD, ...names, guildId: GUILD };
    assert.deepEqual(chats.get("in the thread"), thread);
    assert.equal(chats.get("in a hidden channel")?.id, "160000000000000009");
  });

  it("have files, whose address is fetched when it is needed", async (t) => {
    const { discord, channel, account } = await scene(t);
    const file = { id: "5", filename: "a.png", content_type: "image/png", size: 3 };
    const { id } = says(discord, "", { attachments: [{ ...file, url: "http://old" }] });
    const ref = (await account.received()).media?.[0]?.ref ?? "";
    discord.replies(`GET /channels/${CHANNEL}/messages/${id}`, {
      body: { id, attachments: [{ ...file, url: "http://new" }] },
    });
    assert.deepEqual(await channel.media?.({ maxBytes: 1_000, ...account.call, ref }), { url: "http://new" });
    discord.replies(`GET /channels/${CHANNEL}/messages/${id}`, { body: { id, attachments: [] } });
    await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...account.call, ref }), { code: "NOT_FOUND" });
    await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...account.call, ref }), { code: "NOT_FOUND" });
    await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...account.call, ref: "../../x" }), {
      code: "INVALID_REQUEST",
    });
  });
});

describe("what people press, choose and vote", () => {
  const interaction = (discord: DiscordServer, more: object) =>
    discord.dispatch("INTERACTION_CREATE", {
      id: discord.newId(),
      token: "interaction-token",
      guild_id: GUILD,
      channel_id: CHANNEL,
      channel: { id: CHANNEL, type: 0, name: "general" },
      member: { user: ADA, roles: [] },
      ...more,
    });

  it("a button is acknowledged after its event was accepted", async (t) => {
    let answered = -1;
    const { discord, account } = await scene(t, {
      receive() {
        answered = discord.requests.filter(({ path }) => path.endsWith("/callback")).length;
        return { accepted: true, sessionKey: "" };
      },
    });
    const { id } = interaction(discord, { type: 3, message: { id: "99", components: [] }, data: { custom_id: "yes" } });
    const { body } = await discord.requested(/\/callback$/);
    const message = await account.received();
    assert.deepEqual(
      [message.id, message.event, body, answered],
      [id, { kind: "button", messageId: "99", value: "yes" }, { type: 6 }, 0],
    );
  });

  it("a command is answered to the person only, also if it is refused", async (t) => {
    const receipts = [
      { accepted: true, sessionKey: "" } as const,
      { accepted: false, reason: "not-allowed" } as const,
      { accepted: false, reason: "pairing" } as const,
    ];
    const { discord, account } = await scene(t, { receive: () => receipts.shift() ?? refusal() });
    const data = { name: "new", options: [{ name: "input", value: "now" }] };
    const first = interaction(discord, { type: 2, data });
    assert.deepEqual((await discord.requested(new RegExp(`${first.id}/interaction-token/callback`))).body, {
      type: 4,
      data: { content: "Working on it.", flags: 64 },
    });
    const second = interaction(discord, { type: 2, data });
    assert.deepEqual((await discord.requested(new RegExp(`${second.id}/`))).body, {
      type: 4,
      data: { content: "The agent does not accept commands from you here.", flags: 64 },
    });
    const third = interaction(discord, { type: 2, data });
    const { body } = await discord.requested(new RegExp(`${third.id}/`));
    assert.match(JSON.stringify(body), /does not know you yet/);
    assert.deepEqual([(await account.received()).text, (await account.received()).mentioned], ["/new now", true]);
  });

  it("the menu is registered in each run, also if it resumes", async (t) => {
    const commands = [{ name: "new", description: "Start anew" }];
    const { discord, channel, account } = await scene(t, { commands });
    const { path, body } = await discord.requested(/^PUT .*\/commands$/);
    await account.stop();
    discord.requests.length = 0;
    await start(t, channel, { commands });
    await discord.requested(/^PUT .*\/commands$/);
    assert.deepEqual(
      discord.logins.map(({ op }) => op),
      [2, 6],
    );
    const options = [{ type: 3, name: "input", description: "Text after the command", required: false }];
    assert.deepEqual(
      [path, body],
      [`/applications/${APPLICATION}/commands`, [{ type: 1, name: "new", description: "Start anew", options }]],
    );
  });

  it("a vote has the texts of the options, also for a poll from before the start", async (t) => {
    const { discord, account } = await scene(t);
    const poll = { question: "?", options: ["tea", "milk"], maxSelections: 1 };
    const { pollId = "", messageId } = await account.send({ to: CHANNEL, poll });
    assert.equal(pollId, messageId);
    const vote = { user_id: ADA.id, channel_id: CHANNEL, guild_id: GUILD, answer_id: 2 };
    discord.dispatch("MESSAGE_POLL_VOTE_ADD", { ...vote, message_id: pollId });
    assert.deepEqual((await account.received()).event, { kind: "poll-answer", pollId, options: ["milk"] });
    const old = { id: "98", author: BOT, poll: { answers: [{ answer_id: 2, poll_media: { text: "beer" } }] } };
    discord.replies(`GET /channels/${CHANNEL}/messages/98`, { body: old });
    discord.replies(`GET /channels/${CHANNEL}/messages/97`, { body: { ...old, id: "97", author: ADA } });
    for (const id of ["97", "98"]) discord.dispatch("MESSAGE_POLL_VOTE_ADD", { ...vote, message_id: id });
    assert.deepEqual((await account.received()).event, { kind: "poll-answer", pollId: "98", options: ["beer"] });
  });
});

describe("messages that go out", () => {
  it("carry files, replies, buttons and threads; a direct chat is opened once", async (t) => {
    const { discord, account } = await scene(t);
    const media = {
      kind: "image",
      name: 'ü "x".png',
      mimeType: "image/png",
      bytes: new Uint8Array([1, 2, 3]),
    } as const;
    await account.send({
      to: CHANNEL,
      threadId: THREAD,
      text: "look",
      media,
      replyTo: "98",
      buttons: [[{ label: "Yes", value: "y", style: "primary" }]],
    });
    const { path, body, files } = await discord.requested(/^POST .*\/messages$/);
    assert.equal(path, `/channels/${THREAD}/messages`);
    assert.deepEqual(
      [body["content"], body["message_reference"], body["allowed_mentions"], body["enforce_nonce"]],
      ["look", { message_id: "98", fail_if_not_exists: false }, { parse: ["users"] }, true],
    );
    assert.deepEqual(body["components"], [
      { type: 1, components: [{ type: 2, style: 1, label: "Yes", custom_id: "y" }] },
    ]);
    assert.deepEqual([files[0]?.type, files[0]?.bytes], ["image/png", media.bytes]);
    await account.send({ to: `user:${ADA.id}`, text: "one" });
    await account.send({ to: `user:${ADA.id}`, text: "two" });
    const direct = discord.requests.filter(
      ({ path }) => path.includes("@me/channels") || path === `/channels/19${ADA.id.slice(2)}/messages`,
    );
    assert.deepEqual(
      direct.map(({ body }) => body["recipient_id"] ?? body["content"]),
      [ADA.id, "one", "two"],
    );
  });

  it("can be edited, reacted to and announced", async (t) => {
    const { discord, channel, account } = await scene(t);
    const place = { ...account.call, to: CHANNEL };
    await channel.edit?.({ ...place, messageId: "98", text: "new" });
    await channel.react?.({ ...place, messageId: "98", emoji: "👍" });
    await channel.react?.({ ...place, messageId: "98", emoji: "👍", remove: true });
    await channel.typing?.(place);
    const path = `/channels/${CHANNEL}`;
    const own = `${path}/messages/98/reactions/${encodeURIComponent("👍")}/@me`;
    assert.deepEqual(
      discord.requests.slice(-4).map((request) => [request.method, request.path]),
      [
        ["PATCH", `${path}/messages/98`],
        ["PUT", own],
        ["DELETE", own],
        ["POST", `${path}/typing`],
      ],
    );
    assert.deepEqual(discord.requests.at(-4)?.body, {
      content: "new",
      allowed_mentions: { parse: ["users"] },
      components: [],
    });
  });

  const failures: [status: number, body: object, code: string, message: RegExp][] = [
    [
      403,
      { code: 50_013, message: "Missing Permissions" },
      "INVALID_REQUEST",
      /Missing Permissions \(50013\); give the role/,
    ],
    [403, { code: 50_007, message: "Cannot send messages to this user" }, "INVALID_REQUEST", /allow direct messages/],
    [404, { code: 10_003, message: "Unknown Channel" }, "INVALID_REQUEST", /Unknown Channel \(10003\); check the id/],
    [
      400,
      {
        code: 50_035,
        message: "Invalid Form Body",
        errors: { content: { _errors: [{ code: "X", message: "too long" }] } },
      },
      "INVALID_REQUEST",
      /too long/,
    ],
    [500, {}, "UNAVAILABLE", /status 500/],
    [401, { code: 0, message: "401: Unauthorized" }, "NOT_LINKED", /svc channels add discord/],
  ];
  it("fail in a way that tells whether a retry may succeed", async (t) => {
    const { discord, channel, account } = await scene(t);
    for (const [status, body, code, message] of failures) {
      discord.replies(`POST /channels/${CHANNEL}/messages`, { status, body });
      await assert.rejects(account.send({ to: CHANNEL, text: "x" }), { name: "GatewayError", code, message });
    }
    await account.send({ to: CHANNEL, text: "fine" });
    const gone = { status: 404, body: { code: 10_008, message: "Unknown Message" } };
    discord.replies(`PATCH /channels/${CHANNEL}/messages/98`, gone);
    await assert.rejects(async () => channel.edit?.({ ...account.call, to: CHANNEL, messageId: "98", text: "x" }), {
      code: "NOT_FOUND",
    });
    const settings = { ...Object(account.call.settings), apiUrl: "http://127.0.0.1:1/api" };
    await assert.rejects(account.send({ to: CHANNEL, text: "x", settings }), {
      code: "UNAVAILABLE",
      message: /cannot be reached/,
    });
  });

  it("wait for no rate limit", async (t) => {
    const { discord, account } = await scene(t);
    const headers = { "retry-after": "7", "x-ratelimit-scope": "shared" };
    discord.replies(`POST /channels/${CHANNEL}/messages`, {
      status: 429,
      headers,
      body: { message: "slow down", retry_after: 7 },
    });
    await assert.rejects(account.send({ to: CHANNEL, text: "x" }), { code: "UNAVAILABLE", retryAfterMs: 7_000 });
    const exhausted = {
      "x-ratelimit-limit": "5",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset-after": "1",
      "x-ratelimit-bucket": "b",
    };
    for (const text of ["the first one, which names the limit", "the last one"]) {
      discord.replies(`POST /channels/${OTHER}/messages`, { headers: exhausted, body: { id: "1" } });
      await account.send({ to: OTHER, text });
    }
    await assert.rejects(
      account.send({ to: OTHER, text: "x" }),
      ({ code, retryAfterMs }) => code === "UNAVAILABLE" && retryAfterMs > 0 && retryAfterMs <= 1_000,
    );
  });
});

describe("a connection", () => {
  for (const [closesWith, detail] of [
    [4014, /MESSAGE_CONTENT.*applications.*Bot > Privileged Gateway Intents/],
    [4004, /refused the token/],
  ] as const)
    it(`that is closed with ${closesWith} needs a login`, async (t) => {
      const discord = await startDiscord(t, { closesWith });
      const account = await start(t, await contribute(t, discord), { until: "connecting" });
      const { code, message } = Object(await account.outcome()) as GatewayError;
      assert.equal(code, "NOT_LINKED");
      assert.match(message, detail);
    });

  it("with an expired token needs a login, and shows no token", async (t) => {
    const discord = await startDiscord(t);
    const account = await start(t, await contribute(t, discord, { token: "expired-token" }), { until: "connecting" });
    const { code, message } = Object(await account.outcome()) as GatewayError;
    assert.equal(code, "NOT_LINKED");
    assert.match(message, /refused the token/);
    assert.doesNotMatch(message, /expired-token/);
  });

  it("that cannot be established ends the run", async (t) => {
    const discord = await startDiscord(t);
    const channel = await contribute(t, discord);
    for (const [url, reason] of [
      ["http://127.0.0.1:1", /invalid address/],
      ["ws://127.0.0.1:1", /closed the connection \(1006\)/],
    ] as const) {
      discord.replies("GET /gateway/bot", { body: { url, shards: 1, session_start_limit: { remaining: 1 } } });
      const account = await start(t, channel, { until: "connecting" });
      assert.match(String(await account.outcome()), reason);
    }
  });

  it("asks for the text of messages only if the settings say so", async (t) => {
    const discord = await startDiscord(t);
    for (const messageContent of [true, false])
      await (await start(t, await contribute(t, discord, { messageContent }))).stop();
    assert.deepEqual(
      discord.logins.map(({ d }) => (Number(d["intents"]) & (1 << 15)) !== 0),
      [true, false],
    );
  });

  it("that falls silent is renewed, and then has what was missed", async (t) => {
    const { discord, account } = await scene(t);
    const aliveBefore = account.alive();
    discord.mute(true);
    says(discord, "missed");
    await account.reported("disconnected");
    discord.mute(false);
    await account.reported("connected");
    assert.deepEqual(await texts(account, 1), ["missed"]);
    assert.ok(account.alive() > aliveBefore);
  });

  it("ends within a second, also if Discord is silent or does not answer", async (t) => {
    const silent = await scene(t);
    silent.discord.mute(true);
    const mute = await startDiscord(t, { hello: false });
    const waiting = await start(t, await contribute(t, mute), { until: "connecting" });
    await mute.requested(/gateway\/bot/);
    const since = performance.now();
    await Promise.all([silent.account.stop(), waiting.stop()]);
    assert.ok(performance.now() - since < 1_000);
  });
});

describe("a session that Discord does not resume", () => {
  it("no longer counts what the next one has to repeat", () => {
    const never = new Promise<never>(() => {});
    const context = {
      api: {} as API,
      memory: emptyMemory(),
      clock: { setTimeout: () => () => {} },
      signal: AbortSignal.timeout(5_000),
    }; // no request is made
    const inbox = createInbox(
      { receive: () => never },
      { ...context, log: { debug() {}, info() {}, warn() {}, error() {} } },
    );
    inbox.take({ t: "MESSAGE_CREATE", d: { channel_id: CHANNEL }, s: 9 });
    assert.deepEqual([inbox.processed(9), inbox.processed(12)], [8, 8]);
    inbox.take({ t: "READY", d: {}, s: 1 });
    assert.equal(inbox.processed(1), 1);
  });

  for (const code of [undefined, 4000])
    it(`is replaced by a new one: ${code ?? "invalid session"}`, async (t) => {
      const discord = await startDiscord(t);
      const channel = await contribute(t, discord);
      const first = await start(t, channel);
      discord.cut(4013);
      await first.outcome();
      discord.forget(code);
      const second = await start(t, channel);
      says(discord, "after", { guild_id: undefined });
      assert.deepEqual(await texts(second, 1), ["after"]);
      assert.deepEqual(
        discord.logins.map(({ op }) => op),
        [2, 6, 2],
      );
    });
});

describe("a login", () => {
  it("asks for the token, and names the bot", async (t) => {
    const discord = await startDiscord(t);
    const channel = await contribute(t, discord);
    const call = { accountId: "default", signal: AbortSignal.timeout(5_000), state: undefined };
    const form = await channel.login?.start(call);
    assert.deepEqual(form?.kind === "form" && form.fields.map(({ key, secret }) => [key, secret]), [["token", true]]);
    const done = await channel.login?.next({ ...call, answers: { token: ` Bot ${TOKEN} ` } });
    assert.deepEqual(done?.kind === "done" && done.config, { token: TOKEN });
    assert.match(done?.message ?? "", new RegExp(`svc-bot.*client_id=${APPLICATION}`));
    const next = (token: string) => channel.login?.next({ ...call, answers: { token } }) ?? Promise.resolve();
    await assert.rejects(next("wrong"), { code: "INVALID_REQUEST", message: /Reset Token/ });
    await assert.rejects(next(""), { code: "INVALID_REQUEST" });
    const another = { ...call, accountId: "new", answers: { token: TOKEN } };
    assert.equal((await channel.login?.next(another))?.kind, "done", "a new account uses the address of the section");
    discord.replies("GET /oauth2/applications/@me", { status: 503 });
    await assert.rejects(next(TOKEN), { code: "UNAVAILABLE" });
  });

  it("is checked by the probe, which names a missing intent", async (t) => {
    const { discord, channel, account } = await scene(t);
    const inviteUrl = `https://discord.com/oauth2/authorize?client_id=${APPLICATION}&scope=bot+applications.commands&permissions=563224831446080`;
    const facts = { ok: true, bot: { id: BOT.id, name: BOT.username }, inviteUrl };
    assert.deepEqual(await channel.probe?.(account.call), facts);
    discord.replies("GET /oauth2/applications/@me", { body: { id: APPLICATION, name: "app", flags: 0 } });
    const { hint } = Object(await channel.probe?.(account.call)) as { hint: string };
    assert.match(hint, new RegExp(`Message Content Intent.*applications/${APPLICATION}/bot`));
  });
});
