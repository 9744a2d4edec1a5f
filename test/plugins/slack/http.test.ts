/** The plugin in mode `http`: against crabline, and with signed requests of the test to the route of the gateway. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startCrablineServer } from "@openclaw/crabline";
import { channelContract } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { freePort } from "../../free-port.ts";
import { ANN, ROOM, said, slackChannel, startAccount, TOKENS } from "./scene.ts";
import { startSlack, TEAM } from "./server.ts";

const SECRET = "signing-secret-1";

/** crabline keeps idle connections for seconds, which a check for open resources would find. */
function closeIdle(t: TestContext): void {
  const close = (message: unknown) => {
    (message as { readonly response: ServerResponse }).response.setHeader("connection", "close"); // published by Node
  };
  subscribe("http.server.request.start", close);
  t.after(() => unsubscribe("http.server.request.start", close));
}

/** crabline, the gateway that it sends events to, and someone who writes there. */
async function crabline(t: TestContext) {
  closeIdle(t);
  const port = await freePort();
  const heard: string[] = [];
  const server = await startCrablineServer({
    channel: "slack",
    eventsRequestUrl: `http://127.0.0.1:${port}/plugins/slack/default`,
    recorderPath: join(directory(t), "slack.jsonl"),
    onEvent: (event) => {
      const { path, body } = event as { path?: string; body?: { text?: string } }; // events of several types
      if (path === "/api/chat.postMessage") heard.push(body?.text ?? "");
    },
  });
  t.after(() => server.close());
  const { botToken, signingSecret, adminToken, endpoints } = server.manifest;
  const config = { mode: "http", botToken, signingSecret, apiUrl: endpoints.apiRoot };
  const { channel } = await slackChannel(t, config, port);
  const says = async (text: string) => {
    const response = await fetch(endpoints.adminInboundUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "x-crabline-admin-token": adminToken },
      body: JSON.stringify({ channel: "D000000001", user: "UCRABUSER", text }),
    });
    assert.equal(response.status, 200);
  };
  return { channel, heard, says };
}

/** A gateway with an account in mode `http`, and Slack's requests to it. */
async function scene(t: TestContext, config: object = {}) {
  const slack = await startSlack(t);
  const settings = { mode: "http", botToken: TOKENS.botToken, signingSecret: SECRET, apiUrl: slack.apiUrl, ...config };
  const { channel, address } = await slackChannel(t, settings);
  async function post(
    body: string,
    { type = "application/json", secret = SECRET, ageSeconds = 0, account = "default", more = {} } = {},
  ) {
    const time = `${Math.floor(Date.now() / 1_000) - ageSeconds}`;
    const hex = createHmac("sha256", secret).update(`v0:${time}:${body}`).digest("hex");
    const headers = {
      "content-type": type,
      "x-slack-request-timestamp": time,
      "x-slack-signature": `v0=${hex}`,
      ...more,
    };
    const response = await fetch(`${address}/plugins/slack/${account}`, { method: "POST", body, headers });
    return { status: response.status, text: await response.text() };
  }
  const event = (body: object, more: object = {}) => post(JSON.stringify(body), more);
  const form = (fields: Record<string, string>) =>
    post(new URLSearchParams(fields).toString(), { type: "application/x-www-form-urlencoded" });
  return { slack, channel, post, event, form };
}

describe("Slack over HTTP", { timeout: 30_000 }, () => {
  it("meets the contract of a channel with crabline", async (t) => {
    const { channel, heard, says } = await crabline(t);
    await channelContract(t, {
      channel,
      targets: ["D000000001", "C000000001"],
      network: { says, heard: () => heard, evidence: "unobserved" },
    });
  });

  it("takes a text from crabline and answers it", async (t) => {
    const { channel, heard, says } = await crabline(t);
    const run = startAccount(t, channel);
    await run.connected();
    await says("ping &amp; <https://a.example|page>");
    const [message] = await run.received(1);
    assert.equal(message?.text, "ping & page (https://a.example)");
    assert.deepEqual(message.sender, { id: "UCRABUSER" }); // crabline has no users.info
    const { id: accountId, settings } = run.account;
    const signal = new AbortController().signal;
    await channel.send({ accountId, settings, signal, id: "1", to: message.chat.id, text: "pong" });
    assert.deepEqual(heard, ["pong"]);
  });

  it("accepts signed events, and a repeated one with the same id", async (t) => {
    const { channel, event } = await scene(t);
    const run = startAccount(t, channel);
    await run.connected();
    const message = said("hällo");
    assert.deepEqual(await event(message), { status: 200, text: "" });
    assert.equal((await event(message, { more: { "x-slack-retry-num": "1" } })).status, 200);
    assert.deepEqual(
      run.messages.map(({ text }) => text),
      ["hällo", "hällo"],
    );
    assert.equal(run.messages[0]?.id, run.messages[1]?.id);
    assert.ok(run.lives() > 0);
  });

  it("refuses wrong signatures and old requests, and accepts nothing of them", async (t) => {
    const { channel, event, post } = await scene(t);
    const run = startAccount(t, channel);
    await run.connected();
    assert.equal((await event(said("x"), { secret: "wrong" })).status, 401);
    assert.equal((await event(said("x"), { ageSeconds: 301 })).status, 401);
    assert.equal((await event(said("x"), { more: { "x-slack-signature": "v0=" } })).status, 401);
    assert.equal((await event(said("x"), { account: "other" })).status, 404);
    assert.equal((await post("no json")).status, 400);
    assert.equal((await event(said("last"))).status, 200);
    assert.deepEqual(
      run.messages.map(({ text }) => text),
      ["last"],
    );
  });

  it("confirms its address, also while the account is not running; other requests then come again", async (t) => {
    const { event } = await scene(t);
    const { status, text } = await event({ type: "url_verification", challenge: "c-1" });
    assert.deepEqual([status, JSON.parse(text)], [200, { challenge: "c-1" }]);
    assert.equal((await event({ type: "url_verification", challenge: "c-1" }, { secret: "x" })).status, 401);
    assert.equal((await event(said("x"))).status, 503);
  });

  it("takes button presses and commands", async (t) => {
    const { channel, form } = await scene(t);
    const run = startAccount(t, channel);
    await run.connected();
    const command = {
      command: "/svc",
      text: "status",
      user_id: ANN,
      channel_id: ROOM,
      team_id: TEAM,
      trigger_id: "1.2",
    };
    const answer = await form(command);
    assert.deepEqual(JSON.parse(answer.text), { response_type: "ephemeral", text: "Received." });
    const actions = [{ action_id: "svc:0:0", action_ts: "3.4", value: "yes" }];
    const press = {
      type: "block_actions",
      user: { id: ANN },
      channel: { id: ROOM },
      container: { message_ts: "1.2" },
      actions,
    };
    assert.deepEqual(await form({ payload: JSON.stringify(press) }), { status: 200, text: "" });
    assert.deepEqual(
      run.messages.map(({ text, event }) => event ?? text),
      ["/status", { kind: "button", value: "yes", messageId: "1.2" }],
    );
    assert.equal((await form({ payload: "{" })).status, 400);
  });

  it("needs a login when the token is revoked, and notices that Slack is away", async (t) => {
    const { slack, channel } = await scene(t, { checkMs: 20 });
    slack.plan("auth.test", {});
    slack.plan("auth.test", { status: 503 });
    slack.plan("auth.test", {});
    slack.plan("auth.test", { body: { ok: false, error: "token_revoked" } });
    const run = startAccount(t, channel);
    await assert.rejects(run.ended, { code: "NOT_LINKED" });
    assert.deepEqual(run.states(), ["connecting", "connected", "disconnected", "connected"]);
  });
});
