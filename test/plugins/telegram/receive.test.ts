/** Incoming messages and the course of a run, through the library, with a Bot API server on this machine. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { until } from "../../until.ts";
import { ann, CHAT, hidesToken, openScene, refusal, rejects, says, sceneOf } from "./scene.ts";

const words = (messages: readonly { readonly text: string }[]) => messages.map(({ text }) => text);
const press = (id: string) => ({
  callback_query: {
    id,
    from: ann,
    message: { message_id: 4, date: 0, chat: { id: CHAT, type: "private" } },
    data: "v",
  },
});

describe("the plugin telegram receives", { timeout: 60_000 }, () => {
  it("after it deleted a leftover webhook and showed the commands", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t, { commands: [{ name: "new", description: "Start again" }] });
    await run.reported("connected");
    server.push(says("hi"));
    await run.received(1);
    assert.equal(server.webhook(), "");
    assert.deepEqual(server.of("setMyCommands")[0]?.body, {
      commands: [{ command: "new", description: "Start again" }],
    });
    const asked = server.of("getUpdates")[0]?.body["allowed_updates"] as string[];
    assert.ok(asked.includes("message_reaction"));
    assert.ok(run.proofs() > 0);
    assert.deepEqual(run.reports.at(-1), { state: "connected", detail: "as @Svc_Test_Bot" });
  });

  it("50 messages at once in their order, and confirms them", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    const texts = Array.from({ length: 50 }, (_, at) => `number ${at}`);
    server.push(...texts.map((text) => says(text)));
    assert.deepEqual(words(await run.received(50)), texts);
    await until(() => server.unconfirmed() === 0, "the confirmation", 3_000);
    assert.equal(new Set(run.messages.map(({ id }) => id)).size, 50);
  });

  it("an album as one message, also when its rest arrives later", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    const photo = (id: string) =>
      says("", { text: undefined, media_group_id: "a", photo: [{ file_id: id, width: 1, height: 1 }] });
    server.push(says("before"), photo("one"));
    await run.received(1);
    const last = server.push(photo("two"), says("after"));
    const [, album, after] = await run.received(3);
    assert.deepEqual([album?.id, after?.text], [`update:${last - 1}`, "after"]);
    assert.deepEqual(
      album?.media?.map(({ ref }) => ref),
      ["one", "two"],
    );
    await until(() => server.unconfirmed() === 0, "the confirmation", 3_000);
  });

  it("a message again that got an error, before the next one, and nothing else twice", async (t) => {
    const { server, start } = await openScene(t);
    let refusals = 0;
    const run = start(t, {
      onReceive({ text }) {
        if (text === "two" && refusals++ === 0) throw new GatewayError("UNAVAILABLE", "the disk is full");
      },
    });
    server.push(says("one"), says("two"), says("three"));
    assert.deepEqual(words(await run.received(3)), ["one", "two", "three"]);
    assert.equal(refusals, 2);
    await until(() => server.unconfirmed() === 0, "the confirmation", 3_000);
  });

  it("nothing while the gateway is busy, but knows whether the connection works, and stops at once", async (t) => {
    const { server, start } = await openScene(t);
    let submissions = 0;
    const onReceive = () => {
      submissions += 1;
      throw new GatewayError("UNAVAILABLE", "too many messages wait", { retryAfterMs: 60_000 });
    };
    const busy = start(t, { onReceive });
    server.push(says("wait"));
    await until(() => submissions === 1, "the message", 3_000);
    const proofs = busy.proofs();
    await until(() => busy.proofs() > proofs, "a proof", 3_000);
    const before = performance.now();
    assert.equal(await busy.stop(), undefined);
    assert.ok(performance.now() - before < 1_000);

    const { ended } = start(t, { onReceive });
    await until(() => submissions === 2, "the message", 3_000);
    server.fallSilent();
    const fell = performance.now();
    await rejects(
      ended.then((error) => Promise.reject(error as Error)),
      "UNAVAILABLE",
      /does not answer/,
    );
    assert.ok(performance.now() - fell < 5_000);
    assert.equal(server.unconfirmed(), 1);
  });

  it("a refused message only once", async (t) => {
    const { server, start } = await openScene(t);
    let submitted = 0;
    const run = start(t, {
      onReceive: ({ text }) =>
        text === "no" && submitted++ >= 0 ? { accepted: false, reason: "not-allowed" } : undefined,
    });
    server.push(says("no"), says("yes"));
    await run.received(1);
    await until(() => server.unconfirmed() === 0, "the confirmation", 3_000);
    assert.equal(submitted, 1);
  });

  it("nothing twice and loses nothing when the connection breaks while a message is stored", async (t) => {
    const { server, start } = await openScene(t);
    const first = start(t, {
      onReceive: () => server.next("getUpdates", "cut"),
    });
    server.push(says("during the break"));
    const [message] = await first.received(1);
    await rejects(
      first.ended.then((error) => Promise.reject(error as Error)),
      "UNAVAILABLE",
      /does not answer/,
    );
    assert.equal(server.unconfirmed(), 1);
    const [again] = await start(t).received(1);
    assert.equal(again?.id, message?.id);
  });

  it("the events of a chat, and answers a press at once", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    const reaction = { chat: { id: CHAT, type: "private" }, message_id: 4, user: ann, date: 1, old_reaction: [] };
    const edited_message = { ...says("new").message, edit_date: 2 };
    const message_reaction = { ...reaction, new_reaction: [{ type: "emoji", emoji: "👍" }] };
    server.next("answerCallbackQuery", refusal("Bad Request: query is too old"));
    server.push({ edited_message }, { message_reaction }, press("first"), press("second"), says("end"));
    const messages = await run.received(5);
    assert.deepEqual(
      messages.map(({ event }) => event?.kind),
      ["edit", "reaction", "button", "button", undefined],
    );
    await server.call("answerCallbackQuery", 2);
    assert.deepEqual(
      server
        .of("answerCallbackQuery")
        .map(({ body }) => String(body["callback_query_id"]))
        .toSorted(),
      ["first", "second"],
    );
  });

  it("what follows a press whose acknowledgement gets no answer", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    server.next("answerCallbackQuery", "silent");
    server.push(press("first"), says("next"));
    await run.received(2);
  });

  it("what follows a malformed update", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    server.push({ message: { message_id: 1 } }, { message: "text" }, { callback_query: {} }, says("fine"));
    assert.deepEqual(words(await run.received(1)), ["fine"]);
  });
});

describe("a run of telegram", { timeout: 60_000 }, () => {
  it("needs a login when the token is revoked, which nothing shows", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    await server.call("getUpdates");
    server.revoke();
    server.push(says("wake"));
    await rejects(
      run.ended.then((error) => Promise.reject(error as Error)),
      "NOT_LINKED",
      /@BotFather/,
    );
    hidesToken(run.reports);
    await until(async () => (await server.connections()) === 0, "the end of the connections", 1_000);
  });

  it("names the cause when another program polls", async (t) => {
    const { server, start } = await openScene(t);
    server.next("getUpdates", refusal("Conflict: terminated by other getUpdates request", 409));
    const { ended } = start(t);
    await rejects(
      ended.then((error) => Promise.reject(error as Error)),
      "UNAVAILABLE",
      /stop the other program/,
    );
  });

  it("waits as long as Telegram asks, disconnected meanwhile", async (t) => {
    const { server, start } = await openScene(t);
    server.next("getUpdates", refusal("Too Many Requests: retry after 1", 429, { retry_after: 1 }));
    const run = start(t);
    await run.reported("disconnected");
    server.push(says("later"));
    await run.received(1);
    assert.deepEqual(
      run.reports.map(({ state }) => state),
      ["connecting", "connected", "disconnected", "connected"],
    );
  });

  it("stops at once during a call, a poll and a pause", async (t) => {
    const { server, start } = await openScene(t, { pollSeconds: 50 });
    server.next("getMe", "silent");
    for (const [method, number] of [
      ["getMe", 1],
      ["getUpdates", 1],
      ["getUpdates", 2],
    ] as const) {
      if (number === 2) server.next("getUpdates", refusal("Too Many Requests", 429, { retry_after: 60 }));
      const run = start(t);
      await server.call(method, number);
      const before = performance.now();
      assert.equal(await run.stop(), undefined);
      assert.ok(performance.now() - before < 1_000);
    }
  });

  it("ends within 5 s when Telegram is silent", async (t) => {
    const { server, channel } = await openScene(t);
    server.next("getUpdates", "silent");
    const { ended } = sceneOf(channel).start(t);
    await server.call("getUpdates");
    const before = performance.now();
    await rejects(
      ended.then((error) => Promise.reject(error as Error)),
      "UNAVAILABLE",
      /does not answer/,
    );
    assert.ok(performance.now() - before < 5_000);
  });

  it("connects although Telegram refuses the commands", async (t) => {
    const { server, start } = await openScene(t);
    server.next("setMyCommands", refusal("Bad Request: BOT_COMMAND_INVALID"));
    await start(t).reported("connected");
  });
});
