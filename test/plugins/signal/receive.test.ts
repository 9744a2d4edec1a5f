/** Events of the daemon reach the gateway: each accepted once, in order, and none is lost. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Type, unavailable } from "@svc/sdk";
import { freePort } from "../../free-port.ts";
import { until } from "../../until.ts";
import { openStateOf } from "../channels/states.ts";
import { scene, SUITE_MS } from "./scene.ts";
import { OWN, startServer } from "./server.ts";

async function start(t: TestContext, more: object = {}) {
  const server = await startServer(t);
  return { server, ...(await scene(t, { account: OWN, url: server.url, silentMs: 1_000, ...more })) };
}

const textsOf = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
  messages.map(({ text }) => text);

describe("nothing is lost", { timeout: SUITE_MS }, () => {
  it("of 50 messages at once, which stay in order", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const texts = Array.from({ length: 50 }, (_, at) => `message ${at}`);
    for (const text of texts) server.says(text);
    await running.received(50);
    assert.deepEqual(textsOf(running), texts);
    assert.ok(running.alive() > 0);
  });

  it("if a message is not accepted at first: it comes again, before the next one", async (t) => {
    const { server, run } = await start(t);
    const refusals = [
      () => Promise.reject<never>(new Error("the disk is full")),
      async () => unavailable("too many messages wait", { retryAfterMs: 20 }),
    ];
    const running = await run({ receive: () => refusals.shift()?.() });
    server.says("one");
    server.says("two");
    await running.received(2);
    assert.deepEqual(textsOf(running), ["one", "two"]);
  });

  it("if the account stops before a message is accepted: the next run submits it, with its id", async (t) => {
    const { server, run } = await start(t);
    const asked: (string | undefined)[] = [];
    const first = await run({ receive: ({ id }) => (asked.push(id), new Promise<never>(() => {})) });
    server.says("waits");
    server.says("waits, too");
    await until(() => server.kept.length === 2 && asked.length === 1, "the messages");
    await until(async () => server.streams() === 1, "the stream");
    await first.stop();
    const second = await run();
    await second.received(2);
    assert.deepEqual([textsOf(second), second.messages[0]?.id], [["waits", "waits, too"], asked[0]]);
    await second.stop();
    const third = await run();
    server.says("new");
    await third.received(1);
    assert.deepEqual(textsOf(third), ["new"]);
  });

  it("of what arrives while no stream is connected", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    server.cuts();
    assert.match(String(await first.ended), /the event stream of signal-cli ended/);
    server.says("meanwhile");
    const second = await run();
    await second.received(1);
  });

  it("of what a newer daemon has sent, but the gateway has not read", async (t) => {
    const { server, run } = await start(t);
    const first = await run();
    server.says("seen");
    await first.received(1);
    await first.stop();
    server.kept.push({ id: "later", data: JSON.stringify(event("unread")) });
    const second = await run();
    await second.received(1);
    assert.deepEqual(textsOf(second), ["unread"]);
    assert.equal(server.of("events").at(-1)?.["last"], server.kept[0]?.id);
  });

  it("but messages from before the first connection are of no interest", async (t) => {
    const { server, run } = await start(t);
    server.kept.push({ id: "old", data: JSON.stringify(event("old", Date.now() - 3_600_000)) });
    const first = await run();
    await first.stop();
    server.kept.push({ id: "fresh", data: JSON.stringify(event("fresh")) });
    const second = await run();
    await second.received(1);
    assert.deepEqual(textsOf(second), ["fresh"]);
  });
});

const event = (message: string, at = Date.now()) => ({
  account: OWN,
  envelope: { sourceUuid: "ada", timestamp: at, serverReceivedTimestamp: at, dataMessage: { timestamp: at, message } },
});

describe("an event", { timeout: SUITE_MS }, () => {
  it("that is malformed is skipped, and the next one is read", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    server.raw("event:receive\ndata:not JSON\n\n: comment\n\ndata:[]\n\nnonsense\n\n");
    server.raw('data:{"envelope":{"timestamp":"now"}}\n\ndata:{"exception":{"type":"Untrusted"}}\n\n');
    server.says("bad", { mentions: [{ start: -1, length: 1 }] });
    server.raw("data:{}\n\n");
    server.says("good");
    await running.received(1);
    assert.deepEqual(textsOf(running), ["good"]);
  });

  it("that comes twice keeps its id", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const at = server.says("twice");
    server.says("other");
    server.push({ dataMessage: { timestamp: at, message: "twice" } }, at);
    const [first, , third] = await running.received(3);
    assert.equal(first?.id, third?.id);
  });

  it("that edits an edited message names the first one", async (t) => {
    const { server, run } = await start(t);
    const running = await run();
    const at = server.says("one");
    const edit = (targetSentTimestamp: number, message: string) =>
      server.push({ editMessage: { targetSentTimestamp, dataMessage: { message } } });
    edit(edit(at, "two"), "three");
    const [first, second, third] = await running.received(3);
    assert.deepEqual(second?.event, { kind: "edit", messageId: first?.id });
    assert.deepEqual(third?.event, second?.event);
  });
});

describe("a run", { timeout: SUITE_MS }, () => {
  const refusals: Readonly<Record<string, readonly [object, string, RegExp, number?]>> = {
    "the daemon fails": [
      { method: "check", status: 503, headers: { "retry-after": "7" } },
      "UNAVAILABLE",
      /status 503/,
      7_000,
    ],
    "the daemon redirects": [
      { method: "check", status: 302, headers: { location: "/x" } },
      "UNAVAILABLE",
      /status 302.*next/,
    ],
    "the address is another server's": [{ method: "listAccounts", text: "<html>" }, "UNAVAILABLE", /unknown way/],
    "Signal refuses the account": [
      { method: "listAccounts", error: { code: -32602, message: `${OWN} does not exist` } },
      "NOT_LINKED",
      /\[number\].*next: link/,
    ],
    "the stream is refused": [{ method: "events", status: 400 }, "NOT_LINKED", /next: link it/],
    "the stream fails": [{ method: "events", status: 500 }, "UNAVAILABLE", /status 500/],
    "the stream does not open": [{ method: "events", hangs: true }, "UNAVAILABLE", /silent/],
  };
  for (const [name, [fault, code, message, retryAfterMs]] of Object.entries(refusals))
    it(`ends if ${name}; the next one works`, async (t) => {
      const { server, run } = await start(t, { silentMs: 200 });
      server.faults.push({ method: "", ...fault });
      const error = Object(await (await run()).ended) as { code?: string; message: string; retryAfterMs?: number };
      assert.deepEqual([error.code, error.retryAfterMs], [code, retryAfterMs]);
      assert.match(error.message, message);
      await (await run()).reported("connected");
    });

  it("needs a login if the daemon does not have the account", async (t) => {
    const { server, run } = await start(t);
    server.state.accounts.length = 0;
    const running = await run();
    assert.match(String(await running.ended), /does not have this account; next: link it/);
    assert.equal(server.of("listAccounts").length, 1);
  });

  it("works with a daemon that serves one account and repeats nothing", async (t) => {
    const { server, run } = await start(t);
    Object.assign(server.state, { isSingle: true, repeats: false });
    const running = await run();
    server.says("hello");
    await running.received(1);
  });

  it("ends if nobody listens at the address, or nothing comes for too long", async (t) => {
    const gone = await scene(t, { account: OWN, url: `http://127.0.0.1:${await freePort()}` });
    assert.match(String(await (await gone.run()).ended), /cannot be reached: ECONNREFUSED; next: check that it runs/);
    const { server, run } = await start(t, { silentMs: 200 });
    const running = await run();
    server.state.isDeaf = true;
    assert.match(String(await running.ended), /silent/);
  });

  it("stores no message that the gateway has", async (t) => {
    const { server, run, channel } = await start(t);
    const running = await run();
    server.says("secret");
    await running.received(1);
    await running.stop();
    const { value } = await openStateOf(channel, "default")(Type.Object({ waiting: Type.Array(Type.Unknown()) }));
    assert.deepEqual(value?.waiting, []);
    assert.ok(!JSON.stringify(value).includes("secret"));
  });
});
