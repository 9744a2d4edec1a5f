/** The plugin through Slack's own libraries against a local Slack: Socket Mode. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { unavailable } from "@svc/sdk";
import { channelContract } from "@svc/sdk/testing";
import { ANN, DIRECT, inRoom, mention, ROOM, said, slackChannel, startAccount, TOKENS } from "./scene.ts";
import { BOT, type SlackServer, startSlack, TEAM } from "./server.ts";

async function scene(t: TestContext, config: object = {}) {
  const slack = await startSlack(t);
  const { channel } = await slackChannel(t, { ...TOKENS, apiUrl: slack.apiUrl, ...config });
  return { slack, channel };
}
type Receive = Parameters<typeof startAccount>[2];

async function connected(t: TestContext, receive?: Receive, config: object = {}) {
  const { slack, channel } = await scene(t, config);
  const run = startAccount(t, channel, receive);
  await run.connected();
  return { slack, channel, run };
}
/** A promise that the test resolves. */
function gate() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
}
const taken = { accepted: true, sessionKey: "agent:main:main" } as const;
const refusal = (error: string) => ({ body: { ok: false, error } });

describe("Slack over Socket Mode", { timeout: 30_000 }, () => {
  it("meets the contract of a channel", async (t) => {
    const { slack, channel } = await scene(t);
    let last: object = {};
    await channelContract(t, {
      channel,
      targets: ["C0000000001", "<#C0000000001|team>", "channel:C0000000001", "<@U0000000ANN>", "user:U0000000ANN"],
      garbage: ["#team", "@ann", "C123", "c0000000001", "general", "channel:U0000000ANN"],
      network: {
        says: (text) => void slack.deliver("events_api", (last = said(text))),
        heard: () => slack.callsOf("chat.postMessage").map(({ args }) => args["text"] ?? ""),
        repeats: () => void slack.deliver("events_api", last),
        cuts: () => slack.cut(),
        evidence: {
          edits: () => slack.callsOf("chat.update").map(({ args }) => args["text"] ?? ""),
          reactions: () => slack.callsOf("reactions.add").map(({ args }) => args["name"] ?? ""),
          media: () => slack.callsOf("files.getUploadURLExternal").map(({ args }) => args["filename"] ?? ""),
          buttons: () => slack.callsOf("chat.postMessage").map(({ args }) => args["blocks"] ?? ""),
          threads: () => slack.callsOf("chat.postMessage").map(({ args }) => args["thread_ts"] ?? ""),
          threadId: "1700000000.000001",
        },
      },
    });
    assert.equal(slack.unacknowledged(), 0);
  });

  it("is listed without configuration, and costs nothing", async (t) => {
    const { channel } = await slackChannel(t, {});
    const [account, ...more] = channel.accounts;
    assert.deepEqual([account?.id, account?.configured, more.length], ["default", false, 0]);
  });

  it("runs several workspaces", async (t) => {
    const slack = await startSlack(t);
    const accounts = { one: TOKENS, two: { botToken: "xoxb-two", appToken: "xapp-two" } };
    const { channel } = await slackChannel(t, { apiUrl: slack.apiUrl, accounts });
    assert.deepEqual(
      channel.accounts.map(({ id }) => id),
      ["one", "two"],
    );
    await startAccount(t, channel, undefined, "two").connected();
    assert.deepEqual(
      slack.callsOf("auth.test").map(({ token }) => token),
      ["xoxb-two"],
    );
    assert.deepEqual(
      slack.callsOf("apps.connections.open").map(({ token }) => token),
      ["xapp-two"],
    );
  });

  it("acknowledges a message when it is on disk", async (t) => {
    const disk = gate();
    const { slack, run } = await connected(t, async () => (await disk.promise, taken));
    const acknowledged = slack.deliver("events_api", said("hello"));
    await slack.until(() => slack.callsOf("users.info").length > 0);
    assert.equal(slack.unacknowledged(), 1);
    disk.resolve();
    await acknowledged;
    assert.deepEqual(run.messages[0]?.sender, { id: ANN, name: `Name of ${ANN}` });
  });

  it("submits a message again that was not accepted, before the next one of the conversation", async (t) => {
    const submitted: string[] = [];
    const { slack } = await connected(t, ({ text }) => {
      submitted.push(text);
      if (submitted.length === 1) throw new Error("the disk is full");
      return submitted.length === 3 ? unavailable("too many messages are waiting") : taken;
    });
    await Promise.all(["first", "second"].map((text) => slack.deliver("events_api", inRoom(text))));
    assert.deepEqual(submitted, ["first", "first", "second", "second"]);
  });

  it("submits a delivery that Slack repeats meanwhile once, and later with the same id", async (t) => {
    const disk = gate();
    const { slack, run } = await connected(t, async () => (await disk.promise, taken));
    const body = said("once");
    const both = [slack.deliver("events_api", body), slack.deliver("events_api", body)];
    disk.resolve();
    await Promise.all(both);
    assert.equal(run.messages.length, 1);
    await slack.deliver("events_api", body);
    assert.deepEqual(
      run.messages.map(({ id }) => id),
      [run.messages[0]?.id, run.messages[0]?.id],
    );
  });

  it("keeps the order of 50 messages, also if names must be looked up", async (t) => {
    const { slack, run } = await connected(t);
    const texts = Array.from({ length: 50 }, (_, n) => (n % 5 === 0 ? `${n} <@U00000000${10 + n}>` : `${n}`));
    await Promise.all(texts.map((text) => slack.deliver("events_api", inRoom(text))));
    assert.deepEqual(
      run.messages.map(({ text }) => Number.parseInt(text, 10)),
      texts.map((_, n) => n),
    );
    assert.equal(run.messages[5]?.text, "5 @Name of U0000000015");
  });

  it("loses nothing if the connection is lost before the acknowledgement", async (t) => {
    const disk = gate();
    const { slack, run } = await connected(t, async () => (await disk.promise, taken));
    const acknowledged = slack.deliver("events_api", said("in the middle"));
    await slack.until(() => slack.callsOf("users.info").length > 0);
    slack.cut();
    await run.until(() => run.states().includes("disconnected"));
    disk.resolve();
    await run.connected();
    await acknowledged;
    assert.ok(run.messages.length > 0 && new Set(run.messages.map(({ id }) => id)).size === 1);
    assert.deepEqual(run.states(), ["connecting", "connected", "disconnected", "connected"]);
  });

  it("connects again when Slack asks for it", async (t) => {
    const { slack, run } = await connected(t);
    slack.sendRaw(JSON.stringify({ type: "disconnect", reason: "refresh_requested" }));
    await run.until(() => run.states().filter((state) => state === "connected").length === 2);
    await slack.deliver("events_api", said("after the refresh"));
    assert.equal(run.messages[0]?.text, "after the refresh");
  });

  it("reports a connection that is silent, and stops at once all the same", async (t) => {
    const { slack, run } = await connected(t, undefined, { pingTimeoutMs: 90 });
    const before = run.lives();
    await run.until(() => run.lives() > before + 1); // answers to pings
    slack.deafen();
    await run.until(() => run.states().includes("disconnected"));
    const from = performance.now();
    await run.stop();
    assert.ok(performance.now() - from < 1_000);
  });

  it("stops within a second if Slack is silent, and while it is connecting", async (t) => {
    const { slack, channel, run } = await connected(t);
    slack.deafen();
    const from = performance.now();
    await run.stop();
    for (const method of ["auth.test", "apps.connections.open"]) {
      const calls = slack.callsOf(method).length;
      slack.plan(method, { hangs: true });
      const next = startAccount(t, channel);
      await slack.until(() => slack.callsOf(method).length > calls);
      await next.stop();
    }
    assert.ok(performance.now() - from < 1_500);
  });

  const dead: [why: string, prepare: (slack: SlackServer) => void][] = [
    ["the bot token is revoked", (slack) => slack.plan("auth.test", refusal("token_revoked"))],
    ["the account is inactive", (slack) => slack.plan("auth.test", refusal("account_inactive"))],
    ["the app token is invalid", (slack) => slack.plan("apps.connections.open", refusal("invalid_auth"))],
    [
      "the bot token is revoked later",
      (slack) => (slack.plan("auth.test", {}), slack.plan("auth.test", refusal("token_revoked"))),
    ],
  ];
  for (const [why, prepare] of dead)
    it(`needs a login if ${why}`, async (t) => {
      const { slack, channel } = await scene(t, { checkMs: 20 });
      prepare(slack);
      await assert.rejects(startAccount(t, channel).ended, { code: "NOT_LINKED", message: /svc channels login slack/ });
    });

  it("ends with the time that Slack names if it may not connect yet", async (t) => {
    const { slack, channel } = await scene(t);
    slack.plan("apps.connections.open", { status: 429, headers: { "retry-after": "7" } });
    await assert.rejects(startAccount(t, channel).ended, { code: "UNAVAILABLE", retryAfterMs: 7_000 });
  });

  it("skips what it does not understand", async (t) => {
    const { slack, run } = await connected(t);
    for (const raw of ["null", "no json", "{}", '{"type":"events_api","envelope_id":"e","payload":{}}'])
      slack.sendRaw(raw);
    await slack.deliver("events_api", said("bad", { ts: 5 }));
    await slack.deliver("unknown_kind", {});
    await slack.deliver("events_api", said("good"));
    assert.deepEqual(
      run.messages.map(({ text }) => text),
      ["good"],
    );
  });

  it("fetches what was written while it was away, in known conversations and threads", async (t) => {
    const { slack, channel, run } = await connected(t);
    const ts = (seconds: number) => (Date.now() / 1_000 - 100 + seconds).toFixed(6);
    const [first, thread] = [ts(0), ts(-50)];
    await slack.deliver("events_api", said("before", { ts: first }));
    await slack.deliver("events_api", inRoom("in a thread", { ts: first, thread_ts: thread }));
    await run.stop();
    const written = (text: string, more: object) => ({ type: "message", user: ANN, text, ...more });
    const answer = (messages: object[], more: object = {}) => ({ body: { ok: true, messages, ...more } });
    const own = { type: "message", user: BOT, bot_id: "B1", text: "an answer", ts: ts(3) };
    slack.plan("conversations.replies", { status: 429, headers: { "retry-after": "0" } });
    slack.plan(
      "conversations.replies",
      answer([written("the question", { ts: thread }), written("reply", { ts: ts(1), thread_ts: thread })]),
    );
    slack.plan("conversations.history", answer([own, written("two", { ts: ts(2) }), written("one", { ts: ts(1) })]));
    const next = startAccount(t, channel);
    await next.received(3);
    await slack.deliver("events_api", said("after", { ts: ts(4) }));
    assert.deepEqual(
      next.messages.map(({ text, chat }) => [chat.id, chat.threadId, chat.teamId, text]),
      [
        [ROOM, thread, TEAM, "reply"],
        [DIRECT, undefined, TEAM, "one"],
        [DIRECT, undefined, TEAM, "two"],
        [DIRECT, undefined, TEAM, "after"],
      ],
    );
    assert.equal(next.messages[1]?.id, `message:${DIRECT}:${next.messages[1]?.messageId}`);
    assert.deepEqual(
      slack.callsOf("conversations.history").map(({ args }) => [args["channel"], args["oldest"]]),
      [[DIRECT, first]],
    );
    const [{ args } = assert.fail()] = slack.callsOf("conversations.replies");
    assert.deepEqual([args["channel"], args["ts"], args["oldest"]], [ROOM, thread, first]);
  });

  it("fetches what was written between two connections", async (t) => {
    const { slack, run } = await connected(t);
    const at = (seconds: number) => (Date.now() / 1_000 - 100 + seconds).toFixed(6);
    await slack.deliver("events_api", said("before", { ts: at(0) }));
    const missed = { type: "message", user: ANN, text: "meanwhile", ts: at(1) };
    slack.plan("conversations.history", { body: { ok: true, messages: [missed] } });
    slack.cut();
    assert.deepEqual(
      (await run.received(2)).map(({ text }) => text),
      ["before", "meanwhile"],
    );
  });

  it("is not held up by a conversation that it can no longer read, and does not fetch old messages", async (t) => {
    const { slack, channel, run } = await connected(t);
    await slack.deliver("events_api", said("long ago"));
    await run.stop();
    slack.plan("conversations.history", refusal("channel_not_found"));
    const next = startAccount(t, channel);
    await next.connected();
    await slack.deliver("events_api", said("now"));
    assert.deepEqual(
      next.messages.map(({ text }) => text),
      ["now"],
    );
    const [{ args } = assert.fail()] = slack.callsOf("conversations.history");
    assert.ok(Math.abs(Number(args["oldest"]) - (Date.now() / 1_000 - 24 * 3_600)) < 60);
  });

  it("skips events for its app in another workspace", async (t) => {
    const { slack, run } = await connected(t);
    await slack.deliver("events_api", { ...said("elsewhere"), authorizations: [{ team_id: "T0000OTHER" }] });
    await slack.deliver("events_api", { ...said("here"), authorizations: [{ team_id: TEAM }] });
    assert.deepEqual(
      run.messages.map(({ text }) => text),
      ["here"],
    );
  });

  it("names nobody if Slack does not say who it is", async (t) => {
    const { slack, run } = await connected(t);
    slack.plan("users.info", refusal("missing_scope"));
    await slack.deliver("events_api", said("hello"));
    await slack.deliver("events_api", said("again"));
    assert.deepEqual(
      run.messages.map(({ sender }) => sender),
      [{ id: ANN }, { id: ANN }],
    );
    assert.equal(slack.callsOf("users.info").length, 1);
  });

  it("answers commands for the person only, and acknowledges buttons", async (t) => {
    const { slack, run } = await connected(t, ({ text }) =>
      text === "/status" ? taken : { accepted: false, reason: "not-allowed" },
    );
    const command = { command: "/svc", user_id: ANN, channel_id: ROOM, channel_name: "team", team_id: TEAM };
    const answer = await slack.deliver("slash_commands", { ...command, text: "status", trigger_id: "1" });
    assert.deepEqual(answer, { response_type: "ephemeral", text: "Received." });
    const refused = await slack.deliver("slash_commands", { ...command, text: "hello", trigger_id: "2" });
    assert.deepEqual(refused, {
      response_type: "ephemeral",
      text: "The agent does not accept commands from you here.",
    });
    const press = { type: "block_actions", user: { id: ANN }, channel: { id: ROOM }, container: { message_ts: "1.2" } };
    const actions = [{ action_id: "svc:0:0", action_ts: "3.4", value: "yes", text: { text: "Yes" } }];
    assert.deepEqual(await slack.deliver("interactive", { ...press, actions }), {});
    assert.deepEqual(run.messages.at(-1)?.event, { kind: "button", value: "yes", messageId: "1.2" });
  });

  it("takes a mention once for the gateway, though Slack sends it twice", async (t) => {
    const { slack, run } = await connected(t);
    const message = inRoom(`${mention} hi`);
    const again = { ...message, event_id: "EvOther", event: { ...message.event, type: "app_mention" } };
    await Promise.all([slack.deliver("events_api", message), slack.deliver("events_api", again)]);
    assert.equal(new Set(run.messages.map(({ id }) => id)).size, 1);
    assert.deepEqual([run.messages[0]?.text, run.messages[0]?.mentioned], ["hi", true]);
  });
});
