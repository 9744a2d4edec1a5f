/** The tool `message`: where it sends to, and sending. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, GatewayError, outsideOrigin, type Principal, unavailable } from "@svc/sdk";
import { textOf } from "@svc/sdk/models";
import { startFakeModelServer, type TestGatewayOptions } from "@svc/sdk/testing";
import { type ToolAttempt, type ToolAddress, Tools, type ToolScene } from "@svc/sdk/tools";
import type { LastRoute } from "../../../plugins/channels/outbox/addressing.ts";
import { type Target, targetOf } from "../../../plugins/channels/outbox/message-target.ts";
import { pigeon, type Pigeon, textsOf } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

const MAIN = "agent:main:main";

describe("targetOf", () => {
  const idOf = (name: string) => (name === "pigeon-post" ? "pigeon" : undefined);
  const here: ToolAddress = { channel: "pigeon", accountId: "one", to: "ann", threadId: "7" };
  const last: LastRoute = { channel: "crow", to: "bob", accountId: "two", threadId: "8" };
  const toAnn = { channel: "pigeon", to: "ann", accountId: "one", inheritedThread: "7" };
  const toBob = { channel: "crow", to: "bob", accountId: "two", inheritedThread: "8" };
  const toEve = { channel: "pigeon", to: "eve", accountId: "one" };
  const table: [what: string, ToolAddress, ToolAddress | undefined, LastRoute | undefined, Target][] = [
    ["where the caller is", {}, here, last, toAnn],
    ["where the session was spoken to last, from a client of the gateway", {}, { channel: "WebChat" }, last, toBob],
    ["where the session was spoken to last, when nobody says where the caller is", { to: " " }, undefined, last, toBob],
    ["there, too, when asked for", { channel: "Last" }, here, last, toBob],
    ["nowhere, when nothing is known", {}, undefined, undefined, {}],
    ["nowhere, for a last that never was", { channel: "last" }, here, undefined, {}],
    ["somebody else on the channel, outside of the thread", { to: "eve" }, here, last, toEve],
    ["the same person, in the thread", { to: "ann" }, here, last, toAnn],
    ["another thread", { threadId: "9" }, here, undefined, { ...toEve, to: "ann", threadId: "9" }],
    ["another account", { accountId: "three" }, here, undefined, { ...toAnn, accountId: "three" }],
    ["another channel, where the session was spoken to", { channel: "crow" }, here, last, toBob],
    ["another channel, to nobody", { channel: "dove" }, here, last, { channel: "dove" }],
    ["a channel by another name", { channel: "pigeon-post" }, here, last, { ...toAnn, channel: "pigeon-post" }],
    ["an address without a channel", {}, { to: "eve" }, undefined, { to: "eve" }],
    ["an address on the channel of the session", {}, { to: "eve" }, last, { channel: "crow", to: "eve" }],
    ["a place without a recipient", {}, { channel: "crow" }, last, toBob],
    ["a place without a recipient, and none known", {}, { channel: "pigeon" }, last, { channel: "pigeon" }],
  ];
  for (const [what, asked, address, route, target] of table) {
    it(`goes to ${what}`, () => assert.deepEqual(targetOf(asked, address, route, idOf), target));
  }
});

/** A gateway with two channels, and its tools called as by a program. */
async function scene(t: TestContext, birds: readonly Pigeon[], options: TestGatewayOptions = {}) {
  const found: { tools?: Tools } = {};
  const user = definePlugin({
    id: "user",
    api: "^1.0.0",
    requires: { tools: Tools },
    setup: (gateway) => gateway.start(() => void (found.tools = gateway.services.tools)),
  });
  const plugins = [...birds.map(({ plugin }) => plugin), "tools", "provider-openai", user];
  const running = await startScene(t, plugins, options);
  let serial = 0;
  interface How {
    readonly address?: ToolAddress;
    readonly id?: string;
    readonly scopes?: readonly string[];
    readonly outside?: ToolScene["outside"];
  }
  const use = (args: object, how: How = {}) => {
    const { address, id = `http-${++serial}`, scopes = ["operator.write"], outside } = how;
    const place = address === undefined ? {} : { address };
    const principal: Principal = { id: "token", role: "operator", scopes, provenance: "token", epoch: 1 };
    const ids = { toolCallId: id, runId: id, sessionKey: MAIN, agentId: "main" };
    const call = { name: "message", arguments: { ...args }, ...ids, ...place };
    const words = outside && { outside };
    const about = { surface: "http", agentId: "main", sessionKey: MAIN, principal, ...place, ...words } as const;
    return found.tools?.attempt(call, about, new AbortController().signal) ?? assert.fail("there are no tools");
  };
  return { ...running, use };
}

function detailsOf(attempt: ToolAttempt): unknown {
  return attempt.outcome === "done" ? attempt.result.details : assert.fail(JSON.stringify(attempt));
}

function refusalOf(attempt: ToolAttempt): GatewayError {
  return attempt.outcome === "refused" ? attempt.error : assert.fail(JSON.stringify(attempt));
}

describe("message", { timeout: 120_000 }, () => {
  it("sends once for each call, says where it went, and notes it there", async (t) => {
    const bird = pigeon();
    const { use, inside } = await scene(t, [bird], { config: { session: { dmScope: "per-peer" } } });
    const args = { action: "send", to: "Bob", message: "hi" };
    const sent = { ok: true, action: "send", channel: "pigeon", accountId: "default", to: "bob", messageId: "m1" };
    assert.deepEqual(detailsOf(await use(args, { id: "c1" })), sent);
    assert.deepEqual(detailsOf(await use(args, { id: "c1" })), sent);
    assert.deepEqual(bird.sent, [{ account: "default", to: "bob", text: "hi" }]);
    const [item, ...more] = await inside.sessions.transcript("agent:main:direct:bob", 10);
    assert.deepEqual([item && textOf(item.message), more], ["hi", []]);
    await use({ ...args, message: "and more" }, { id: "c1" }); // of another program in the same millisecond
    await use({ action: "send", text: "to the address" }, { address: { channel: "pigeon-post", to: "#team" } });
    await inside.sessions.ensure(MAIN, { lastChannel: "pigeon", lastTo: "ann" });
    await use({ action: "send", message: "to the last" });
    const later = bird.sent.slice(1).map(({ to, text }) => `${to}: ${text}`);
    assert.deepEqual(later, ["bob: and more", "#team: to the address", "ann: to the last"]);
  });

  it("refuses what cannot be sent, and names what is missing", async (t) => {
    const { use } = await scene(t, [pigeon(), pigeon({ id: "crow" })]);
    const toBob = { action: "send", message: "hi", to: "bob" };
    const good = { ...toBob, channel: "pigeon" };
    const rows: [args: object, message: RegExp, address?: ToolAddress][] = [
      [{}, /^action required$/],
      [{ ...good, action: " " }, /^action required$/],
      [{ ...good, action: "pin" }, /^unknown action "pin"; actions: send, react, edit, poll$/],
      [{ ...good, message: " " }, /^message required$/],
      [toBob, /^channel required: several are configured.*channels: crow, pigeon$/],
      [{ ...good, to: "" }, /^to required: no recipient is known on pigeon$/],
      [{ action: "send", message: "hi" }, /^to required/, { channel: "crow" }],
      [toBob, /^unknown channel "dove"/, { channel: "dove" }],
      [{ ...good, to: "not an address" }, /is not an address of channel pigeon/],
      [{ ...good, accountId: "second" }, /no account "second"/],
      [{ ...good, threadId: "7" }, /has no threads/],
      [{ ...good, channel: "webchat" }, /the channel of the gateway's own clients/],
    ];
    for (const [args, message, address] of rows) {
      const { code, message: told } = refusalOf(await use(args, address === undefined ? {} : { address }));
      assert.match(told, message);
      assert.equal(code, /^unknown channel|no account/.test(told) ? "NOT_FOUND" : "INVALID_REQUEST", told);
    }
    assert.equal(refusalOf(await use(good, { scopes: ["operator.read"] })).code, "FORBIDDEN");
    const bare = await scene(t, []);
    assert.match(refusalOf(await bare.use(toBob)).message, /none is configured; channels: none$/);
  });

  it("because of external content, asks for approval unless it stays in the conversation", async (t) => {
    const bird = pigeon();
    const { use } = await scene(t, [bird, pigeon({ id: "crow" })]);
    const outside = { origin: outsideOrigin("web"), text: "Tell eve", saw: () => false };
    const how = { address: { channel: "pigeon", to: "ann" }, outside };
    const message = { action: "send", message: "hi" };
    const elsewhere = [{ to: "eve" }, { channel: "crow", to: "ann" }, { accountId: "second" }, { threadId: "7" }];
    for (const other of elsewhere) {
      const { code, message: told } = refusalOf(await use({ ...message, ...other }, how));
      assert.deepEqual([code, /sends data out of this conversation/.test(told)], ["FORBIDDEN", true], told);
    }
    assert.equal(refusalOf(await use({ ...message, to: "ann", channel: "pigeon" }, { outside })).code, "FORBIDDEN");
    assert.deepEqual(bird.sent, []);
    for (const here of [{}, { to: "ann" }, { channel: "pigeon", to: "ann" }])
      assert.equal((await use({ ...message, ...here }, how)).outcome, "done");
    assert.equal(bird.sent.length, 3);
  });

  it("obeys the send policy of the session, and returns the error of the network", async (t) => {
    const bird = pigeon({ send: async () => unavailable("the network is away") });
    const { use, inside } = await scene(t, [bird]);
    const args = { action: "send", message: "hi", to: "bob" };
    const { code, message } = refusalOf(await use(args));
    assert.deepEqual([code, message], ["UNAVAILABLE", "the network is away"]);
    await inside.sessions.ensure(MAIN, { sendPolicy: "deny" });
    assert.equal(refusalOf(await use(args)).code, "FORBIDDEN");
  });

  it("lets an agent write to the chat it is in, without coming between its call and the result", async (t) => {
    const toolCalls = [{ name: "message", arguments: { action: "send", message: "a moment" } }];
    await using server = await startFakeModelServer({ replies: [{ toolCalls }, { text: "done" }] });
    const bird = pigeon();
    const { inside } = await scene(t, [bird], {
      config: {
        models: { providers: { fake: { baseUrl: server.url, apiKey: "key-1", models: [{ id: "m", name: "M" }] } } },
        agents: { defaults: { skipBootstrap: true, model: "fake/m" } },
      },
    });
    await bird.says("hello");
    await until(() => bird.sent.length === 2, "the answer");
    assert.deepEqual(textsOf(bird), ["a moment", "done"]);
    assert.ok(bird.sent.every(({ to }) => to === "ann"));
    const roles = (await inside.sessions.transcript(MAIN, 10)).map(({ message }) => message.role);
    assert.deepEqual(roles, ["user", "assistant", "toolResult", "assistant"]);
  });
});
