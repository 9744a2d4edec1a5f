/** The webhook: what adapters verify, and when a network is told that its request was accepted. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { Attachment, ChatInstance, Message, WebhookOptions } from "chat";
import { GatewayError, type RouteRequest } from "@svc/sdk";
import { bounded } from "@svc/kit/channels";
import { createFakeClock } from "@svc/sdk/testing";
import { accountsOf } from "../../../plugins/chat-sdk/config.ts";
import { createStates } from "../../../plugins/chat-sdk/state.ts";
import { createWebhook } from "../../../plugins/chat-sdk/webhook.ts";
import { until } from "../../until.ts";
import { memoryStorage } from "../channels/memory-storage.ts";
import { says } from "../telegram/scene.ts";
import { startBotServer, TOKEN } from "../telegram/server.ts";
import { messageOf, openChannel, openTiny, SECRET, tiny } from "./scene.ts";

const HEADER = "x-telegram-bot-api-secret-token";
const texts = (run: { readonly messages: readonly { readonly text: string }[] }) =>
  run.messages.map(({ text }) => text);
const refuse = () => {
  throw new GatewayError("INVALID_REQUEST", "not accepted");
};

async function openTelegram(t: TestContext) {
  const server = await startBotServer(t);
  const options = { mode: "webhook", apiUrl: server.apiRoot };
  const credentials = { botToken: TOKEN, secretToken: SECRET };
  const scene = await openChannel(t, { adapter: "telegram", options, credentials });
  const deliver = async (update: object, token: string | undefined = SECRET) =>
    (await scene.post(JSON.stringify(update), token === "" ? {} : { [HEADER]: token })).status;
  return { ...scene, server, deliver };
}

/** An adapter that hands over a message for each request. */
function handing(more: (chat: ChatInstance, options: WebhookOptions) => unknown = () => undefined) {
  let chat: ChatInstance | undefined;
  const begun: string[] = [];
  return {
    begun,
    initialize: async (given: ChatInstance) => void (chat = given),
    async handleWebhook(request: Request, options: WebhookOptions) {
      assert.ok(chat);
      const text = await request.text();
      begun.push(text);
      const isFirst = await chat.getState().setIfNotExists(`seen:${text}`, true, 60_000);
      if (!isFirst) return new Response("known");
      void chat.processMessage(undefined as never, "tiny:dm-ann", messageOf({ id: text, text }));
      more(chat, options);
      return new Response(request.url, { status: 202, headers: { "x-own": "1" } });
    },
  };
}

describe("the webhook of the adapter for Telegram", { timeout: 60_000 }, () => {
  it("accepts updates with the right secret only, while the account runs", async (t) => {
    const { deliver, start, url, post } = await openTelegram(t);
    const update = { update_id: 1, ...says("hello") };
    assert.equal(await deliver(update), 503);
    const run = start(t);
    await run.reported("connected");
    for (const wrong of ["", "wrong", `${SECRET}x`]) assert.equal(await deliver(update, wrong), 401);
    assert.equal(await deliver(update), 200);
    assert.equal(run.messages[0]?.text, "hello");
    assert.deepEqual(run.messages[0]?.chat, { type: "direct", id: "user:77", name: "Ann Lee" });
    assert.equal((await post("{", { [HEADER]: SECRET })).status, 400);
    for (const account of ["nobody", "__proto__", "default%00", "..%2fdefault", "default%2f"]) {
      const { status } = await post("{}", { [HEADER]: SECRET }, account);
      assert.ok(status === 404 || status === 400, `${account}: ${status}`); // the gateway itself refuses some paths
    }
    assert.equal((await fetch(`${url}/nobody`)).status, 404);
    await run.stop();
    assert.equal(await deliver({ update_id: 2, ...says("later") }), 503);
  });

  it("lets the network repeat an update that was not accepted, and takes it once", async (t) => {
    const { deliver, start } = await openTelegram(t);
    let isRefusing = true;
    const run = start(t, () => (isRefusing ? refuse() : undefined));
    await run.reported("connected");
    const update = { update_id: 1, ...says("hello") };
    assert.equal(await deliver(update), 503);
    assert.equal(await deliver(update), 503);
    isRefusing = false;
    assert.equal(await deliver(update), 200);
    assert.equal(await deliver(update), 200);
    assert.deepEqual(texts(run), ["hello"]);
  });

  it("accepts a command, and a press of a button", async (t) => {
    const { deliver, start, server, send, channel, call } = await openTelegram(t);
    const run = start(t);
    await run.reported("connected");
    const entities = [{ type: "bot_command", offset: 0, length: 4 }];
    assert.equal(await deliver({ update_id: 1, ...says("/new now", { entities }) }), 200);
    const value = `approve:${"0".repeat(36)}:allow-always`;
    await send({ to: "user:77", text: "*Sure?*", buttons: [[{ label: "Yes", value, style: "primary" }]] });
    const [sent] = server.of("sendMessage");
    const [[button]] = Object(sent?.body["reply_markup"]).inline_keyboard;
    const callback_query = {
      id: "1",
      from: { id: 77, first_name: "Ann" },
      data: button.callback_data,
      message: says("").message,
    };
    assert.equal(await deliver({ update_id: 2, callback_query }), 200);
    const [command, press] = await run.received(2);
    assert.equal(command?.text, "/new now");
    assert.deepEqual([press?.text, press?.event?.kind === "button" && press.event.value], ["Yes", value]);
    assert.deepEqual(await channel.probe?.(call), {
      ok: true,
      adapter: "telegram",
      userName: "Svc_Test_Bot",
      botUserId: "4242",
    });
  });
});

describe("the webhook", { timeout: 60_000 }, () => {
  it("passes the request on with its public address, and the answer back", async (t) => {
    const { start, post, url } = await openTiny(t, handing(), { publicUrl: "https://bot.example.org/" });
    await start(t).reported("connected");
    const answer = await post("one");
    assert.deepEqual(
      [answer.status, answer.headers.get("x-own"), await answer.text()],
      [202, "1", "https://bot.example.org/plugins/chat-sdk/default"],
    );
    const verified = await fetch(`${url}/default?hub.challenge=7`);
    assert.equal(await verified.text(), "https://bot.example.org/plugins/chat-sdk/default?hub.challenge=7");
  });

  it("refuses a body above the limit", async (t) => {
    const { start, post } = await openTiny(t, handing(), { maxBodyBytes: 2_000 });
    const run = start(t);
    await run.reported("connected");
    assert.equal((await post("x".repeat(2_001))).status, 413);
    assert.deepEqual(run.messages, []);
    assert.equal((await post("x".repeat(2_000))).status, 202);
  });

  it("waits for the messages that later work of the adapter hands over", async (t) => {
    const later = (chat: ChatInstance, { waitUntil }: WebhookOptions) => {
      const work = Promise.resolve().then(async () => {
        await chat.getState().get("anything");
        void chat.processMessage(undefined as never, "tiny:dm-ann", messageOf({ text: "later" }));
        throw new Error("of an indicator");
      });
      work.catch(() => undefined);
      waitUntil?.(work);
    };
    const { start, post } = await openTiny(t, handing(later));
    let isRefusing = false;
    const run = start(t, ({ text }) => (isRefusing && text === "later" ? refuse() : undefined));
    await run.reported("connected");
    assert.equal((await post("first")).status, 202);
    assert.deepEqual(texts(run), ["first", "later"]);
    isRefusing = true;
    assert.equal((await post("second")).status, 503);
  });

  it("keeps a repetition waiting while the first request is not decided", async (t) => {
    const own = handing();
    const { start, post } = await openTiny(t, own);
    let decide: (isAccepted: boolean) => void = () => undefined;
    let asked = 0;
    const run = start(t, async () => {
      if (++asked === 1 && !(await new Promise<boolean>((resolve) => (decide = resolve)))) refuse();
    });
    await run.reported("connected");
    const first = post("same");
    await until(() => asked === 1, "the message");
    const second = post("same");
    await until(() => own.begun.length === 2, "the repetition");
    decide(false);
    assert.equal((await first).status, 503);
    assert.deepEqual([(await second).status, run.messages.length], [202, 1]);
    assert.equal(await (await post("same")).text(), "known");
  });

  it("forgets nothing when a client hangs up in the middle of its request", async (t) => {
    const { start, post, url } = await openTiny(t, handing());
    const run = start(t);
    await run.reported("connected");
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(`POST ${pathname}/default HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf`);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.destroy();
    assert.equal((await post("whole")).status, 202);
    assert.deepEqual(texts(run), ["whole"]);
  });

  it("answers 503 for an adapter that fails, and for a message that cannot be read now; skips a malformed one", async (t) => {
    const messages: Readonly<Record<string, unknown>> = {
      unread: () => Promise.reject(new Error("no profile")),
      malformed: messageOf({ author: undefined }),
    };
    const { start, post, chat } = await openTiny(t, {
      async handleWebhook(request: Request) {
        const kind = await request.text();
        if (kind === "broken") throw new Error(`with ${SECRET}`);
        void chatOf().processMessage(undefined as never, "tiny:dm-ann", messages[kind] as Message);
        return new Response("OK");
      },
    });
    const chatOf = chat;
    const run = start(t);
    await run.reported("connected");
    const answer = await post("broken");
    assert.equal(answer.status, 503);
    assert.ok(!(await answer.text()).includes(SECRET));
    assert.equal((await post("unread")).status, 503);
    assert.equal((await post("malformed")).status, 200);
    assert.deepEqual(run.messages, []);
  });

  it("answers in time: 503 while messages are missing, else what the adapter says", async () => {
    const clock = createFakeClock();
    const states = createStates(memoryStorage().storage, clock);
    const [account] = accountsOf({ adapter: "tiny-adapter" });
    assert.ok(account);
    const run = { accountId: account.id, settings: account.settings, signal: new AbortController().signal };
    const answer = async (handleWebhook: (request: Request, options: WebhookOptions) => unknown) => {
      const { adapter } = tiny({ handleWebhook });
      const live = new Map([["default", { run, adapter, state: states("default"), files: bounded<Attachment>(1) }]]);
      const handle = createWebhook({ accounts: [account], live, clock, log: { info: () => {}, warn: () => {} } });
      const request = {
        method: "POST",
        path: "/",
        query: new URLSearchParams(),
        headers: {},
        rawBody: Buffer.from("{}"),
      };
      const replied = handle({ ...request, params: { account: "default" } } as unknown as RouteRequest<unknown>); // what it reads
      replied.catch(() => undefined);
      await until(() => clock.pending > 0, "the deadline");
      await clock.advance(10_000);
      return replied;
    };
    await assert.rejects(
      answer(() => new Promise(() => {})),
      { code: "UNAVAILABLE" },
    );
    const slow = await answer((_, { waitUntil }) => {
      waitUntil?.(new Promise(() => {}));
      return new Response("OK");
    });
    assert.equal(slow.status, 200);
  });
});
