/** A whole gateway over a raw socket: frames, limits, deadlines, closes. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Audience, defineContract, defineEvent, definePlugin, GatewayError, matches, Type } from "@svc/sdk";
import { EventFrame, MAX_PAYLOAD_BYTES, ResponseFrame } from "@svc/sdk/protocol";
import { testGateway } from "@svc/sdk/testing";
import { sharedScene } from "./host-scene.ts";
import { connectFrame, connectRaw, openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";
import { until } from "../../until.ts";

const Any = Type.Object({});
const read = { summary: "-", scope: "operator.read", params: Any, result: Any } as const;
const write = { ...read, scope: "operator.write" } as const;
const demo = defineContract("demo", {
  echo: { ...read, params: Type.Object({ text: Type.String() }, { additionalProperties: false }) },
  twice: write,
  slow: { ...read, params: Type.Object({ ms: Type.Integer() }) },
  /** Returns when the test releases it. */
  hold: read,
  wait: read,
  refuse: read,
  shout: {
    ...write,
    params: Type.Object({
      event: Type.String(),
      payload: Type.Optional(Type.Unknown()),
      to: Type.Optional(Type.Array(Type.String())),
      times: Type.Optional(Type.Integer()),
    }),
  },
  huge: read,
  shoutTwofold: { ...write, params: Type.Object({ text: Type.String() }) },
  whoami: { ...read, scope: "none" },
  node: { ...read, role: "node" },
});
const events = {
  all: defineEvent({ name: "demo.all", summary: "-", payload: Type.Unknown() }),
  droppable: defineEvent({ name: "demo.droppable", summary: "-", payload: Type.Unknown(), droppable: true }),
  guarded: defineEvent({ name: "demo.guarded", summary: "-", payload: Type.Unknown(), scope: "operator.approvals" }),
  presence: defineEvent({ name: "presence", summary: "-", payload: Type.Unknown(), snapshot: true }),
};

function demoPlugin(aborted: string[], held: (() => void)[]) {
  return definePlugin({
    id: "demo",
    api: "^1.0.0",
    setup(gateway) {
      const emit: Record<string, (payload: unknown, audience?: Audience) => void> = Object.fromEntries(
        Object.entries(events).map(([name, event]) => [name, gateway.event(event)]),
      );
      gateway.serve(demo, {
        echo: ({ params }) => params,
        async twice({ accept }) {
          accept({ status: "accepted" });
          await new Promise((resolve) => setTimeout(resolve, 5));
          return { status: "ok" };
        },
        async slow({ params }) {
          await new Promise((resolve) => setTimeout(resolve, params.ms));
          return { ms: params.ms };
        },
        hold: () => new Promise((resolve) => held.push(() => resolve({}))),
        wait: ({ signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener(
              "abort",
              () => (aborted.push("x"), reject(new GatewayError("UNAVAILABLE", "gone"))),
            ),
          ),
        refuse: () => {
          throw new GatewayError("UNAVAILABLE", "later", {
            retryAfterMs: 1_234.4,
            details: { a: 1 },
            payload: { partly: true },
          });
        },
        shout({ params }) {
          const audience = params.to ? { connections: params.to } : undefined;
          for (let turn = 0; turn < (params.times ?? 1); turn++) emit[params.event]?.(params.payload ?? turn, audience);
          return {};
        },
        huge: () => ({ text: "x".repeat(MAX_PAYLOAD_BYTES.afterConnect) }),
        shoutTwofold({ params }) {
          emit["all"]?.({ text: params.text, again: params.text });
          return {};
        },
        whoami: ({ principal, connection }) => ({ principal, id: connection?.id }),
        node: () => ({}),
      });
    },
  });
}

async function start(t: TestContext, gateway: Record<string, unknown> = {}, aborted: string[] = []) {
  const held: (() => void)[] = [];
  const running = await testGateway(t, { plugins: [demoPlugin(aborted, held)], gateway });
  const { token } = running.gateway.auth;
  return {
    ...running,
    url: running.gateway.url,
    token,
    release: () => held.pop()?.(),
    raw: (params: object = {}) => connectRaw(running.gateway.url, token, params),
  };
}

/** Sends a call and returns its answer. */
function ask(socket: RawSocket, method: string, params: unknown = {}, id = "1"): Promise<RawFrame> {
  socket.send({ type: "req", id, method, params });
  return socket.next((frame) => frame.id === id);
}

it("accepts no second message while the first is checked", async (t) => {
  const { url, token } = await start(t);
  const socket = await openRaw(url);
  socket.send(connectFrame(token));
  socket.send({ type: "req", id: "2", method: "demo.whoami" });
  assert.equal((await socket.closed).code, 1008);
});

describe("after connect", () => {
  const scene = sharedScene((t) => start(t));

  it("frames have no extra keys, and a refusal carries code, details, retryAfterMs and its payload [W2.1 W2.6 W2.10]", async () => {
    const socket = await scene().raw();
    socket.send({ type: "req", id: "1", method: "demo.echo", params: { text: "hi" } });
    const { type: _type, id: _id, ...refused } = await ask(socket, "demo.refuse", {}, "2");
    await ask(socket, "demo.shout", { event: "all" }, "3");
    for (const frame of socket.frames)
      assert.ok(matches(frame.type === "res" ? ResponseFrame : EventFrame, frame), JSON.stringify(frame));
    const error = { code: "UNAVAILABLE", message: "later", details: { a: 1 }, retryable: true, retryAfterMs: 1_235 };
    assert.deepEqual(refused, { ok: false, error, payload: { partly: true } });
  });

  const unknown = { code: "UNKNOWN_METHOD" };
  const refusals: [why: string, method: string, params: unknown, message: string | RegExp, details?: object][] = [
    [
      "a typo in the name of a method the caller may call",
      "demo.ecoh",
      {},
      "unknown method: demo.ecoh; did you mean demo.echo?",
      { ...unknown, didYouMean: "demo.echo" },
    ],
    [
      "a typo in the name of a method the caller may not call, without naming that method",
      "demo.twcie",
      {},
      "unknown method: demo.twcie",
      unknown,
    ],
    [
      "a method of a plugin that is not enabled, naming it",
      "chat.send",
      {},
      /^unknown method: chat\.send: provided by plugin chat, which is not enabled/,
      { ...unknown, plugin: "chat" },
    ],
    [
      "a missing scope, before the params",
      "demo.twice",
      5,
      "missing scope: operator.write",
      { code: "MISSING_SCOPE", scope: "operator.write" },
    ],
    ["a method of nodes", "demo.node", {}, "unauthorized role: operator", { code: "UNAUTHORIZED_ROLE" }],
  ];
  for (const [why, method, params, message, details] of refusals) {
    it(`refuses ${why}`, async () => {
      const { error } = await ask(await scene().raw({ scopes: ["operator.read"] }), method, params);
      if (typeof message === "string") assert.equal(error?.message, message);
      else assert.match(error?.message ?? "", message);
      assert.deepEqual([error?.code, error?.details], ["INVALID_REQUEST", details]);
    });
  }

  it("calls run concurrently and may be answered out of order [W2.14]", async () => {
    const socket = await scene().raw();
    socket.send({ type: "req", id: "slow", method: "demo.hold" });
    await ask(socket, "demo.whoami", {}, "quick");
    assert.ok(!socket.frames.some(({ id }) => id === "slow"));
    scene().release();
    assert.equal((await socket.next(({ id }) => id === "slow")).ok, true);
  });

  it("a method that accepts first answers twice under one id [W2.12]", async () => {
    const { raw, client } = scene();
    const socket = await raw();
    socket.send({ type: "req", id: "1", method: "demo.twice" });
    await socket.next(({ payload }) => payload?.["status"] === "ok");
    const statuses = socket.frames.filter(({ id }) => id === "1").map(({ payload }) => payload?.["status"]);
    assert.deepEqual(statuses, ["accepted", "ok"]);
    let accepted: unknown;
    const final = await client.call(
      demo.twice,
      {},
      { expectFinal: true, onAccepted: (payload) => (accepted = payload) },
    );
    assert.deepEqual([accepted, final], [{ status: "accepted" }, { status: "ok" }]);
  });

  it("at most 64 calls of a connection wait; one more is refused with retryAfterMs, and other connections are not affected", async () => {
    const { raw } = scene();
    const [socket, other] = [await raw(), await raw()];
    for (let id = 1; id <= 66; id++) socket.send({ type: "req", id: String(id), method: "demo.wait" });
    const refused = await socket.next(({ id }) => id === "66");
    assert.deepEqual(
      [refused.error?.code, refused.error?.details?.["code"], Object(refused.error).retryAfterMs],
      ["UNAVAILABLE", "TOO_MANY_CALLS", 250],
    );
    assert.deepEqual(
      socket.frames.flatMap(({ id, ok }) => (ok === false ? [id] : [])),
      ["65", "66"],
    );
    assert.equal((await ask(other, "demo.whoami")).ok, true);
    for (const { ws } of [socket, other]) ws.close();
  });

  it("an accepted call no longer counts towards the limit", async () => {
    const { raw } = scene();
    const socket = await raw();
    for (let id = 1; id <= 200; id++) socket.send({ type: "req", id: String(id), method: "demo.twice" });
    await socket.next(({ id, payload }) => id === "200" && payload?.["status"] === "ok");
    assert.deepEqual(
      socket.frames.filter(({ ok }) => ok === false),
      [],
    );
  });

  it("messages that arrived together are all answered, in order", async () => {
    const { raw } = scene();
    const socket = await raw();
    const text = "x".repeat(20_000);
    const sent = Array.from({ length: 500 }, (_, index) => String(index));
    for (const id of sent) socket.send({ type: "req", id, method: "demo.echo", params: { text } });
    await socket.next(({ id }) => id === "499");
    assert.deepEqual(
      socket.frames.flatMap(({ type, id }) => (type === "res" && id !== "c1" ? [id] : [])),
      sent,
    );
  });

  it("a response larger than clients accept is refused, and the connection stays open", async () => {
    const { raw } = scene();
    const socket = await raw();
    const { error } = await ask(socket, "demo.huge");
    assert.equal(error?.code, "PAYLOAD_TOO_LARGE");
    assert.match(error.message, /the response of demo\.huge has \d+ bytes/);
    assert.equal((await ask(socket, "demo.whoami", {}, "2")).ok, true);
  });

  it("an event larger than clients accept is sent to no client and fails its sender", async () => {
    const { raw } = scene();
    const [socket, other] = [await raw(), await raw()];
    const payload = "x".repeat(MAX_PAYLOAD_BYTES.afterConnect / 2);
    socket.send({ type: "req", id: "1", method: "demo.shout", params: { event: "all", payload: { twice: true } } });
    await other.next(({ event }) => event === "demo.all");
    assert.equal((await ask(socket, "demo.shoutTwofold", { text: payload }, "2")).error?.code, "INTERNAL");
    for (const each of [socket, other]) {
      assert.equal((await ask(each, "demo.whoami", {}, "3")).ok, true);
    }
  });

  it("a request with a long id or method is refused without repeating them", async () => {
    const { raw } = scene();
    const socket = await raw();
    const long = "x".repeat(65_537);
    for (const [id, method, answered] of [
      [long, "demo.echo", "invalid"],
      ["1", long, "1"],
    ] as const) {
      socket.send({ type: "req", id, method, params: {} });
      const { error } = await socket.next((frame) => frame.id === answered);
      assert.deepEqual(
        [error?.code, error?.message],
        ["INVALID_REQUEST", "invalid request frame: id and method have at most 65536 characters"],
      );
    }
  });

  it("a message with too many values is refused before it is parsed", async () => {
    const { raw } = scene();
    const socket = await raw();
    const many = JSON.stringify(Array(300_000).fill(1));
    for (const [id, text] of [
      ["1", "[".repeat(300_000)],
      ["2", many],
    ]) {
      socket.send(`{"type":"req","id":"${id}","method":"demo.echo","params":{"text":"","deep":${text}}}`);
      const { error } = await socket.next((frame) => frame.id === id);
      assert.deepEqual(
        [error?.code, error?.message.slice(0, 40)],
        ["INVALID_REQUEST", "a message holds at most 200000 values an"],
      );
    }
    assert.equal((await ask(socket, "demo.echo", { text: ",[{".repeat(300_000) }, "3")).ok, true);
  });

  it("a slow reader gets the close reason as soon as it reads again", async (t) => {
    const { raw, gateway } = await start(t, { maxBufferedBytes: 10_000_000 });
    const connections = () => (gateway as unknown as { connections(): readonly unknown[] }).connections().length;
    const socket = await raw();
    const open = connections();
    socket.ws.pause();
    const text = "x".repeat(100_000);
    for (let id = 0; id < 300; id++)
      socket.send({ type: "req", id: String(id), method: "demo.echo", params: { text } });
    await until(() => connections() < open, "the disconnect");
    const other = await raw();
    await ask(other, "demo.slow", { ms: 1_200 }); // longer than the grace period of a peer that is not slow
    socket.ws.resume();
    assert.deepEqual(await socket.closed, { code: 1008, reason: "slow consumer" });
  });

  it("a caller that leaves aborts its calls", async (t) => {
    const aborted: string[] = [];
    const { raw } = await start(t, {}, aborted);
    const socket = await raw();
    socket.send({ type: "req", id: "1", method: "demo.wait" });
    await ask(socket, "demo.whoami", {}, "2");
    socket.ws.terminate();
    await until(() => aborted.length === 1, "the abort");
  });

  it("a message of more than 8,192 fragments closes the connection, and one of exactly 8,192 is read", async () => {
    const { raw } = scene();
    const socket = await raw();
    const inPieces = (pieces: number) => {
      const message = JSON.stringify({ type: "req", id: "pieces", method: "demo.whoami" }).padEnd(pieces);
      for (let at = 0; at < pieces; at++) socket.ws.send(message[at] ?? "", { fin: at === pieces - 1 });
    };
    inPieces(8_192);
    assert.equal((await socket.next(({ id }) => id === "pieces")).ok, true);
    inPieces(8_193);
    assert.equal((await socket.closed).code, 1008);
  });
});

describe("events", () => {
  it("snapshots carry the state versions, each increased by one", async (t) => {
    const { raw, client } = await start(t);
    const socket = await raw();
    await client.call(demo.shout, { event: "presence", times: 2 });
    await socket.next(({ payload }) => (payload as unknown) === 1);
    const versions = socket.frames.filter(({ event }) => event === "presence").map(({ stateVersion }) => stateVersion);
    assert.deepEqual(versions, [
      { presence: 2, health: 1 },
      { presence: 3, health: 1 },
    ]);
    const later = await raw();
    const snapshot = later.frames.find(({ id }) => id === "c1")?.payload?.["snapshot"] as { stateVersion: unknown };
    assert.deepEqual(snapshot.stateVersion, { presence: 3, health: 1 });
  });

  it("none arrives before hello-ok", async (t) => {
    const { url, token, client } = await start(t);
    const socket = await openRaw(url);
    await client.call(demo.shout, { event: "all" });
    socket.send(connectFrame(token));
    await socket.next(({ id }) => id === "c1");
    assert.deepEqual(
      socket.frames.map(({ event, id }) => event ?? id),
      ["connect.challenge", "c1"],
    );
  });

  it("a slow reader misses droppable events and is disconnected with 1008 on others; other readers are unaffected [W1.8 W12.8 W13.4]", async (t) => {
    const { raw, client } = await start(t, { maxBufferedBytes: 200_000 });
    const [slow, good] = [await raw(), await raw()];
    const payload = "x".repeat(50_000);
    slow.ws.pause();
    for (let turn = 0; turn < 300; turn++) await client.call(demo.shout, { event: "droppable", payload });
    assert.equal(slow.ws.readyState, slow.ws.OPEN);
    await client.call(demo.shout, { event: "all", payload: "cut" });
    await good.next(({ payload: text }) => (text as unknown) === "cut");
    assert.equal(good.frames.filter(({ event }) => event === "demo.droppable").length, 300);
    slow.ws.resume();
    const { code } = await slow.closed;
    assert.ok(code === 1008 || code === 1006, `closed with ${code}`);
    assert.ok(slow.frames.filter(({ event }) => event === "demo.droppable").length < 300);
  });
});

it("a stopping gateway waits for calls in flight, and refuses new ones", async (t) => {
  const { raw, gateway, release } = await start(t, { drainMs: 60_000 });
  const socket = await raw();
  socket.send({ type: "req", id: "slow", method: "demo.hold" });
  await ask(socket, "demo.whoami", {}, "quick");
  const stopped = gateway.stop();
  await socket.next(({ event }) => event === "shutdown");
  assert.equal((await ask(socket, "demo.whoami", {}, "late")).error?.code, "UNAVAILABLE");
  release();
  assert.equal((await socket.next(({ id }) => id === "slow")).ok, true);
  assert.equal((await socket.closed).code, 1012);
  await stopped;
});
