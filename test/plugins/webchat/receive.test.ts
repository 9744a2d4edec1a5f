/** What visitors send: hello, messages, presses, limits, and everything that is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { InboundMessage, Receipt } from "@svc/sdk/channels";
import { hashOf } from "../../../plugins/webchat/store.ts";
import { until } from "../../until.ts";
import { directory } from "../../directory.ts";
import { scene, SUITE_MS } from "./scene.ts";

const ID = "client-id-1";

describe("a visitor", { timeout: SUITE_MS }, () => {
  it("gets a token once, and the conversation with it, also after a restart", async (t) => {
    const stateDir = directory(t);
    const first = await scene(t, { greeting: "Hi" }, { stateDir });
    await first.run();
    const { socket, welcome } = await first.meet();
    assert.deepEqual(
      { ...welcome, token: "", visitor: "" },
      { type: "welcome", token: "", visitor: "", greeting: "Hi", messages: [] },
    );
    assert.match(welcome.token ?? "", /^[\w-]{43}$/);
    socket.send({ type: "send", id: ID, text: "hello" });
    assert.deepEqual(await socket.next("accepted"), { type: "accepted", id: ID, messageId: `v-${ID}` });
    const [message] = first.messages;
    const { visitor } = welcome;
    assert.deepEqual(
      { ...message, at: 0 },
      {
        id: `${visitor}:v-${ID}`,
        messageId: `v-${ID}`,
        chat: { type: "direct", id: visitor },
        sender: { id: visitor },
        text: "hello",
        at: 0,
      },
    );
    await first.send(visitor, { text: "**hi**" });
    await first.gateway.stop();

    const second = await scene(t, {}, { stateDir });
    await second.run();
    const again = await second.meet({ token: welcome.token ?? "" });
    assert.deepEqual([again.welcome.visitor, again.welcome.token], [visitor, undefined]);
    assert.deepEqual(
      again.welcome.messages.map(({ from, text }) => [from, text]),
      [
        ["visitor", "hello"],
        ["agent", "**hi**"],
      ],
    );
    const stranger = await second.meet({ token: "unknown" });
    assert.notEqual(stranger.welcome.visitor, visitor);
    assert.deepEqual([stranger.welcome.messages, typeof stranger.welcome.token], [[], "string"]);
  });

  it("repeats a message under its id, which is accepted and stored once; other tabs see it", async (t) => {
    const { run, meet, messages } = await scene(t);
    await run();
    const { socket, welcome } = await meet();
    const token = welcome.token ?? "";
    const other = await meet({ token });
    for (const _ of [1, 2]) socket.send({ type: "send", id: ID, text: "once" });
    await socket.next("accepted", 2);
    assert.equal((await other.socket.next("message")).text, "once");
    assert.deepEqual(
      messages.map(({ id }) => id),
      [`${welcome.visitor}:v-${ID}`, `${welcome.visitor}:v-${ID}`],
    );
    assert.equal((await meet({ token })).welcome.messages.length, 1);
    assert.equal(socket.frames.filter(({ type }) => type === "message").length, 0);
  });

  it("waits while the gateway cannot accept; what it refuses is not in the conversation", async (t) => {
    let [attempts, receipt] = [0, { accepted: false, reason: "not-allowed" } as Receipt];
    const receive = async (): Promise<Receipt> => {
      if (attempts++ === 0) throw new GatewayError("UNAVAILABLE", "too many messages wait", { retryAfterMs: 1 });
      return receipt;
    };
    const { run, meet } = await scene(t, {}, { receive });
    await run();
    const { socket, welcome } = await meet();
    socket.send({ type: "send", id: ID, text: "refused" });
    assert.deepEqual(await socket.next("refused"), { type: "refused", id: ID, reason: "not-allowed" });
    assert.equal(attempts, 2);
    receipt = { accepted: false, reason: "duplicate" };
    socket.send({ type: "send", id: "client-id-2", text: "known" });
    await socket.next("accepted");
    const { messages } = (await meet({ token: welcome.token ?? "" })).welcome;
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["known"],
    );
  });

  it("who leaves before a message is accepted repeats it later", async (t) => {
    let isFull = true;
    const receive = async (): Promise<Receipt> => {
      if (isFull) throw new GatewayError("UNAVAILABLE", "too many messages wait");
      return { accepted: true, sessionKey: "main" };
    };
    const { run, meet, messages } = await scene(t, {}, { receive });
    await run();
    const { socket, welcome } = await meet();
    socket.send({ type: "send", id: ID, text: "hello" });
    socket.close();
    await until(() => socket.code() !== undefined, "the close");
    isFull = false;
    const again = await meet({ token: welcome.token ?? "" });
    again.socket.send({ type: "send", id: ID, text: "hello" });
    await again.socket.next("accepted");
    assert.ok(messages.length > 0);
  });

  it("presses buttons that it was sent, and no others", async (t) => {
    const { run, meet, messages, send, channel, facts } = await scene(t);
    await run();
    const { socket, welcome } = await meet();
    const buttons = [[{ label: "Yes", value: "yes" }]];
    const { messageId = "" } = await send(welcome.visitor, { text: "sure?", buttons });
    const press = { type: "press", messageId };
    socket.send({ ...press, id: "press-number-1", value: "no" });
    assert.deepEqual(await socket.next("refused"), { type: "refused", id: "press-number-1", reason: "gone" });
    socket.send({ ...press, id: "press-number-2", value: "yes" });
    await socket.next("accepted");
    const [{ text, event } = {} as InboundMessage] = messages;
    assert.deepEqual([text, event], ["Yes", { kind: "button", messageId, value: "yes" }]);
    await channel.edit?.({ ...facts(), to: welcome.visitor, messageId, text: "done" });
    assert.deepEqual(await socket.next("edit"), { type: "edit", messageId, text: "done" });
    socket.send({ ...press, id: "press-number-3", value: "yes" });
    assert.equal((await socket.next("refused", 2)).reason, "gone");
    const stranger = await meet();
    stranger.socket.send({ ...press, id: "press-number-4", value: "yes" });
    assert.equal((await stranger.socket.next("refused")).reason, "gone");
  });

  it("malformed texts are refused, and the next one is read", async (t) => {
    const { run, meet, messages } = await scene(t);
    await run();
    const { socket } = await meet();
    const wrong = [
      "{",
      "[]",
      "null",
      { type: "admin" },
      { type: "send", id: ID },
      { type: "send", id: "x y", text: "a" },
      { type: "send", id: ID, text: "" },
      { type: "send", id: ID, text: "a", sender: "somebody" },
      { type: "send", id: ID, text: "x".repeat(8_001) },
      { type: "hello" },
      { type: "file", messageId: "a-1", offset: -1 },
    ];
    for (const frame of wrong) socket.send(frame);
    for (const index of wrong.keys()) assert.equal((await socket.next("refused", index + 1)).reason, "invalid");
    socket.send({ type: "send", id: ID, text: "fine" });
    await socket.next("accepted");
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["fine"],
    );
    socket.send("x".repeat(20_000));
    await until(() => socket.code() === 1009, "the close of a socket with a text that is too large");
  });

  it("says hello first", async (t) => {
    const { run, open } = await scene(t);
    await run();
    const socket = await open();
    socket.send({ type: "send", id: ID, text: "hello" });
    assert.equal((await socket.next("refused")).reason, "hello");
    await until(() => socket.code() === 1008, "the close");
  });
});

describe("limits", { timeout: SUITE_MS }, () => {
  it("messages of a visitor, over all sockets", async (t) => {
    const { run, meet } = await scene(t, { messagesPerMinute: 2 });
    await run();
    const { socket, welcome } = await meet();
    const other = await meet({ token: welcome.token ?? "" });
    for (const index of [1, 2]) socket.send({ type: "send", id: `message-${index}`, text: "a" });
    await socket.next("accepted", 2);
    other.socket.send({ type: "send", id: "message-3", text: "a" });
    const { reason, id, retryAfterMs = 0 } = await other.socket.next("refused");
    assert.deepEqual([reason, id], ["rate", "message-3"]);
    assert.ok(retryAfterMs > 10_000 && retryAfterMs <= 30_000);
  });

  it("new visitors of an address, sockets of a visitor, and all sockets", async (t) => {
    const { run, meet, open } = await scene(t, { visitorsPerMinute: 2, maxVisitors: 8 });
    await run();
    const { welcome } = await meet();
    await meet();
    const third = await open();
    third.send({ type: "hello" });
    const { reason, retryAfterMs = 0 } = await third.next("refused");
    assert.ok(reason === "rate" && retryAfterMs > 0);
    await until(() => third.code() === 1013, "the close");
    const token = welcome.token ?? "";
    for (const _ of [2, 3, 4, 5]) await meet({ token });
    const sixth = await open();
    sixth.send({ type: "hello", token });
    assert.equal((await sixth.next("refused")).reason, "tabs");
    await until(() => sixth.code() === 1008, "the close");
    await Promise.all([open(), open()]);
    await assert.rejects(open(), /refused with 503/);
  });

  it("sockets of an address that say nothing", async (t) => {
    const { run, open } = await scene(t);
    await run();
    for (let count = 0; count < 20; count += 1) await open();
    await assert.rejects(open(), /refused with 429/);
  });
});

describe("a socket is refused", { timeout: SUITE_MS }, () => {
  it("for another origin, without one, for an unknown account, and while the account does not run", async (t) => {
    const { run, open, http } = await scene(t);
    await assert.rejects(open(), /refused with 503/);
    const { stop } = await run();
    await open();
    await assert.rejects(open({ origin: "https://evil.example" }), /refused with 403/);
    await assert.rejects(open({ origin: null }), /refused with 403/);
    await assert.rejects(open({ account: "other" }), /refused with 404/);
    assert.equal((await fetch(`${http}/plugins/webchat/default/socket`)).status, 400);
    const socket = await open();
    await stop();
    await until(() => socket.code() === 1012, "the close");
    await assert.rejects(open(), /refused with 503/);
  });

  it("except for programs that the setting permits, which may have a name of their own", async (t) => {
    const { run, meet } = await scene(t, {
      allowClientsWithoutOrigin: true,
      knownVisitors: { kiosk: hashOf("secret") },
    });
    await run();
    assert.equal((await meet({ origin: null, token: "secret" })).welcome.visitor, "kiosk");
    const stranger = await meet({ origin: null, token: hashOf("secret") });
    assert.notEqual(stranger.welcome.visitor, "kiosk");
  });
});
