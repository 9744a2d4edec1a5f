/** Access of unknown people by code, tool rules of groups, and logins, through a gateway. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, invalidRequest, unavailable } from "@svc/sdk";
import { channelLogin, channelPairing, type ChannelLoginSteps, channels, webLogin } from "@svc/sdk/channels";
import type { GatewayClient } from "@svc/sdk/client";
import { createFakeClock, runCommand, type TestGatewayOptions } from "@svc/sdk/testing";
import { GroupToolPolicy } from "@svc/sdk/tools";
import commands from "../../../plugins/channels/cli.ts";
import { CODE_MS, Pairing } from "../../../plugins/channels/access/pairing.ts";
import { OpenStorage } from "../../../plugins/channels/open-storage.ts";
import { SEVERAL_IN_MAIN } from "../../../plugins/channels/accounts/status.ts";
import { LET_IN_TEXT } from "../../../plugins/channels/pairing-methods.ts";
import { publishedViolations } from "../../published.ts";
import { able } from "./able.ts";
import { memoryStorage } from "./memory-storage.ts";
import { pigeon, textsOf, untilStopped } from "./pigeon.ts";
import { startScene, until } from "./scene.ts";

const stranger = (id: string, name?: string) => ({
  chat: { type: "direct", id } as const,
  sender: { id, ...(name === undefined ? {} : { name }) },
});
/** Options of a gateway whose configuration is a file, so that it can be changed. */
async function withFile(t: TestContext): Promise<TestGatewayOptions> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-login-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ agents: { defaults: { skipBootstrap: true } } }));
  return { stateDir, gateway: { config: undefined } };
}

/** The client of the test, which a command must not close. */
const keptOpen = (client: GatewayClient) =>
  ({ call: client.call.bind(client), close: async () => undefined }) as unknown as GatewayClient; // all that the commands use
const CODE = /[A-HJ-NP-Z2-9]{8}/;
const codeIn = (text: string | undefined): string => CODE.exec(text ?? "")?.[0] ?? "";

describe("a stranger", { timeout: 120_000 }, () => {
  it("gets a code, and talks to the agent once the owner has approved it", async (t) => {
    const scene = await able(t, { capabilities: { markup: "plain", edits: false } });
    const { client, bird, messages } = scene;
    const refused = { accepted: false, reason: "pairing" };
    assert.deepEqual(await bird.says("hello", stranger("bob", "Bob")), refused);
    await until(() => messages.length === 1, "the code");
    const code = codeIn(messages[0]?.text);
    assert.ok(messages[0]?.text.includes(`svc channels pairing approve pigeon ${code}`), messages[0]?.text);
    assert.deepEqual(await bird.says("hello again", stranger("bob", "Bob")), refused);

    const { pending, approved } = await client.call(channelPairing.list, {});
    assert.deepEqual(
      [pending.map((one) => [one.channel, one.accountId, one.senderId, one.senderName, one.code]), approved],
      [[["pigeon", "default", "bob", "Bob", code]], []],
    );
    const [account] = (await client.call(channels.status, {})).channelAccounts["pigeon"] ?? [];
    assert.deepEqual([account?.pendingPairings, account?.refusedInbound, account?.dmPolicy], [1, 2, "pairing"]);
    assert.equal(account?.lastRefusedInbound?.next, "svc channels pairing list pigeon");

    const wrong = client.call(channelPairing.approve, { channel: "pigeon", code: "AAAAAAAA" });
    await assert.rejects(wrong, { code: "NOT_FOUND", message: /no pairing code "AAAAAAAA" waits on pigeon/ });
    const listed = await client.call(channelPairing.list, {});
    assert.deepEqual(publishedViolations("ChannelsPairingListResult", listed), []);
    assert.deepEqual(listed.accounts.map(({ channel, accountId }) => [channel, accountId]), [["pigeon", "default"]]); // prettier-ignore
    assert.deepEqual(listed.requests.map(({ requestId, senderLabel }) => [requestId, senderLabel]), [[code, "Bob"]]); // prettier-ignore
    const both = client.call(channelPairing.approve, { channel: "pigeon", code, requestId: code });
    await assert.rejects(both, { code: "INVALID_REQUEST", message: /exclude each other/ });
    const typed = ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `;
    const { approved: now } = await client.call(channelPairing.approve, { channel: "pigeon", requestId: typed });
    assert.equal(now.senderId, "bob");
    await until(() => messages.length === 2, "the notice");
    assert.equal(messages[1]?.text, LET_IN_TEXT);
    assert.equal((await bird.says("hello", stranger("bob"))).accepted, true);
    await until(() => messages.length === 3, "the answer");
    assert.doesNotMatch(scene.asked(), /EXTERNAL/, "the agent works for an approved person");
    const [after] = (await client.call(channels.status, {})).channelAccounts["pigeon"] ?? [];
    assert.equal(after?.lastRefusedInbound, undefined, "the sender is no longer a refused one");
    assert.deepEqual(
      after?.warnings?.map(({ message }) => message),
      [SEVERAL_IN_MAIN.message],
      "ann and bob share a session",
    );
    assert.deepEqual(await bird.says("x", { ...stranger("bob"), chat: { type: "group", id: "#x" }, mentioned: true }), {
      accepted: false,
      reason: "not-allowed",
    });
    const removed = await client.call(channelPairing.remove, { channel: "pigeon", senderId: "bob" });
    assert.deepEqual([removed, await bird.says("hello", stranger("bob"))], [{ removed: true }, refused]);
  });

  it("gets no code when three wait, and a new one when a code has expired", async (t) => {
    const clock = createFakeClock();
    const { bird, messages, client } = await able(t, { gateway: { clock }, capabilities: { edits: false } });
    await Promise.all(["b1", "b2", "b3", "b4"].map((id) => bird.says("hi", stranger(id))));
    await bird.says("hi", { ...stranger("b5"), event: { kind: "reaction", messageId: "1", emoji: "x" } });
    await until(() => messages.length === 3, "three codes");
    assert.deepEqual(
      messages.map(({ to }) => to),
      ["b1", "b2", "b3"],
    );
    await clock.advance(CODE_MS);
    const code = codeIn(messages[0]?.text);
    await assert.rejects(client.call(channelPairing.approve, { channel: "pigeon", code }), { code: "NOT_FOUND" });
    await bird.says("hi", stranger("b4"));
    await until(() => messages.length === 4, "the fourth code");
    assert.equal(new Set(messages.map(({ text }) => codeIn(text))).size, 4);
  });

  it("keeps the access over a restart; an approval that storage refuses gives none", async () => {
    const memory = memoryStorage();
    const clock = createFakeClock();
    const pairing = new Pairing(new OpenStorage(memory.storage), clock);
    const request = { channel: "pigeon", accountId: "default", senderId: "bob", chatId: "bob" };
    const code = (await pairing.request(request, () => [])) ?? "";
    memory.fault = () => ({ when: "before", error: () => unavailable("the disk is full") });
    await assert.rejects(pairing.approve("pigeon", undefined, code), { code: "UNAVAILABLE" });
    assert.equal(pairing.isApproved("pigeon", "default", "bob"), false);
    memory.fault = () => undefined;
    await pairing.approve("pigeon", undefined, code);
    const next = new Pairing(new OpenStorage(memory.storage), clock);
    assert.equal(next.isApproved("pigeon", "default", "bob"), false, "not loaded yet");
    await next.load();
    assert.equal(next.isApproved("pigeon", "default", "bob"), true);
    assert.equal(next.isApproved("pigeon", "other", "bob"), false);
    assert.equal(
      await next.request(request, () => []).then((again) => again !== undefined),
      true,
      "a request changes no approval",
    );
    const [still] = await next.approved();
    assert.equal(still?.senderId, "bob");
  });

  it("is listed, approved and removed with the commands", async (t) => {
    const { bird, messages, client } = await able(t, { capabilities: { edits: false } });
    await bird.says("hi", stranger("bob", "Bob"));
    await until(() => messages.length === 1, "the code");
    const code = codeIn(messages[0]?.text);
    const connect = async () => keptOpen(client);
    const list = await runCommand(commands, "channels pairing list", { connect });
    assert.match(list.text, new RegExp(`pigeon +default +${code} +bob +Bob`));
    assert.match(list.text, new RegExp(`Next: svc channels pairing approve pigeon ${code}`));
    const approved = await runCommand(commands, "channels pairing approve", { args: ["pigeon", code], connect });
    assert.equal(approved.text, "Bob (bob) has access to the agent on pigeon.");
    const removed = await runCommand(commands, "channels pairing remove", { args: ["pigeon", "bob"], connect });
    assert.deepEqual([removed.code, removed.text], [0, "bob has no access on pigeon any more."]);
    const again = await runCommand(commands, "channels pairing remove", { args: ["pigeon", "bob"], connect });
    assert.equal(again.code, 1);
  });
});

describe("the tools of a group", { timeout: 120_000 }, () => {
  it("are those of its rules by sender, else its other rules, else those of all groups", async (t) => {
    const found: { policy?: GroupToolPolicy } = {};
    const reader = definePlugin({
      id: "reader",
      api: "^1.0.0",
      requires: { policy: GroupToolPolicy },
      setup: (gateway) => gateway.start(() => void (found.policy = gateway.services.policy)),
    });
    const toolsByGroup = {
      "#Team": { tools: { deny: ["exec"] }, bySender: { "*": { allow: ["read"] }, ann: { allow: ["exec"] } } },
      "#open": { tools: { deny: ["write"] } },
      Thread7: { tools: { allow: ["write"] } },
      "*": { tools: { deny: ["*"] } },
    };
    const bird = pigeon({ accounts: [{ toolsByGroup }] });
    await startScene(t, [bird.plugin, reader]);
    const of = (groupId: string, channel = "pigeon", principalId = "token") =>
      found.policy?.of({ channel, groupId, principalId });
    assert.deepEqual(of("#team"), { allow: ["read"] });
    assert.deepEqual(of("#team", "pigeon", "channel:pigeon:default:ann"), { allow: ["exec"] });
    assert.deepEqual(of("#team", "pigeon", "channel:pigeon:default:bob"), { allow: ["read"] });
    assert.deepEqual(of("#team", "pigeon", "channel:pigeon:default:toString"), { allow: ["read"] });
    assert.deepEqual(of("#team", "pigeon", "channel:pigeon:other:ann"), { allow: ["read"] }, "another account");
    assert.deepEqual(of("#open"), { deny: ["write"] });
    assert.deepEqual(of("#other"), { deny: ["*"] });
    const inThread = (threadId: string) => found.policy?.of({ channel: "pigeon", groupId: "#open", threadId });
    assert.deepEqual(inThread("thread7"), { allow: ["write"] });
    assert.deepEqual(inThread("thread8"), { deny: ["write"] });
    assert.equal(of("#team", "crow"), undefined);
    assert.equal(of("#team"), of("#team"), "the same object");
  });
});

describe("a login", { timeout: 120_000 }, () => {
  const token = { key: "token", label: "Token", help: "From the console", secret: true } as const;
  const login: ChannelLoginSteps = {
    start: () => ({ kind: "form", message: "Create a bot.", fields: [token], state: { step: 1 } }),
    async next({ answers, state }) {
      assert.deepEqual(state, { step: 1 });
      if (answers["token"] === "good-token")
        return { kind: "done", message: "Hello bot", config: { token: "good-token" } };
      if (answers["token"] === "away-token") throw new Error("no route to host: away-token");
      return invalidRequest(`the network refuses ${answers["token"] ?? ""}`);
    },
  };

  it("checks the values with the network before it writes them, and hides them in refusals", async (t) => {
    const bird = pigeon({ more: { login } });
    const options = await withFile(t);
    const { client, stateDir } = await startScene(t, [bird.plugin], options);
    const { loginId, step } = await client.call(channelLogin.start, { channel: "Pigeon" });
    assert.deepEqual(step, { kind: "form", message: "Create a bot.", fields: [token] });
    const next = (answers: Record<string, string>) => client.call(channelLogin.next, { loginId, answers });
    await assert.rejects(next({}), { message: "token is missing: Token. From the console" });
    await assert.rejects(next({ tokn: "x" }), { message: 'unknown value "tokn"; values: token' });
    await assert.rejects(next({ token: "bad-token" }), {
      code: "INVALID_REQUEST",
      message: "the network refuses (hidden)",
    });
    await assert.rejects(next({ token: "away-token" }), {
      code: "UNAVAILABLE",
      message: /failed: no route to host: \(hidden\)$/,
    });
    await assert.rejects(next({ token: "${NO_SUCH_VARIABLE}" }), {
      message: /^NO_SUCH_VARIABLE is not set in the environment/,
    });
    const done = await next({ token: "good-token" });
    assert.deepEqual([done.step.kind, done.step.message, done.path], ["done", "Hello bot", "channels.pigeon"]);
    const written = JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as { channels?: object };
    assert.deepEqual(written.channels, { pigeon: { enabled: true, token: "good-token" } });
    await assert.rejects(next({ token: "good-token" }), { code: "NOT_FOUND" });
    await assert.rejects(client.call(webLogin.start, {}), { message: /no loaded channel logs in with a QR code/ });
  });

  it("is refused for a channel without one, and for a bad account id", async (t) => {
    const { client } = await startScene(t, [pigeon().plugin, pigeon({ id: "crow", more: { login } }).plugin]);
    await assert.rejects(client.call(channelLogin.start, { channel: "pigeon" }), {
      message: /^channel pigeon has no login/,
    });
    await assert.rejects(client.call(channelLogin.start, { channel: "crow", accountId: "A B" }), {
      message: /is not an account id/,
    });
    await assert.rejects(client.call(channelLogin.start, { channel: "dove" }), { code: "NOT_FOUND" });
  });

  it("with a QR code works for clients that know only web.login", async (t) => {
    let scanned = false;
    const bird = pigeon({
      more: {
        login: {
          start: () => ({ kind: "show", message: "Scan this", qr: "CODE-1" }),
          next: async () => (scanned ? { kind: "done", message: "linked" } : unavailable("not scanned yet")),
        },
      },
    });
    const { client } = await startScene(t, [bird.plugin], await withFile(t));
    const { qrDataUrl = "", message } = await client.call(webLogin.start, {});
    assert.equal(message, "Scan this");
    assert.match(Buffer.from(qrDataUrl.split(",")[1] ?? "", "base64").toString(), /^<svg /);
    await assert.rejects(client.call(webLogin.wait, {}), { code: "UNAVAILABLE" });
    scanned = true;
    assert.deepEqual(await client.call(webLogin.wait, {}), { connected: true, message: "linked" });
  });

  it("is walked through with svc channels add", async (t) => {
    const bird = pigeon({ accounts: [{ configured: false }], more: { login }, run: untilStopped });
    const { client } = await startScene(t, [bird.plugin]);
    const connect = async () => keptOpen(client);
    const add = (options: Readonly<Record<string, unknown>>) =>
      runCommand(commands, "channels add", { args: ["pigeon"], options, connect });
    const missing = await add({});
    assert.match(
      missing.message,
      /^token is missing: Token\. From the console\nNext: svc channels add pigeon --env token=NAME/,
    );
    assert.match((await add({ env: ["token=abc"] })).message, /needs the name of an environment variable/);
    assert.match((await add({ set: ["token"] })).message, /write --set key=value/);
    assert.match((await add({ set: ["token=bad"] })).message, /the network refuses/);
    assert.deepEqual(textsOf(bird), []);
  });
});
