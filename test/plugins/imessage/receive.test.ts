/** Incoming messages and the course of a run, with a BlueBubbles server on this machine. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { channels } from "@svc/sdk/channels";
import { until } from "../../until.ts";
import { startScene } from "../channels/scene.ts";
import { channelOf, hidesPassword, openScene, rejects, sceneOf } from "./scene.ts";
import { ANN, DIRECT, PASSWORD, startServer } from "./server.ts";

const texts = (messages: readonly { readonly text: string }[]) => messages.map(({ text }) => text);

describe("the plugin imessage receives from BlueBubbles", { timeout: 120_000 }, () => {
  it("nothing from before its first run, and everything since, also what it missed", async (t) => {
    const { server, start } = await openScene(t);
    server.says("too old");
    const first = start(t);
    await first.reported("connected");
    assert.deepEqual(first.reports.at(-1), { state: "connected", detail: "mac@example.com" });
    const many = Array.from({ length: 250 }, (_, at) => `number ${at}`);
    for (const text of many) server.add({ text });
    assert.deepEqual(texts(await first.received(250)), many);
    await first.stop();
    server.says("missed");
    server.add({ text: "long ago", dateCreated: Date.now() - 25 * 60 * 60 * 1_000 });
    server.add({ text: "own", isFromMe: true });
    server.add({ itemType: 2 });
    const second = start(t);
    await second.received(1);
    const proofs = second.proofs();
    await until(() => second.proofs() > proofs + 1, "two polls");
    assert.deepEqual(
      texts(second.messages),
      ["missed"],
      "a message is submitted once, though each poll reads it again",
    );
  });

  it("edits, deletions, tapbacks and answers, and knows its own messages", async (t) => {
    const { server, start } = await openScene(t);
    const old = server.add({ text: "mine", isFromMe: true });
    const run = start(t);
    await run.reported("connected");
    const said = server.says("helo");
    await run.received(1);
    const dateEdited = Date.now();
    Object.assign(said, { text: "hello", dateEdited });
    server.announce(said, "updated-message");
    await run.received(2);
    server.add({ text: "yes", threadOriginatorGuid: old.guid });
    server.add({ associatedMessageGuid: `p:0/${old.guid}`, associatedMessageType: "like" });
    server.add({ text: "what?", threadOriginatorGuid: "UNKNOWN" });
    await run.received(5);
    Object.assign(said, { dateRetracted: 6 });
    const [, edit, answer, tapback, other, deletion] = await run.received(6);
    assert.deepEqual([edit?.id, edit?.text, edit?.event?.kind], [`${said.guid}:edit:${dateEdited}`, "hello", "edit"]);
    assert.deepEqual(answer?.replyTo, { messageId: old.guid, isOwn: true, text: "mine" });
    assert.deepEqual(tapback?.event, {
      kind: "reaction",
      messageId: old.guid,
      emoji: "👍",
      isRemoved: false,
      isOwn: true,
    });
    assert.deepEqual(other?.replyTo, { messageId: "UNKNOWN", isOwn: false });
    assert.equal(deletion?.event?.kind, "deletion");
  });

  it("a message again that the gateway refuses for now, before the next one", async (t) => {
    const { server, start } = await openScene(t, { privateApi: true });
    server.state.hasPrivateApi = true;
    let refusals = 0;
    const run = start(t, ({ text }) => {
      if (text === "two" && refusals++ === 0) throw new GatewayError("UNAVAILABLE", "the disk is full");
      return text === "no" ? { accepted: false, reason: "not-allowed" } : undefined;
    });
    await run.reported("connected");
    for (const text of ["one", "two", "no", "three"]) server.add({ text });
    assert.deepEqual(texts(await run.received(3)), ["one", "two", "three"]);
    assert.equal(refusals, 2);
    await until(() => server.of(/\/read$/).length === 3, "the marks of read messages");
  });

  it("the message after a malformed one", async (t) => {
    const { server, start } = await openScene(t);
    const run = start(t);
    await run.reported("connected");
    server.add({ chats: "none" });
    server.says("fine");
    assert.deepEqual(texts(await run.received(1)), ["fine"]);
  });

  it("from another Mac with fewer messages as from a new one", async (t) => {
    const { server, start } = await openScene(t);
    for (let at = 0; at < 30; at++) server.add({ text: "old" });
    const before = start(t);
    await before.reported("connected");
    await before.stop();
    server.rows.splice(1);
    const run = start(t);
    await run.reported("connected");
    server.rows.push({ ...server.add({ text: "new" }), guid: "OTHER", originalROWID: 2 });
    server.rows.splice(1, 1);
    assert.deepEqual(texts(await run.received(1)), ["new"]);
  });

  it("nothing when the server is down, fails, or refuses the password, and says why", async (t) => {
    const gone = await channelOf(t, { serverUrl: "http://127.0.0.1:9", password: PASSWORD });
    await rejects(sceneOf(gone).start(t).failed(), "UNAVAILABLE", /cannot be reached: .*next: check that it runs/);
    const { server, start } = await openScene(t);
    server.faults.push({ matches: /info/, status: 503, headers: { "retry-after": "7" }, body: "busy" });
    const failed = start(t);
    await rejects(failed.failed(), "UNAVAILABLE", /status 503/);
    assert.equal((Object(await failed.ended) as GatewayError).retryAfterMs, 7_000);
    server.faults.push({ matches: /info/, status: 200, body: "<html>" });
    await rejects(start(t).failed(), "UNAVAILABLE", /does not answer as a BlueBubbles server/);
    const run = start(t);
    await run.reported("connected");
    server.faults.push({
      matches: /query/,
      status: 500,
      body: { error: { message: `failed at ?password=${PASSWORD}` } },
    });
    await rejects(run.failed(), "UNAVAILABLE", /failed at \?password=\[password\]/);
    const cut = start(t);
    await cut.reported("connected");
    server.state.isSilent = true;
    let isOver = false;
    void cut.ended.then(() => (isOver = true));
    await until(() => (server.cut(), isOver), "the end");
    await rejects(cut.failed(), "UNAVAILABLE", /cannot be reached/);
    server.state.isSilent = false;
    server.state.password = "another";
    const refused = start(t);
    await rejects(refused.failed(), "NOT_LINKED", /refuses the password; next: /);
    hidesPassword(refused.reports);
  });

  it("at once with a webhook that only the server knows; a lost one costs a poll", async (t) => {
    const server = await startServer(t);
    server.hooks.push({ id: 1, url: "http://gw.invalid/plugins/imessage/default/former", events: [] });
    server.hooks.push({ id: 2, url: "http://other.invalid/", events: [] });
    const imessage = {
      serverUrl: server.url,
      password: PASSWORD,
      callbackUrl: "http://gw.invalid",
      pollMs: 600_000,
      allowFrom: [ANN],
    };
    const { gateway, client } = await startScene(t, ["imessage"], { gateway: { config: { channels: { imessage } } } });
    const base = `http://127.0.0.1:${gateway.port}`;
    server.state.gateway = base;
    const account = async () => (await client.call(channels.status, {})).channelAccounts["imessage"]?.[0];
    await until(async () => (await account())?.connected === true, "the connection");
    const [other, own] = server.hooks.map(({ url }) => url);
    assert.equal(other, "http://other.invalid/");
    assert.match(own ?? "", /^http:\/\/gw\.invalid\/plugins\/imessage\/default\/[\w-]{43}$/);
    const post = async (path: string) => (await fetch(base + path, { method: "POST", body: "{}" })).status;
    assert.equal(await post("/plugins/imessage/default/wrong"), 401);
    assert.equal(await post(`/plugins/imessage/nobody/${own?.split("/").at(-1)}`), 401);
    server.says("echo quick");
    await until(() => server.heard().includes("quick"), "the answer");
    const [sent] = server.of(/message\/text$/);
    assert.deepEqual([sent?.body["chatGuid"], sent?.body["method"]], [DIRECT, "apple-script"]);
  });

  it("messages although the webhook is refused", async (t) => {
    const { server, start } = await openScene(t, { callbackUrl: "http://gw.invalid" });
    server.faults.push({ matches: /webhook/, status: 500 });
    const run = start(t);
    await run.reported("connected");
    server.says("polled");
    await run.received(1);
  });
});
