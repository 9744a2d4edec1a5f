/** Linking a number: QR code, pairing code, restarts, and the end of a link. */
// own process: the certificate of the test's server is not checked
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { channelLogin, channels } from "@svc/sdk/channels";
import { until } from "../channels/scene.ts";
import { createPerson } from "./person.ts";
import { ADA, channelOf, gatewayFor, gatewayOf, linked, linkedChannel, OWN, SUITE_MS, trustAll } from "./scene.ts";
import { startServer } from "./server.ts";

trustAll();

describe("a number", { timeout: SUITE_MS }, () => {
  it("is linked by a QR code, after the choice of the way, and answers", async (t) => {
    const server = await startServer(t);
    const ada = await createPerson(t, server, ADA);
    const { client, account, connects, section } = await gatewayFor(t, server, { transport: undefined });
    const { loginId, step: choice } = await client.call(channelLogin.start, { channel: "whatsapp" });
    assert.deepEqual(
      choice.fields?.map(({ key, help }) => [key, help]),
      [["transport", "web: a personal number, as a linked device; empty: a business number of the Cloud API"]],
    );
    const next = (answers: object = {}) => client.call(channelLogin.next, { loginId, answers: { ...answers } });
    const { step: form } = await next({ transport: "web" });
    assert.deepEqual(
      form.fields?.map(({ key }) => key),
      ["phone", "selfChat"],
    );
    const { step } = await next();
    assert.match(step.message, /Linked devices > Link a device, and scan this code/);
    const done = next();
    await server.scans(step.qr ?? "", OWN);
    assert.equal((await done).step.message, `The gateway is linked with +${OWN}.`);
    const { transport, number } = await section();
    assert.deepEqual({ transport, number }, { transport: "web", number: OWN });
    await connects();
    assert.equal((await account())?.state, `connected: +${OWN}`);
    await ada.sends(OWN, { text: "echo hello" });
    await until(() => ada.heard().includes("hello"), "the answer");
  });

  it("is linked by a code that is entered on the phone, also for the own chat", async (t) => {
    const server = await startServer(t);
    const { begins, connects, section } = await gatewayFor(t, server);
    const { step, next } = await begins({ phone: "+49 151 0000-0001", selfChat: "yes" });
    const code = /([A-Z0-9]{4})-([A-Z0-9]{4})$/.exec(step.message);
    assert.ok(code, step.message);
    const done = next();
    await server.enters(`${code[1]}${code[2]}`);
    assert.equal((await done).step.kind, "done");
    await connects();
    assert.equal((await section())["selfChat"], true);
    const owner = await createPerson(t, server, OWN, "Owner");
    await owner.sends(OWN, { text: "echo to myself" });
    await until(() => owner.heard().includes("to myself"), "the answer, although allowFrom does not list the owner");
  });

  it("stays linked over restarts", async (t) => {
    const { server, ada, client, gateway, stateDir } = await linked(t);
    await ada.sends(OWN, { text: "echo one" });
    await until(() => ada.heard().includes("one"), "the answer");
    await client.close();
    await gateway.stop();
    await ada.sends(OWN, { text: "echo two" });
    const second = await gatewayOf(t, server, stateDir);
    await second.connects();
    await until(() => ada.heard().includes("two"), "the answer of the second gateway");
  });

  it("can be linked again after the phone has removed the gateway, which is told once and at once", async (t) => {
    const { server, ada, account, links, connects } = await linked(t);
    const { logins } = server.state;
    server.removes(OWN);
    await until(async () => (await account())?.state === "needs-login", "the state");
    const { lastError, nextAttemptAt, running } = (await account()) ?? {};
    assert.match(lastError ?? "", /not linked with the gateway any more; next: svc channels login whatsapp$/);
    assert.deepEqual([nextAttemptAt, running, server.state.logins], [null, false, logins]);
    await links();
    await connects();
    await ada.sends(OWN, { text: "echo again" });
    await until(() => ada.heard().includes("again"), "the answer");
  });

  it("is unlinked by a logout", async (t) => {
    const { server, client, account } = await linked(t);
    const { cleared, loggedOut } = await client.call(channels.logout, { channel: "whatsapp" });
    assert.deepEqual([cleared, loggedOut, server.isLinked(OWN)], [true, true, false]);
    assert.equal((await account())?.connected, false);
  });

  it("is forgotten by a logout that cannot reach WhatsApp", async (t) => {
    const { server, channel, call, world } = await linkedChannel(t);
    server.state.failure = "503";
    assert.deepEqual(await channel.logout?.(call), { cleared: true, loggedOut: false });
    assert.deepEqual(world.memory.database.prepare("SELECT * FROM whatsapp_web_keys").all(), []);
    assert.deepEqual(await channel.logout?.(call), { cleared: false, loggedOut: false });
  });
});

describe("a login", { timeout: SUITE_MS }, () => {
  it("refuses wrong numbers, a second link, and one that has ended", async (t) => {
    const server = await startServer(t);
    const { begins, links, connects } = await gatewayFor(t, server);
    await assert.rejects(begins({ phone: "0151 1" }), { code: "INVALID_REQUEST", message: /with its country code/ });
    await assert.rejects(begins({ selfChat: "maybe" }), { code: "INVALID_REQUEST", message: /answer yes or no/ });
    await links();
    await connects();
    await assert.rejects(begins(), { code: "INVALID_REQUEST", message: /linked with \+4915100000001; next: svc/ });
  });

  it("tells when WhatsApp ends it", async (t) => {
    const server = await startServer(t);
    const { begins } = await gatewayFor(t, server);
    const { next } = await begins();
    const waiting = next();
    server.forgets();
    await assert.rejects(waiting, { code: "UNAVAILABLE", message: /begin the login again/ });
  });

  it("that is cancelled leaves no connection", async (t) => {
    const server = await startServer(t);
    const { client } = await gatewayFor(t, server);
    const { loginId } = await client.call(channelLogin.start, { channel: "whatsapp" });
    await client.call(channelLogin.next, { loginId, answers: {} });
    assert.equal(server.candidates(), 1);
    const waiting = client.call(channelLogin.next, { loginId, answers: {} });
    await client.call(channelLogin.cancel, { loginId });
    await assert.rejects(waiting);
    await until(() => server.candidates() === 0, "the end of the connection");
  });
});

describe("a connection", { timeout: SUITE_MS }, () => {
  it("is made again after an interruption, and after a restart that WhatsApp asks for", async (t) => {
    const { server, ada, connects } = await linked(t);
    server.drops(OWN);
    await until(() => server.state.logins === 2, "the second connection");
    await connects();
    server.restarts(OWN);
    await until(() => server.state.logins === 3, "the third connection");
    await ada.sends(OWN, { text: "echo still here" });
    await until(() => ada.heard().includes("still here"), "the answer");
  });

  for (const [reason, code, message] of [
    ["403", "NOT_LINKED", /has blocked the number/],
    ["405", "UNAVAILABLE", /refuses this version; next: update the plugin/],
    ["503", "UNAVAILABLE", /ended \(503\)/],
  ] as const)
    it(`that WhatsApp refuses with ${reason} is told`, async (t) => {
      const { server, start, world } = await linkedChannel(t);
      server.state.failure = reason;
      const error = await start(t).ended;
      assert.equal(Object(error).code, code);
      assert.match(String(error), message);
      server.state.failure = undefined;
      assert.ok(await channelOf(t, world));
      await start(t).reported("connected");
    });

  it("that another program takes over is not fought for", async (t) => {
    const { server, start } = await linkedChannel(t);
    const first = start(t);
    await first.reported("connected");
    server.replaces(OWN);
    const error = await first.ended;
    assert.equal(Object(error).code, "NOT_LINKED");
    assert.match(String(error), /another program uses the login/);
  });
});
