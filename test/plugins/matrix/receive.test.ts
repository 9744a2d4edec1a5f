/** The run of an account: events, invitations, lost connections, refusals and restarts. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { unavailable } from "@svc/sdk";
import type { InboundMessage } from "@svc/sdk/channels";
import { freePort } from "../../free-port.ts";
import { until } from "../../until.ts";
import { restarted } from "../channels/states.ts";
import { channelOf, hidesToken, openScene, rejects, sceneOf } from "./scene.ts";
import { ADA, BOB, BOT, DIRECT, startServer, TOKEN, TOWN } from "./server.ts";

const SYNC = /^GET client\/v3\/sync$/;

async function running(t: TestContext, settings: object = {}) {
  const scene = await openScene(t, settings);
  const run = scene.start(t);
  await run.reported("connected");
  return { ...scene, run };
}
const texts = (messages: readonly InboundMessage[]) => messages.map(({ text }) => text);
const member = (userId: string, membership: string, more: object = {}) => ({
  type: "m.room.member",
  state_key: userId,
  sender: userId,
  content: { membership, ...more },
});
const invitation = (isDirect: boolean) => ({
  invite_state: { events: [{ ...member(BOT, "invite", isDirect ? { is_direct: true } : {}), sender: ADA }] },
});

describe("incoming events", { timeout: 30_000 }, () => {
  it("before the first run are not read; malformed ones are skipped; own ones too", async (t) => {
    const scene = await openScene(t);
    scene.server.says("before the first run");
    const run = scene.start(t);
    await run.reported("connected");
    scene.server.delivers("join", DIRECT, {
      timeline: { events: [7, { type: "m.room.message" }, { event_id: "$x" }] },
    });
    scene.server.delivers("join", "!odd:test", { timeline: "nonsense" });
    scene.server.says("mine", {}, DIRECT, BOT);
    scene.server.says("after");
    assert.deepEqual(texts(await run.received(1)), ["after"]);
    assert.ok(run.proofs() > 0);
  });

  it("are marked as read, and distinguish direct chats from groups", async (t) => {
    const { server, run } = await running(t);
    server.says("direct");
    server.says("group", {}, TOWN, BOB);
    const messages = await run.received(2);
    assert.deepEqual(
      messages.map(({ chat }) => chat),
      [
        { type: "direct", id: `user:${ADA}`, name: "Ada" },
        { type: "group", id: TOWN, name: "Town" },
      ],
    );
    await server.request(/^POST .*receipt\/m.read\/\$e1:test$/);
    server.rooms.get(DIRECT)?.members.set(BOB, "Bob");
    server.push(DIRECT, member(BOB, "join"));
    server.says("three people now");
    assert.equal((await run.received(3))[2]?.chat.type, "group");
    server.rooms.get(DIRECT)?.members.delete(BOB);
    server.push(DIRECT, member(BOB, "leave"));
    server.says("two again");
    assert.equal((await run.received(4))[3]?.chat.type, "direct");
  });

  it("of a direct chat that only two people and no name tell are remembered as one", async (t) => {
    const { server, run } = await running(t);
    server.rooms.set("!new:test", {
      members: new Map([
        [BOT, ""],
        [BOB, "Bob"],
      ]),
      others: new Map(),
    });
    server.says("hello", {}, "!new:test", BOB);
    assert.equal((await run.received(1))[0]?.chat.id, `user:${BOB}`);
    assert.deepEqual(server.direct(), { [ADA]: [DIRECT], [BOB]: ["!new:test"] });
  });

  it("carry reactions, their removal, edits and answers, with what they relate to", async (t) => {
    const { server, run, send } = await running(t);
    const { messageId = "" } = await send({ text: "mine" });
    const content = { "m.relates_to": { rel_type: "m.annotation", event_id: messageId, key: "👍" } };
    const reaction = server.push(DIRECT, { type: "m.reaction", content });
    server.push(DIRECT, { type: "m.room.redaction", content: { redacts: reaction } });
    server.says("yes", { "m.relates_to": { "m.in_reply_to": { event_id: messageId } } });
    server.says("what", { "m.relates_to": { "m.in_reply_to": { event_id: "$unknown:test" } } });
    const messages = await run.received(4);
    assert.deepEqual(messages[0]?.event, { kind: "reaction", messageId, emoji: "👍", isOwn: true });
    assert.deepEqual(messages[1]?.event, { kind: "reaction", messageId, emoji: "👍", isRemoved: true });
    assert.deepEqual(messages[2]?.replyTo, { messageId, text: "mine", senderName: "Helper", isOwn: true });
    assert.deepEqual(messages[3]?.replyTo, { messageId: "$unknown:test" });
    await server.request(/^GET .*\/event\//);
  });

  it("that are encrypted are explained once for each room and day", async (t) => {
    const { server, run } = await running(t);
    server.push(TOWN, { type: "m.room.encrypted", content: { ciphertext: "x" } });
    server.push(TOWN, { type: "m.room.encrypted", content: { ciphertext: "y" } });
    server.says("next");
    assert.deepEqual(texts(await run.received(1)), ["next"]);
    assert.equal(server.contents().length, 1);
    assert.match(String(server.contents()[0]?.["body"]), /is encrypted.*Next: make a room without encryption/);
  });

  it("wait while the gateway accepts nothing; a batch that was not accepted is read again after a restart", async (t) => {
    const server = await startServer(t);
    const settings = { homeserverUrl: server.url, accessToken: TOKEN, syncTimeoutMs: 1_000 };
    const former = await channelOf(t, settings);
    const first = sceneOf(former);
    let refusals = 0;
    const run = first.start(t, ({ text }) => {
      if (text === "two") unavailable(`refusal ${++refusals}`);
    });
    await run.reported("connected");
    server.says("one");
    await run.received(1);
    server.says("two");
    await until(() => refusals > 1, "a repetition");
    assert.equal(await run.stop(), undefined);
    server.says("three");
    const second = sceneOf(restarted(former, await channelOf(t, settings))).start(t);
    await until(() => second.messages.length >= 2, "both");
    assert.deepEqual(texts(second.messages).slice(-2), ["two", "three"]);
  });

  it("of a gap are fetched, oldest first", async (t) => {
    const { server, run } = await running(t);
    const old = (text: string) => ({
      type: "m.room.message",
      event_id: `$${text}`,
      sender: ADA,
      content: { msgtype: "m.text", body: text },
    });
    const page = (chunk: object[], end?: string) => ({
      matches: /\/messages$/,
      status: 200,
      body: { chunk, ...(end === undefined ? {} : { end }) },
    });
    server.faults.push(page([old("three"), old("two")], "p2"), page([old("one")]));
    server.delivers("join", DIRECT, { timeline: { limited: true, prev_batch: "p1", events: [old("four")] } });
    assert.deepEqual(texts(await run.received(4)), ["one", "two", "three", "four"]);
    const [first, second] = server.of(/\/messages$/);
    assert.deepEqual([first?.query["from"], second?.query["from"]], ["p1", "p2"]);
    assert.match(first?.query["to"] ?? "", /^s\d+$/);
  });
});

describe("an invitation", { timeout: 30_000 }, () => {
  const JOIN = /^POST client\/v3\/join\//;
  const cases: readonly [what: string, settings: object, isDirect: boolean, joins: boolean][] = [
    ["to a direct chat", {}, true, true],
    ["to a room that is not listed", {}, false, false],
    ["to a listed room", { groups: { "!in:test": {} } }, false, true],
    ["to any room with always", { autoJoin: "always" }, false, true],
    ["to a direct chat with never", { autoJoin: "never" }, true, false],
  ];
  for (const [what, settings, isDirect, joins] of cases)
    it(`${what} is ${joins ? "accepted" : "left open"}`, async (t) => {
      const { server, run } = await running(t, settings);
      server.delivers("invite", "!in:test", invitation(isDirect));
      server.says("next");
      await run.received(1);
      assert.equal(server.of(JOIN).length, joins ? 1 : 0);
      if (joins && isDirect) assert.ok(Object(server.direct())[ADA].includes("!in:test"));
    });

  it("from before the first run is accepted, and what was written since then is read", async (t) => {
    const scene = await openScene(t);
    scene.server.delivers("invite", "!in:test", invitation(true));
    scene.server.rooms.set("!in:test", {
      members: new Map([
        [BOT, ""],
        [ADA, "Ada"],
      ]),
      others: new Map(),
    });
    const run = scene.start(t);
    await run.reported("connected");
    const event = (body: string) => ({
      type: "m.room.message",
      event_id: `$${body}`,
      sender: ADA,
      content: { msgtype: "m.text", body },
    });
    const [invite, join] = [
      member(BOT, "invite"),
      { ...member(BOT, "join"), unsigned: { prev_content: { membership: "invite" } } },
    ];
    const events = [
      event("history"),
      { ...invite, event_id: "$i" },
      event("hello"),
      { ...join, event_id: "$j" },
      event("there"),
    ];
    scene.server.delivers("join", "!in:test", { timeline: { limited: true, prev_batch: "p", events } });
    assert.deepEqual(texts(await run.received(2)), ["hello", "there"]);
    assert.equal(scene.server.of(/\/messages$/).length, 0);
  });

  it("that cannot be accepted does not stop the account", async (t) => {
    const { server, run } = await running(t);
    server.faults.push({ matches: JOIN, status: 403, body: { errcode: "M_FORBIDDEN", error: "revoked" } });
    server.delivers("invite", "!in:test", invitation(true));
    server.delivers("leave", TOWN, {});
    server.says("next");
    assert.deepEqual(texts(await run.received(1)), ["next"]);
  });
});

describe("a run", { timeout: 30_000 }, () => {
  const ends = async (
    t: TestContext,
    prepare: (scene: Awaited<ReturnType<typeof openScene>>) => void,
    settings = {},
  ) => {
    const scene = await openScene(t, settings);
    prepare(scene);
    return scene.start(t).ended;
  };

  it("ends if the network is down, and works when it is back", async (t) => {
    const homeserverUrl = `http://127.0.0.1:${await freePort()}`;
    const { start } = sceneOf(await channelOf(t, { homeserverUrl, accessToken: TOKEN }));
    await rejects(
      start(t).ended.then((error) => Promise.reject(error)),
      "UNAVAILABLE",
      /cannot be reached/,
    );
  });

  const refusals: readonly [what: string, answer: object, code: string, message: RegExp][] = [
    [
      "401 M_UNKNOWN_TOKEN",
      { status: 401, body: { errcode: "M_UNKNOWN_TOKEN", error: `no ${TOKEN}` } },
      "NOT_LINKED",
      /no \[token\]; next: log in again/,
    ],
    [
      "a deactivated account",
      { status: 403, body: { errcode: "M_USER_DEACTIVATED", error: "gone" } },
      "NOT_LINKED",
      /gone/,
    ],
    ["502 HTML", { status: 502, body: "<html>" }, "UNAVAILABLE", /failed: status 502/],
    ["another page", { status: 200, body: "<html>" }, "UNAVAILABLE", /does not answer as a Matrix homeserver/],
    ["another API", { status: 200, body: { name: "x" } }, "INVALID_REQUEST", /does not answer as a Matrix homeserver/],
    [
      "a redirect",
      { status: 302, headers: { location: "https://evil/" } },
      "INVALID_REQUEST",
      /redirects.*next: set homeserverUrl/,
    ],
    ["401 of a proxy", { status: 401, body: "denied" }, "INVALID_REQUEST", /status 401/],
  ];
  for (const [what, answer, code, message] of refusals)
    it(`ends with ${code} after ${what}`, async (t) => {
      const error = await ends(t, ({ server }) => void server.faults.push({ matches: /whoami/, ...answer }));
      await rejects(Promise.reject(error), code, message);
    });

  it("ends if the token belongs to another account than userId", async (t) => {
    const error = await ends(t, () => undefined, { userId: "@other:test" });
    await rejects(Promise.reject(error), "NOT_LINKED", /belongs to @bot:test, not to @other:test; next:/);
  });

  it("ends, and is told so once, when the token is revoked", async (t) => {
    const { server, run } = await running(t);
    server.revoke();
    server.says("wakes");
    await rejects(Promise.reject(await run.ended), "NOT_LINKED", /\[token\]/);
    hidesToken(run.reports);
  });

  it("ends when the server is silent for 1.5 times syncTimeoutMs", async (t) => {
    const { server, run } = await running(t);
    server.fallSilent();
    await rejects(Promise.reject(await run.ended), "UNAVAILABLE", /did not answer in time/);
  });

  it("ends when the connection is cut", async (t) => {
    const { server, run } = await running(t);
    await server.request(SYNC, 2);
    server.cut();
    await rejects(Promise.reject(await run.ended), "UNAVAILABLE", /cannot be reached/);
  });

  it("waits as long as the server asks, and continues", async (t) => {
    const { server, run } = await running(t);
    server.faults.push({
      matches: SYNC,
      status: 429,
      body: { errcode: "M_LIMIT_EXCEEDED", error: "slow", retry_after_ms: 30 },
    });
    server.says("one");
    await run.received(1);
    await until(
      () => run.reports.some(({ state, detail }) => state === "disconnected" && /slow/.test(detail ?? "")),
      "the pause",
    );
    server.says("two");
    assert.deepEqual(texts(await run.received(2)), ["one", "two"]);
    assert.equal(run.reports.at(-1)?.state, "connected");
  });

  it("asks again for what a message needs while the server fails", async (t) => {
    const { server, run } = await running(t);
    server.faults.push({ matches: /joined_members/, status: 503, body: {} }, { matches: /joined_members/, cut: true });
    server.says("hello");
    assert.equal((await run.received(1))[0]?.sender.name, "Ada");
  });
});
