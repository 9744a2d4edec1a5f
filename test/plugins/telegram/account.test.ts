/** Configuration, login, probe and webhook of an account, with a Bot API server on this machine. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, GatewayError } from "@svc/sdk";
import { Channel, type LoginStep } from "@svc/sdk/channels";
import { testGateway } from "@svc/sdk/testing";
import telegram from "../../../plugins/telegram/plugin.ts";
import { until } from "../../until.ts";
import { channelOf, openScene, rejects, says, sceneOf } from "./scene.ts";
import { startBotServer, TOKEN } from "./server.ts";

describe("the account of telegram", { timeout: 60_000 }, () => {
  it("is listed without a configuration, and several can be configured", async (t) => {
    const { accounts } = await channelOf(t, {});
    assert.deepEqual(
      accounts.map(({ id, configured }) => [id, configured]),
      [["default", false]],
    );
    const many = await channelOf(t, {
      apiRoot: "http://h/",
      accounts: { a: { botToken: "1:a" }, b: { botToken: "2:b" } },
    });
    assert.deepEqual(
      many.accounts.map(({ id, settings }) => [id, settings]),
      ["a", "b"].map((id, at) => [id, { token: `${at + 1}:${id}`, apiRoot: "http://h", pollSeconds: 2 }]),
    );
    assert.ok(many.capabilities.maxTextChars < 4_096, "markup may lengthen a text");
  });

  it("has a webhook address of its own below the address of the gateway", async (t) => {
    const webhook = { webhookUrl: "https://e.org/base/", webhookSecret: "s" };
    const { accounts } = await channelOf(t, {
      ...webhook,
      accounts: { a: { botToken: "1:a" }, b: { botToken: "2:b" } },
    });
    assert.deepEqual(
      accounts.map(({ settings }) => Object(settings).webhook),
      ["a", "b"].map((id) => ({ url: `https://e.org/base/plugins/telegram/webhook/${id}`, secret: "s" })),
    );
    await assert.rejects(channelOf(t, { botToken: "1:a", webhookUrl: "https://e.org/" }), /\/webhookSecret/);
    const named = { accounts: { default: { botToken: "1:a", webhookUrl: "http://e:x:y" } } };
    await assert.rejects(channelOf(t, named), /\/accounts\/default\/webhookUrl/);
  });

  it("is probed, with a hint about privacy mode", async (t) => {
    const { channel, call } = await openScene(t);
    const result = Object(await channel.probe?.(call));
    assert.deepEqual([result.ok, result.bot], [true, { id: "4242", name: "Svc_Test_Bot" }]);
    assert.match(result.hint, /setprivacy/);
  });

  it("is made by a login that checks the token", async (t) => {
    const server = await startBotServer(t);
    const { login } = await channelOf(t, { apiRoot: server.apiRoot });
    assert.ok(login);
    const call = { accountId: "default", signal: new AbortController().signal };
    const form = (await login.start(call)) as LoginStep & { kind: "form" }; // checked below
    assert.equal(form.kind, "form");
    assert.ok(form.fields.every(({ help }) => help !== undefined));
    const next = (botToken: string) => login.next({ ...call, state: undefined, answers: { botToken } });
    await rejects(next("what is it"), "INVALID_REQUEST", /not a token/);
    await rejects(next("1:wrong-token-of-nobody"), "INVALID_REQUEST", /does not know this token/);
    const done = (await next(` ${TOKEN}\n`)) as LoginStep & { kind: "done" }; // checked below
    assert.deepEqual([done.kind, done.config], ["done", { botToken: TOKEN }]);
    assert.match(done.message, /@Svc_Test_Bot/);
    const other = await login.next({ ...call, accountId: "new", state: undefined, answers: { botToken: TOKEN } });
    assert.equal(other.kind, "done", "a new account uses the server of the section");
  });
});

describe("the webhook of telegram", { timeout: 60_000 }, () => {
  async function open(t: TestContext) {
    const server = await startBotServer(t);
    let channel: Channel | undefined;
    const owner = definePlugin({
      id: "owner",
      api: "^1.0.0",
      setup(gateway) {
        const view = gateway.own(Channel);
        gateway.start(() => {
          channel = undefined;
          const found = view.get("telegram");
          if (found) view.call(found, (value) => (channel = value));
        });
      },
    });
    const webhookUrl = "https://bot.example.org/plugins/telegram/webhook/default";
    const webhook = { webhookUrl: "https://bot.example.org/", webhookSecret: "right-secret", pollSeconds: 1 };
    const settings = { botToken: TOKEN, apiRoot: server.apiRoot, ...webhook };
    const config = { channels: { telegram: settings } };
    const { gateway } = await testGateway(t, { plugins: [telegram, owner], config });
    await until(() => channel !== undefined, "the channel", 3_000);
    const url = `http://127.0.0.1:${gateway.port}/plugins/telegram/webhook/`;
    const post = async (body: string, secret?: string, account = "default") => {
      const headers = {
        "content-type": "application/json",
        ...(secret === undefined ? {} : { "x-telegram-bot-api-secret-token": secret }),
      };
      const { status } = await fetch(url + account, { method: "POST", headers, body });
      return status;
    };
    return { server, post, webhookUrl, ...sceneOf(channel as unknown as Channel) }; // set by the owner
  }

  it("accepts updates with the right secret only, and confirms them when they are stored", async (t) => {
    const { server, post, start, webhookUrl } = await open(t);
    const update = (text: string, id = 5) => JSON.stringify({ update_id: id, ...says(text) });
    assert.equal(await post(update("too early"), "right-secret"), 503);
    let failures = 1;
    const run = start(t, {
      onReceive: ({ text }) => {
        if (text === "again" && failures-- > 0) throw new GatewayError("UNAVAILABLE", "the disk is full");
      },
    });
    await run.reported("connected");
    const { url, secret_token: secret } = server.of("setWebhook")[0]?.body ?? {};
    assert.deepEqual([url, secret], [webhookUrl, "right-secret"]);
    assert.equal(server.of("getUpdates").length + server.of("deleteWebhook").length, 0);

    assert.equal(await post(update("no secret")), 401);
    assert.equal(await post(update("wrong secret"), "wrong-secret"), 401);
    assert.equal(await post(update("longer secret"), "right-secret-"), 401);
    assert.equal(await post(update("other account"), "right-secret", "other"), 401);
    assert.equal(await post("{", "right-secret"), 400);
    assert.equal(await post('{"message":{}}', "right-secret"), 200);
    assert.equal(await post(update("again"), "right-secret"), 503);
    assert.equal(await post(update("again"), "right-secret"), 200);
    assert.deepEqual(
      run.messages.map(({ id, text }) => [id, text]),
      [["update:5", "again"]],
    );
    const many = Array.from({ length: 20 }, (_, at) => `n${at}`);
    const statuses = await Promise.all(many.map((text, at) => post(update(text, 10 + at), "right-secret")));
    assert.ok(statuses.every((status) => status === 200));
    assert.equal(run.messages.length, 21);
    await run.stop();
    assert.equal(await post(update("too late"), "right-secret"), 503);
    assert.equal(server.webhook(), webhookUrl, "Telegram keeps what arrives meanwhile");
  });

  it("is disconnected while Telegram cannot deliver", async (t) => {
    const { server, post, start } = await open(t);
    server.failed(100, "Connection refused");
    server.push(says("waits since before this run"));
    const run = start(t);
    await run.reported("connected");
    server.failed(200, "Connection timed out");
    await run.reported("disconnected");
    assert.match(run.reports.at(-1)?.detail ?? "", /cannot deliver to https:.*: Connection timed out/);
    const proofs = run.proofs();
    await server.call("getWebhookInfo", server.of("getWebhookInfo").length + 2);
    assert.equal(run.proofs(), proofs);
    assert.equal(await post(JSON.stringify({ update_id: 5, ...says("arrives") }), "right-secret"), 200);
    await run.reported("connected");
    assert.deepEqual(
      run.reports.map(({ state }) => state),
      ["connecting", "connected", "disconnected", "connected"],
    );
  });

  it("is given up when another program changes it", async (t) => {
    const { server, start } = await open(t);
    const run = start(t);
    await run.reported("connected");
    await server.call("getWebhookInfo");
    await fetch(`${server.apiRoot}/bot${TOKEN}/deleteWebhook`, { method: "POST" });
    await rejects(
      run.ended.then((error) => Promise.reject(error as Error)),
      "UNAVAILABLE",
      /another program/,
    );
  });
});
