/** `send`, `poll`, `channels.*` and the `Delivery` service, through a gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { invalidRequest, unavailable } from "@svc/sdk";
import { channels, outbound } from "@svc/sdk/channels";
import { textOf } from "@svc/sdk/models";
import { createFakeClock } from "@svc/sdk/testing";
import { KEPT_MS } from "../../../plugins/channels/outbox/sending.ts";
import { pigeon, textsOf, untilStopped } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

let serial = 0;
const key = () => `send-${++serial}`;

describe("send", { timeout: 120_000 }, () => {
  it("sends, and notes it in the session of the recipient", async (t) => {
    const bird = pigeon({ maxTextChars: 20 });
    const { client, inside } = await startScene(t, [bird.plugin], { config: { session: { dmScope: "per-peer" } } });
    const idempotencyKey = key();
    const message = "one two three four five six";
    const sent = await client.call(outbound.send, { to: " Bob ", message, idempotencyKey });
    assert.deepEqual(sent, { runId: idempotencyKey, messageId: "m2", channel: "pigeon", chatId: "bob" });
    assert.deepEqual(textsOf(bird), ["one two three four", "five six"]);
    const [item, ...more] = await inside.sessions.transcript("agent:main:direct:bob", 10);
    assert.deepEqual(more, []);
    assert.equal(item && textOf(item.message), message);
    assert.deepEqual(item?.message.role === "assistant" && item.message.model, "delivery-mirror");
    const toAll = { to: "#team", message: "hi all", channel: "pigeon-post", idempotencyKey: key() };
    await client.call(outbound.send, toAll);
    assert.equal((await inside.sessions.transcript("agent:main:pigeon:group:#team", 10)).length, 1);
    await client.call(outbound.send, { to: "bob", message: "noted", sessionKey: "Elsewhere", idempotencyKey: key() });
    assert.equal((await inside.sessions.transcript("agent:main:elsewhere", 10)).length, 1);
  });

  it("sends once per key, also while the first call is in progress, and returns the same result [W14.3]", async (t) => {
    const waiting: (() => void)[] = [];
    let refuse = false;
    const bird = pigeon({
      async send() {
        await new Promise<void>((resolve) => waiting.push(resolve));
        if (refuse) unavailable("the network is away");
        return { messageId: "net-1" };
      },
    });
    const clock = createFakeClock();
    const { client, inside } = await startScene(t, [bird.plugin], { gateway: { clock } });
    const params = { to: "bob", message: "hi", idempotencyKey: key() };
    const both = [client.call(outbound.send, params), client.call(outbound.send, { ...params, message: "other" })];
    await until(() => waiting.length === 1, "the first");
    waiting.shift()?.();
    const [first, second] = await Promise.all(both);
    assert.deepEqual(first, second);
    assert.deepEqual(await client.call(outbound.send, params), first);
    assert.deepEqual(textsOf(bird), ["hi"]);
    assert.equal((await inside.sessions.transcript("agent:main:main", 10)).length, 1);

    refuse = true;
    const failing = { ...params, idempotencyKey: key() };
    const failed = client.call(outbound.send, failing);
    await until(() => waiting.shift(), "the second").then((go) => go());
    const refusal = { code: "UNAVAILABLE", message: "the network is away" };
    await assert.rejects(failed, refusal);
    refuse = false;
    await assert.rejects(client.call(outbound.send, failing), refusal);
    await clock.advance(KEPT_MS + 1);
    const again = client.call(outbound.send, failing);
    await until(() => waiting.shift(), "the third").then((go) => go());
    assert.equal((await again).messageId, "net-1");
  });

  it("refuses what cannot be sent, and says why", async (t) => {
    const off = { id: "off", enabled: false };
    const [one, two] = [pigeon(), pigeon({ id: "crow", accounts: [off] })];
    const { client } = await startScene(t, [one.plugin, two.plugin]);
    const good = { to: "bob", message: "hi", channel: "pigeon" };
    const rows: [params: object, message: RegExp, code?: string][] = [
      [{ ...good, message: "" }, /message is empty/],
      [{ ...good, message: " ", mediaUrl: "" }, /message is empty/],
      [
        { ...good, mediaUrl: "https://x.example/a.png" },
        /^Pigeon does not support files; put the URL into the message$/,
      ],
      [
        { ...good, mediaUrls: ["https://x.example/a.png"], message: undefined },
        /^Pigeon does not support files; put the URL into the message$/,
      ],
      [{ ...good, channel: "dove" }, /^unknown channel "dove"; channels: crow, pigeon$/, "NOT_FOUND"],
      [{ ...good, channel: "webchat" }, /"webchat" is the channel of the gateway's own clients/],
      [{ ...good, to: "not an address" }, /"not an address" is not an address of channel pigeon/],
      [{ ...good, accountId: "second" }, /no account "second"; accounts: default/, "NOT_FOUND"],
      [{ ...good, threadId: "7" }, /has no threads/],
      [{ ...good, agentId: "nobody" }, /no agent "nobody"/],
      [{ ...good, sessionKey: "agent::" }, /malformed|session key/],
    ];
    for (const [params, message, code = "INVALID_REQUEST"] of rows) {
      await assert.rejects(client.request("send", { ...params, idempotencyKey: key() }), { code, message });
    }
    const { channel } = await client.call(outbound.send, { to: "bob", message: "hi", idempotencyKey: key() });
    assert.equal(channel, "pigeon", "the only configured one is the default");
    const question = { to: "bob", question: "When?", options: ["now", "later"], idempotencyKey: key() };
    const noPolls = { code: "INVALID_REQUEST", message: /channel pigeon does not support polls/ };
    await assert.rejects(client.call(outbound.poll, question), noPolls);
    const unknown = { code: "NOT_FOUND", message: /^unknown channel "x"/ };
    await assert.rejects(client.call(outbound.poll, { ...question, channel: "x" }), unknown);
  });

  it("does not choose between several channels, or none", async (t) => {
    const { client } = await startScene(t, [pigeon().plugin, pigeon({ id: "crow" }).plugin]);
    const params = { to: "bob", message: "hi", idempotencyKey: key() };
    const several = { code: "INVALID_REQUEST", message: /several channels are configured/ };
    await assert.rejects(client.call(outbound.send, params), several);
    const bare = await startScene(t, []);
    const none = { code: "INVALID_REQUEST", message: /no channel is configured; no channel is loaded/ };
    await assert.rejects(bare.client.call(outbound.send, params), none);
    const status = await bare.client.call(channels.status, { probe: true });
    assert.deepEqual([status.channelOrder, status.channelAccounts, status.channelMeta], [[], {}, []]);
  });
});

describe("the Delivery service", { timeout: 120_000 }, () => {
  it("finds the last place, an explicit one, or says why there is none", async (t) => {
    const [bird, crow] = [pigeon(), pigeon({ id: "crow", accounts: [{ id: "black" }] })];
    const { inside } = await startScene(t, [bird.plugin, crow.plugin]);
    const { delivery, sessions } = inside;
    const sessionKey = "agent:main:main";
    const send = (channel: string, to?: string, text = "hello") =>
      delivery.deliver({ id: key(), channel, sessionKey, text, ...(to === undefined ? {} : { to }) });
    assert.deepEqual(delivery.channels(), ["crow", "pigeon"]);
    const ids = [" PIGEON ", "pigeon-post", "dove"].map((name) => delivery.channelId(name));
    assert.deepEqual(ids, ["pigeon", "pigeon", undefined]);
    const reasonOf = async (...given: Parameters<typeof send>) => {
      const outcome = await send(...given);
      return outcome.delivered ? "delivered" : outcome.reason;
    };
    assert.match(await reasonOf("last"), /has no last channel, and several are configured/);
    assert.match(await reasonOf("pigeon"), /no recipient is known/);
    assert.match(await reasonOf("dove", "bob"), /^unknown channel "dove"; channels: /);
    assert.match(await reasonOf("pigeon", "no address"), /is not an address of channel pigeon/);
    assert.match(await reasonOf("pigeon", "bob", " "), /the text is empty/);
    assert.deepEqual(await send("crow", "Bob"), { delivered: true, channel: "crow", to: "bob", accountId: "black" });
    assert.deepEqual(crow.sent, [{ account: "black", to: "bob", text: "hello" }]);
    await sessions.ensure(sessionKey, { lastChannel: "pigeon", lastTo: "ann" });
    const toAnn = { delivered: true, channel: "pigeon", to: "ann", accountId: "default" };
    assert.deepEqual(await send("last"), toAnn);
    assert.deepEqual(await send("pigeon"), toAnn);
    const direct = { id: key(), channel: "last", sessionKey, text: "hello", allowsDirect: false };
    assert.deepEqual(await delivery.deliver(direct), {
      delivered: false,
      reason: "ann is a direct chat, which this delivery does not allow",
      code: "dm-blocked",
    });
    assert.equal((await delivery.deliver({ ...direct, to: "#all" })).delivered, true);
    assert.deepEqual(delivery.heartbeats(), { showOk: false, showAlerts: true, useIndicator: true });
    assert.match(await reasonOf("crow"), /no recipient is known/);
    await sessions.ensure(sessionKey, { sendPolicy: "deny" });
    assert.match(await reasonOf("last"), /send policy/);
  });

  it("knows the session that messages of a conversation belong to", async (t) => {
    const target = (text: string) => text.trim().toLowerCase() || undefined;
    const accounts = [{ id: "black" }, { id: "grey", isDefault: true, allowFrom: ["ann"] }];
    const crow = pigeon({ id: "crow", accounts, more: { target } });
    const session = { dmScope: "per-account-channel-peer" };
    const { inside } = await startScene(t, [crow.plugin], { config: { session } });
    const { sessionOf } = inside.delivery;
    assert.equal(await sessionOf({ channel: "Crow-Post", to: " #All " }), "agent:main:crow:group:#all");
    await until(() => crow.running.has("grey"), "the account");
    const receipt = await crow.says("hi", { account: "grey" });
    assert.deepEqual(receipt, { accepted: true, sessionKey: await sessionOf({ channel: "crow", to: "user:Ann" }) });
    const ann = { channel: "crow", to: "Ann", accountId: "black" };
    assert.equal(await sessionOf(ann), "agent:main:crow:black:direct:ann");
    const refused: [place: object, code: string, message: RegExp][] = [
      [{ to: " " }, "INVALID_REQUEST", /is not an address of channel crow/],
      [{ accountId: "red" }, "NOT_FOUND", /no account "red"/],
      [{ threadId: "7" }, "INVALID_REQUEST", /has no threads/],
      [{ channel: "dove" }, "NOT_FOUND", /unknown channel/],
    ];
    for (const [place, code, message] of refused)
      await assert.rejects(sessionOf({ ...ann, ...place }), { code, message });
  });

  it("sends once per id, and returns the outcome, without secrets of the account", async (t) => {
    let failures = 0;
    const bird = pigeon({
      accounts: [{ settings: { password: "pw-secret" } }],
      async send({ text }) {
        if (text === "never") invalidRequest("nobody is at pw-secret");
        if (text === "late" && failures++ < 2) throw new Error("socket hang up");
        return {};
      },
    });
    const { inside, client } = await startScene(t, [bird.plugin]);
    const request = { channel: "pigeon", to: "bob", sessionKey: "agent:main:main" };
    const deliver = (id: string, text: string) => inside.delivery.deliver({ ...request, id, text });
    const done = { delivered: true, channel: "pigeon", to: "bob", accountId: "default" };
    const outcomes = await Promise.all([deliver("a", "x"), deliver("a", "x"), deliver("b", "late")]);
    assert.deepEqual(outcomes, [done, done, done]);
    assert.deepEqual(await deliver("a", "y"), done);
    const reason = "nobody is at (hidden)";
    assert.deepEqual(await deliver("c", "never"), { delivered: false, reason });
    const failed = await inside.storage.all("SELECT reason FROM channel_outbox WHERE status = 'failed'");
    assert.deepEqual(failed, [{ reason }]);
    assert.deepEqual(textsOf(bird), ["x", "late"]);
    assert.equal(failures, 3);
    const status = await client.call(channels.status, {});
    assert.equal(status.channelAccounts["pigeon"]?.[0]?.failedOutbound, 1);
  });
});

describe("channels.logout and probes", { timeout: 120_000 }, () => {
  it("logs out where the channel can, and leaves the account stopped", async (t) => {
    const asked: unknown[] = [];
    let cleared = true;
    const logout = async ({ accountId, settings }: { accountId: string; settings: unknown }) => {
      asked.push([accountId, settings, bird.running.has(accountId)]);
      if (!cleared) throw new Error("cannot reach pass-1234");
      return { cleared };
    };
    const accounts = [{ id: "one", settings: { password: "pass-1234" } }, { id: "two" }];
    const bird = pigeon({ accounts, more: { logout } });
    const { client } = await startScene(t, [bird.plugin, pigeon({ id: "crow" }).plugin]);
    await until(() => bird.running.size === 2, "both accounts");
    const done = { channel: "pigeon", accountId: "one", cleared: true, loggedOut: true };
    assert.deepEqual(await client.call(channels.logout, { channel: "pigeon" }), done);
    assert.deepEqual(asked, [["one", { password: "pass-1234" }, false]]);
    assert.deepEqual([...bird.running.keys()], ["two"]);
    const [one] = (await client.call(channels.status, {})).channelAccounts["pigeon"] ?? [];
    assert.deepEqual([one?.running, one?.linked, one?.state], [false, false, "logged-out"]);
    cleared = false;
    await assert.rejects(client.call(channels.logout, { channel: "pigeon", accountId: "one" }), {
      code: "UNAVAILABLE",
      message: "channel pigeon could not log out: cannot reach (hidden)",
    });
    await until(() => bird.running.has("one"), "the account again");
    const refusals: [params: { channel: string; accountId?: string }, code: string, message: RegExp][] = [
      [{ channel: "dove" }, "NOT_FOUND", /^unknown channel "dove"/],
      [{ channel: "crow" }, "INVALID_REQUEST", /channel crow has no logout/],
      [{ channel: "pigeon", accountId: "x" }, "NOT_FOUND", /no account "x"/],
    ];
    for (const [params, code, message] of refusals)
      await assert.rejects(client.call(channels.logout, params), { code, message });
  });

  it("queries the network on request, reveals no secret, and reports a failure", async (t) => {
    let answer: () => Promise<unknown> = async () => ({ bot: "bird", url: "https://x.example/pass-1234" });
    const accounts = [{ settings: { token: "pass-1234" } }, { id: "off", enabled: false }];
    const bird = pigeon({ accounts, more: { probe: () => answer() } });
    const { client } = await startScene(t, [bird.plugin, pigeon({ id: "crow" }).plugin]);
    const quiet = await client.call(channels.status, {});
    assert.equal("probe" in (quiet.channelAccounts["pigeon"]?.[0] ?? {}), false);
    const { channelAccounts } = await client.call(channels.status, { probe: true });
    const [probed, off] = channelAccounts["pigeon"] ?? [];
    assert.deepEqual([probed?.probe, off?.probe], [{ bot: "bird", url: "https://x.example/(hidden)" }, undefined]);
    assert.equal("probe" in (channelAccounts["crow"]?.[0] ?? {}), false);
    assert.doesNotMatch(JSON.stringify(channelAccounts), /pass-1234/);
    answer = () => Promise.reject(new Error("bad token pass-1234"));
    await assert.rejects(client.call(channels.status, { probe: true }), {
      code: "UNAVAILABLE",
      message: /failed: bad token \(hidden\)$/,
    });
    answer = () => untilStopped({ signal: new AbortController().signal }); // never
    await assert.rejects(client.call(channels.status, { probe: true, timeoutMs: 0 }), {
      code: "UNAVAILABLE",
      message: /no response within 1000 ms/,
    });
  });
});
