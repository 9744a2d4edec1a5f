/** Pressed buttons and the slash command, through the HTTP server of a gateway. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { unavailable } from "@svc/sdk";
import type { InboundMessage, Receipt } from "@svc/sdk/channels";
import { scene, SUITE_MS } from "./scene.ts";
import { ADA, DIRECT, id, startServer, TOKEN, TOWN } from "./server.ts";

const COMMAND_TOKEN = "token-of-the-command";

async function start(t: TestContext, receive?: (message: InboundMessage) => Promise<Receipt>) {
  const server = await startServer(t);
  const config = {
    baseUrl: server.url,
    botToken: TOKEN,
    callbackUrl: "http://gateway",
    slashCommandToken: COMMAND_TOKEN,
  };
  const { url, channel, facts, run, start: begin } = await scene(t, config);
  const post = (route: string, body: string | URLSearchParams, account = "default") =>
    fetch(`${url}/plugins/mattermost/${account}/${route}`, { method: "POST", body });
  const options = receive ? { receive } : {};
  return { server, channel, facts, post, run: () => run(options), begin };
}

/** Sends a message with a button, and makes the request of the server for a press. */
async function button(t: TestContext, receive?: (message: InboundMessage) => Promise<Receipt>) {
  const it = await start(t, receive);
  const { channel, facts, server } = it;
  const buttons = [[{ label: "Yes", value: "confirm:1", style: "danger" as const }]];
  const { messageId = "" } = await channel.send({ ...facts, id: "b".repeat(32), to: TOWN, text: "sure?", buttons });
  const post = server.posts.get(messageId);
  assert.ok(post);
  const [attachment] = post.props["attachments"] as { actions: { integration: Integration }[] }[];
  const { url, context } = attachment?.actions[0]?.integration ?? assert.fail();
  assert.equal(url, "http://gateway/plugins/mattermost/default/action");
  const press = { user_id: ADA, channel_id: TOWN, post_id: messageId, trigger_id: "t1", context };
  return { ...it, messageId, press };
}

interface Integration {
  readonly url: string;
  readonly context: { readonly value: string; readonly label: string; readonly sig: string };
}

describe("a pressed button", { timeout: SUITE_MS }, () => {
  it("is submitted with its value, and acknowledged", async (t) => {
    const { post, press, run, messageId } = await button(t);
    const running = await run();
    const response = await post("action", JSON.stringify(press));
    assert.deepEqual([response.status, await response.json()], [200, {}]);
    const [message] = running.messages;
    assert.match(message?.id ?? "", /^press:[0-9a-f]{32}$/);
    assert.deepEqual(message, {
      id: message?.id,
      messageId,
      chat: { type: "group", id: TOWN, name: "Town Square", teamId: id("team") },
      sender: { id: ADA, name: "ada" },
      text: "Yes",
      mentioned: true,
      event: { kind: "button", messageId, value: "confirm:1" },
    });
  });

  it("of somebody else's making is refused", async (t) => {
    const { post, press, run, server } = await button(t);
    const running = await run();
    const elsewhere = server.says("x", { channel_id: DIRECT });
    await running.received(1);
    const { context } = press;
    const forged: [why: string, body: unknown, account?: string][] = [
      ["another value", { ...press, context: { ...context, value: "confirm:2" } }],
      ["another label", { ...press, context: { ...context, label: "No" } }],
      ["another signature", { ...press, context: { ...context, sig: `${context.sig}x` } }],
      ["no signature", { ...press, context: { value: "confirm:1", label: "Yes" } }],
      ["another channel", { ...press, channel_id: DIRECT }],
      ["a stranger to the channel", { ...press, user_id: id("eve") }],
      ["a bot", { ...press, user_id: id("robot") }],
      ["a user that is none", { ...press, user_id: "../me" }],
      ["a post of another channel", { ...press, post_id: elsewhere.id }],
      ["another account", press, "other"],
      ["no object", []],
    ];
    for (const [why, body, account] of forged)
      assert.equal((await post("action", JSON.stringify(body), account)).status, 401, why);
    assert.equal((await post("action", "{")).status, 400);
    assert.equal(running.messages.length, 1);
  });

  it("waits for the account, and is repeated if it was not accepted", async (t) => {
    const { post, press, run } = await button(t, async () => unavailable("too many messages wait"));
    assert.equal((await post("action", JSON.stringify(press))).status, 503);
    await run();
    assert.equal((await post("action", JSON.stringify(press))).status, 503);
  });
});

it("a run that ends does not take the account away from a newer one", async (t) => {
  const { post, press, run } = await button(t);
  const first = await run();
  const second = await run();
  await first.stop();
  assert.equal((await post("action", JSON.stringify(press))).status, 200);
  assert.equal(second.messages.length, 1);
});

describe("the slash command", { timeout: SUITE_MS }, () => {
  const form = (fields: object) =>
    new URLSearchParams({
      token: COMMAND_TOKEN,
      user_id: ADA,
      user_name: "forged",
      channel_id: DIRECT,
      command: "/svc",
      text: "status",
      trigger_id: "t2",
      ...fields,
    });

  it("is a command to the agent, answered to its user only", async (t) => {
    const { post, run } = await start(t);
    const running = await run();
    const response = await post("command", form({}));
    assert.deepEqual(await response.json(), {
      response_type: "ephemeral",
      text: "`/status` was sent to the agent.",
    });
    await post("command", form({ text: "", channel_id: TOWN, trigger_id: "t3" }));
    const [first, second] = running.messages;
    assert.deepEqual(
      [first?.text, first?.mentioned, first?.sender, first?.chat],
      ["/status", true, { id: ADA, name: "ada" }, { type: "direct", id: `user:${ADA}`, name: "ada" }],
    );
    assert.deepEqual([second?.text, second?.chat.type], ["/help", "group"]);
    assert.notEqual(first?.id, second?.id);
  });

  it("needs its token, an account and ids", async (t) => {
    const { post, run } = await start(t);
    const running = await run();
    for (const fields of [{ token: "" }, { token: `${COMMAND_TOKEN}x` }, { user_id: "me" }, { channel_id: "x" }])
      assert.equal((await post("command", form(fields))).status, 401, JSON.stringify(fields));
    assert.equal((await post("command", form({}), "other")).status, 401);
    assert.equal((await post("command", "")).status, 401);
    assert.equal(running.messages.length, 0);
  });

  it("explains why nothing happens", async (t) => {
    const reasons = ["not-allowed", "pairing"] as const;
    const left: (typeof reasons)[number][] = [...reasons];
    const { post, run } = await start(t, () =>
      Promise.resolve({ accepted: false, reason: left.shift() ?? unavailable("too many messages wait") } as const),
    );
    assert.equal((await post("command", form({}))).status, 503);
    await run();
    const answers: string[] = [];
    for (const fields of [{}, {}, { channel_id: id("secret") }])
      answers.push(((await (await post("command", form(fields))).json()) as { text: string }).text);
    assert.match(answers.join("\n"), /does not accept.*\n.*code for its owner.*\n.*Add its bot/);
    assert.equal((await post("command", form({}))).status, 503);
  });
});
