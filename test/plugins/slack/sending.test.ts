/** What the plugin sends through Slack's Web API client to a local Slack, and its errors. No account runs. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Channel } from "@svc/sdk/channels";
import { ANN, ROOM, slackChannel, TOKENS } from "./scene.ts";
import { startSlack } from "./server.ts";

async function scene(t: TestContext, config: object = {}) {
  const slack = await startSlack(t);
  const { channel } = await slackChannel(t, { ...TOKENS, apiUrl: slack.apiUrl, ...config });
  const account = channel.accounts[0] ?? assert.fail();
  const call = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };
  type Message = Partial<Parameters<Channel["send"]>[0]>;
  const send = (text: string, more: Message = {}) =>
    channel.send({ ...call, id: "0".repeat(32), to: ROOM, text, ...more });
  const edit = (text: string, more: Message = {}) =>
    channel.edit?.({ ...call, to: ROOM, messageId: "1700000000.000100", text, ...more });
  const react = (emoji: string, more: object = {}) =>
    channel.react?.({ ...call, to: ROOM, messageId: "1700000000.000100", emoji, ...more });
  return { slack, channel, call, send, edit, react };
}

const refusal = (error: string, more: object = {}) => ({ body: { ok: false, error, ...more } });
const button = { label: "Go", value: "go" };

describe("sending to Slack", { timeout: 30_000 }, () => {
  it("posts a text as it is, in a thread, and returns its id", async (t) => {
    const { slack, send } = await scene(t);
    const text = "*bold* &lt;!channel&gt; @here <https://a.example|page>";
    assert.deepEqual(await send(text, { threadId: "1600000000.000100" }), { messageId: "1700000000.000900" });
    const [call] = slack.callsOf("chat.postMessage");
    assert.deepEqual(call, {
      method: "chat.postMessage",
      args: { channel: ROOM, text, parse: "none", link_names: "false", thread_ts: "1600000000.000100" },
      token: TOKENS.botToken,
    });
  });

  it("opens the direct chat of a person once", async (t) => {
    const { slack, send, react } = await scene(t);
    await send("one", { to: ANN });
    await send("two", { to: ANN });
    await react("👍", { to: ANN });
    assert.deepEqual(
      slack.callsOf("chat.postMessage").map(({ args }) => args["channel"]),
      ["D0000000ANN", "D0000000ANN"],
    );
    assert.equal(slack.callsOf("reactions.add")[0]?.args["channel"], "D0000000ANN");
    assert.equal(slack.callsOf("conversations.open").length, 1);
  });

  it("uploads a file into a thread", async (t) => {
    const { slack, send } = await scene(t);
    const media = { kind: "image", bytes: Buffer.from("PNG-BYTES"), name: "a.png", mimeType: "image/png" } as const;
    await send("", { media, threadId: "1600000000.000100" });
    assert.deepEqual(slack.callsOf("files.getUploadURLExternal")[0]?.args, { filename: "a.png", length: "9" });
    assert.match(slack.uploads[0] ?? "", /PNG-BYTES/);
    const done = slack.callsOf("files.completeUploadExternal")[0]?.args;
    assert.deepEqual([done?.["channel_id"], done?.["thread_ts"]], [ROOM, "1600000000.000100"]);
  });

  it("posts the buttons of a file below it", async (t) => {
    const { slack, send } = await scene(t);
    const media = { kind: "file", bytes: Buffer.from("1"), name: "a.txt", mimeType: "text/plain" } as const;
    assert.deepEqual(await send("", { media, buttons: [[button]] }), { messageId: "1700000000.000900" });
    assert.equal(slack.uploads.length, 1);
    assert.match(slack.callsOf("chat.postMessage")[0]?.args["blocks"] ?? "", /"value":"go"/);
  });

  it("posts buttons, and removes them with an edit", async (t) => {
    const { slack, send, edit } = await scene(t);
    await send("choose", { buttons: [[button]] });
    const blocks = JSON.parse(slack.callsOf("chat.postMessage")[0]?.args["blocks"] ?? "[]") as { type: string }[]; // sent by the plugin
    assert.deepEqual(
      blocks.map(({ type }) => type),
      ["section", "actions"],
    );
    await edit("chosen");
    await edit("again", { buttons: [[button]] });
    const [chosen, again] = slack.callsOf("chat.update").map(({ args }) => args);
    assert.deepEqual(chosen, {
      channel: ROOM,
      ts: "1700000000.000100",
      text: "chosen",
      parse: "none",
      link_names: "false",
      blocks: "[]",
    });
    assert.match(again?.["blocks"] ?? "", /"value":"go"/);
  });

  it("adds and removes reactions, also if that is done already", async (t) => {
    const { slack, react } = await scene(t);
    slack.plan("reactions.add", refusal("already_reacted"));
    slack.plan("reactions.remove", refusal("no_reaction"));
    await react("❤️");
    await react("👍🏽", { remove: true });
    assert.deepEqual(slack.callsOf("reactions.add")[0]?.args, {
      channel: ROOM,
      timestamp: "1700000000.000100",
      name: "heart",
    });
    assert.equal(slack.callsOf("reactions.remove")[0]?.args["name"], "+1::skin-tone-4");
    await assert.rejects(async () => react("🦑"), { code: "INVALID_REQUEST", message: /🦑/ });
    slack.plan("reactions.add", refusal("message_not_found"));
    await assert.rejects(async () => react("👍"), { code: "NOT_FOUND" });
  });

  const failures: [
    why: string,
    answer: Parameters<Awaited<ReturnType<typeof startSlack>>["plan"]>[1],
    expected: object,
  ][] = [
    [
      "too many requests",
      { status: 429, headers: { "retry-after": "30" } },
      { code: "UNAVAILABLE", retryAfterMs: 30_000 },
    ],
    ["too many requests, without a time", { status: 429 }, { code: "UNAVAILABLE" }],
    ["too many requests, in the body", refusal("ratelimited"), { code: "UNAVAILABLE" }],
    ["a broken server", { status: 503, body: "down" }, { code: "UNAVAILABLE", message: /HTTP 503/ }],
    ["a page instead of JSON", { body: "<html>xoxb-secret-1</html>" }, { code: "UNAVAILABLE", message: /no JSON/ }],
    ["an internal error", refusal("internal_error"), { code: "UNAVAILABLE" }],
    ["a revoked token", refusal("token_revoked"), { code: "NOT_LINKED", message: /svc channels login/ }],
    ["a wrong address", { status: 404, body: "" }, { code: "INVALID_REQUEST", message: /HTTP 404/ }],
    [
      "a channel without the bot",
      refusal("not_in_channel"),
      { code: "INVALID_REQUEST", message: /not_in_channel; invite/ },
    ],
    [
      "a missing scope",
      refusal("missing_scope", { needed: "chat:write" }),
      { code: "INVALID_REQUEST", message: /chat:write/ },
    ],
    ["a message that is too long", refusal("msg_too_long"), { code: "INVALID_REQUEST", message: /msg_too_long/ }],
  ];
  for (const [why, answer, expected] of failures)
    it(`fails once for ${why}`, async (t) => {
      const { slack, send } = await scene(t);
      slack.plan("chat.postMessage", answer);
      await assert.rejects(send("hello"), (error: Error) => {
        for (const token of Object.values(TOKENS)) assert.ok(!`${error.stack}`.includes(token));
        assert.throws(() => {
          throw error;
        }, expected);
        return true;
      });
      assert.equal(slack.callsOf("chat.postMessage").length, 1);
    });

  it("fails for edits of messages that are gone or too old", async (t) => {
    const { slack, edit } = await scene(t);
    for (const code of ["message_not_found", "cant_update_message", "edit_window_closed"]) {
      slack.plan("chat.update", refusal(code));
      await assert.rejects(async () => edit("x"), { code: "NOT_FOUND", message: new RegExp(code) });
    }
  });

  it("fails for a network that cannot be reached, and when it is cancelled", async (t) => {
    const { slack, call, channel, send } = await scene(t);
    const settings = { ...Object(call.settings), apiUrl: "http://127.0.0.1:1/api/" };
    await assert.rejects(send("x", { settings }), { code: "UNAVAILABLE", message: /no connection/ });
    const controller = new AbortController();
    slack.plan("chat.postMessage", { hangs: true });
    const sending = channel.send({ ...call, signal: controller.signal, id: "1", to: ROOM, text: "x" });
    await slack.until(() => slack.callsOf("chat.postMessage").length > 0);
    controller.abort();
    await assert.rejects(sending);
  });
});

describe("files of Slack", () => {
  it("have an address with the token, on the hosts of Slack only", async (t) => {
    const { slack, channel, call } = await scene(t);
    assert.deepEqual(await channel.media?.({ maxBytes: 1_000, ...call, ref: "F9" }), {
      url: `${slack.address}/files/F9/download`,
      headers: { authorization: "Bearer xoxb-secret-1" },
    });
    for (const url of ["http://evil.example/x", "https://127.0.0.1/x", "no address"]) {
      slack.plan("files.info", { body: { ok: true, file: { id: "F9", url_private_download: url } } });
      await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...call, ref: "F9" }), { code: "NOT_FOUND" });
    }
    slack.plan("files.info", refusal("file_not_found"));
    await assert.rejects(async () => channel.media?.({ maxBytes: 1_000, ...call, ref: "F9" }), { code: "NOT_FOUND" });
  });
});

describe("login to Slack", () => {
  async function login(t: TestContext) {
    const all = await scene(t, { botToken: undefined, appToken: undefined });
    const { login: steps } = all.channel;
    assert.ok(steps);
    const { accountId, signal } = all.call;
    return {
      ...all,
      start: () => steps.start({ accountId, signal }),
      next: (answers: Record<string, string>) => steps.next({ accountId, signal, state: undefined, answers }),
    };
  }

  it("checks the tokens and returns what was entered", async (t) => {
    const { slack, start, next } = await login(t);
    const form = await start();
    assert.equal(form.kind, "form");
    assert.ok(form.kind === "form" && form.fields.every(({ help, secret }) => help && secret));
    assert.deepEqual(await next({ botToken: " xoxb-new ", appToken: "xapp-new", signingSecret: "" }), {
      kind: "done",
      message: "Logged in as svc in Acme.",
      config: { botToken: "xoxb-new", appToken: "xapp-new", mode: "socket" },
    });
    assert.deepEqual(
      slack.callsOf("auth.test").map(({ token }) => token),
      ["xoxb-new"],
    );
    assert.deepEqual(
      slack.callsOf("apps.connections.open").map(({ token }) => token),
      ["xapp-new"],
    );
    const http = await next({ botToken: "xoxb-new", signingSecret: "s3cret" });
    assert.deepEqual(http.kind === "done" && http.config, {
      botToken: "xoxb-new",
      signingSecret: "s3cret",
      mode: "http",
    });
  });

  it("of a new account uses the address of the section", async (t) => {
    const { slack, channel, call } = await login(t);
    const answers = { botToken: "xoxb-new", signingSecret: "s3cret" };
    await channel.login?.next({ accountId: "work", signal: call.signal, state: undefined, answers });
    assert.equal(slack.callsOf("auth.test").length, 1);
  });

  it("refuses wrong values with where to look", async (t) => {
    const { slack, next } = await login(t);
    const both = { botToken: "xoxb-new", appToken: "xapp-new" };
    await assert.rejects(next({ ...both, botToken: "xapp-x" }), {
      code: "INVALID_REQUEST",
      message: /OAuth & Permissions/,
    });
    await assert.rejects(next({ ...both, botToken: "xoxe.xoxb-x" }), {
      code: "INVALID_REQUEST",
      message: /token rotation/,
    });
    await assert.rejects(next({ ...both, appToken: "xoxb-x" }), {
      code: "INVALID_REQUEST",
      message: /App-Level Tokens/,
    });
    await assert.rejects(next({ botToken: "xoxb-new" }), { code: "INVALID_REQUEST", message: /signing secret/ });
    slack.plan("auth.test", refusal("invalid_auth"));
    await assert.rejects(next(both), { code: "INVALID_REQUEST", message: /invalid_auth.*OAuth & Permissions/ });
    slack.plan("apps.connections.open", refusal("missing_scope", { needed: "connections:write" }));
    await assert.rejects(next(both), { code: "INVALID_REQUEST", message: /App-Level Tokens/ });
    slack.plan("auth.test", { body: { ok: true, user_id: ANN, user: "ann", team: "Acme" } });
    await assert.rejects(next(both), { code: "INVALID_REQUEST", message: /person/ });
    slack.plan("auth.test", { status: 503 });
    await assert.rejects(next(both), { code: "UNAVAILABLE" });
  });
});

it("probe names the bot and the scopes that it lacks", async (t) => {
  const { slack, channel, call } = await scene(t);
  const known = {
    ok: true,
    bot: { id: "U000000BOT", name: "svc" },
    team: { id: "T00000001", name: "Acme" },
    mode: "socket",
  };
  assert.deepEqual(await channel.probe?.(call), known);
  slack.plan("auth.test", {
    headers: { "x-oauth-scopes": "chat:write,commands,im:history" },
  });
  const { hint, ...rest } = Object(await channel.probe?.(call)) as { hint?: string }; // plain data
  assert.deepEqual(rest, known);
  assert.match(hint ?? "", /files:write.*users:read/);
  assert.doesNotMatch(hint ?? "", /chat:write/);
  slack.plan("auth.test", refusal("account_inactive"));
  await assert.rejects(async () => channel.probe?.(call), /account_inactive/);
});
