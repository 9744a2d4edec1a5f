/** A client whose socket breaks misses nothing; other clients never see that this exists. Spec: spec/README.md "seq". */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Audience, defineEvent, definePlugin, Type } from "@svc/sdk";
import { type ClientOptions, connect as connectClient } from "@svc/sdk/client";
import { type EventFrame, RESUME_CAP } from "@svc/sdk/protocol";
import { testGateway } from "@svc/sdk/testing";
import { WebSocket } from "ws";
import { until } from "../host/kernel/reload-scene.ts";
import { connectFrame, connectRaw, openRaw } from "../raw-socket.ts";

const limited = { timeout: 120_000 };
const events = {
  all: defineEvent({ name: "news.all", summary: "-", payload: Type.Unknown() }),
  secret: defineEvent({ name: "news.secret", summary: "-", payload: Type.Unknown(), scope: "operator.approvals" }),
  presence: defineEvent({ name: "presence", summary: "-", payload: Type.Unknown(), snapshot: true }),
};
type Tell = (event: keyof typeof events, payload: unknown, audience?: Audience) => void;

function news() {
  let tell: Tell = () => {};
  const plugin = definePlugin({
    id: "news",
    api: "^1.0.0",
    setup(gateway) {
      const emit = Object.fromEntries(Object.entries(events).map(([name, event]) => [name, gateway.event(event)]));
      tell = (event, payload, audience) => emit[event]?.(payload as never, audience);
    },
  });
  return { plugin, tell: ((...args) => tell(...args)) as Tell };
}

/** Remembers its sockets, so that a test can cut the wire. */
function cuttable() {
  const sockets: WebSocket[] = [];
  class Cuttable extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
  }
  return {
    WebSocket: Cuttable as unknown as NonNullable<ClientOptions["WebSocket"]>,
    cut: () => sockets.at(-1)?.terminate(),
  };
}

async function scene(t: TestContext, options: Partial<ClientOptions> = {}) {
  const { plugin, tell } = news();
  const running = await testGateway(t, { plugins: [plugin] });
  const { WebSocket: Cuttable, cut } = cuttable();
  const client = await running.connect({ reconnect: true, random: () => 0, WebSocket: Cuttable, ...options });
  const seen: unknown[] = [];
  const frames: EventFrame[] = [];
  const gaps: unknown[] = [];
  client.onEvent((frame) => {
    if (frame.event === "tick") return;
    seen.push(frame.payload);
    frames.push(frame);
  });
  client.onGap((expected, received) => gaps.push([expected, received]));
  /** Cuts the wire; what the test does meanwhile is missed. */
  const meanwhile = async (work: () => void) => {
    const back = new Promise((resolve) => {
      const off = client.onReconnect((hello) => (off(), resolve(hello)));
    });
    const before = running.gateway as unknown as { connections(): readonly unknown[] };
    const open = before.connections().length;
    cut();
    await until(() => before.connections().length < open, "the loss of the connection");
    work();
    await back;
  };
  return { ...running, client, tell, seen, frames, gaps, meanwhile };
}

describe("a client that lost its socket", limited, () => {
  it("gets what it missed, in order, each once, before anything new", async (t) => {
    const { tell, seen, gaps, meanwhile, client } = await scene(t);
    tell("all", 1);
    await until(() => seen.length === 1);
    await meanwhile(() => {
      for (const n of [2, 3]) tell("all", n);
      tell("secret", 4);
      tell("presence", "p");
    });
    tell("all", 5);
    await until(() => seen.includes(5));
    assert.deepEqual([seen, gaps, client.hello.resume?.complete], [[1, 2, 3, 4, "p", 5], [], true]);
  });

  it("again and again, though nothing had come in between", async (t) => {
    const { tell, seen, gaps, meanwhile } = await scene(t);
    await meanwhile(() => tell("all", 1));
    await meanwhile(() => undefined);
    await meanwhile(() => tell("all", 2));
    tell("all", 3);
    await until(() => seen.includes(3));
    assert.deepEqual([seen, gaps], [[1, 2, 3], []]);
  });

  it("gets them as they were: number, state version and place", async (t) => {
    const { tell, frames, meanwhile } = await scene(t);
    tell("all", "first");
    await until(() => frames.length === 1);
    await meanwhile(() => (tell("all", "missed"), tell("presence", "p")));
    tell("all", "last");
    await until(() => frames.length === 4);
    const [first, ...more] = frames;
    const n = first?.cursor?.n ?? 0;
    assert.deepEqual(
      more.map(({ cursor }) => cursor?.n),
      [n + 1, n + 2, n + 3],
    );
    assert.deepEqual(more[1]?.stateVersion, { presence: 2, health: 1 });
    assert.equal(more[2]?.seq !== undefined && more[0]?.seq !== undefined, true);
  });

  it("gets none that its scopes do not cover, and none meant for others", async (t) => {
    const { tell, seen, meanwhile, connect } = await scene(t, { scopes: ["operator.read"] });
    const other = await connect();
    await meanwhile(() => {
      tell("secret", "secret");
      tell("all", "private", { connections: [other.hello.server.connId] });
      tell("all", "open");
    });
    tell("all", "end");
    await until(() => seen.includes("end"));
    assert.deepEqual(seen, ["open", "end"]);
  });

  it("is told of a gap, once, when more was missed than is kept; what is new follows", async (t) => {
    const { tell, seen, gaps, meanwhile, client } = await scene(t);
    tell("all", "before");
    await until(() => seen.length === 1);
    const { n = 0 } = client.hello.resume?.cursor ?? {};
    await meanwhile(() => {
      for (let turn = 0; turn < 1_001; turn++) tell("all", turn);
    });
    assert.equal(client.hello.resume?.complete, false);
    tell("all", "after");
    await until(() => seen.includes("after"));
    assert.deepEqual([seen, gaps.length], [["before", "after"], 1]);
    assert.deepEqual(gaps[0], [n + 2, n + 1_002]);
  });
});

it("a client that comes back to another process is told of a gap", limited, async (t) => {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const config = { gateway: { auth: { token: "shared" } } };
  const first = news();
  const { gateway } = await testGateway(t, { plugins: [first.plugin], config, gateway: { port } });
  const client = await connectClient({ url: gateway.url, token: "shared", reconnect: true, random: () => 0 });
  t.after(() => client.close());
  const gaps: unknown[] = [];
  const seen: unknown[] = [];
  client.onGap((...gap) => gaps.push(gap));
  client.on(events.all, (payload) => seen.push(payload));
  first.tell("all", "before");
  await until(() => seen.length === 1);
  const back = new Promise((resolve) => client.onReconnect(resolve));
  await gateway.stop();
  const second = news();
  await testGateway(t, { plugins: [second.plugin], config, gateway: { port } });
  await back;
  assert.equal(client.hello.resume?.complete, false);
  second.tell("all", "after");
  await until(() => seen.length === 2);
  assert.deepEqual([gaps.length, seen], [1, ["before", "after"]]);
});

describe("on the wire", limited, () => {
  const KEYS = {
    event: ["event", "payload", "seq", "stateVersion", "type"],
    res: ["error", "id", "ok", "payload", "type"],
  };

  it("no other client ever sees a cursor, a null or a key that is not of protocol 3", async (t) => {
    const { gateway, tell, meanwhile } = await scene(t);
    const plain = await connectRaw(gateway.url, gateway.auth.token, { scopes: ["operator.admin"] });
    const texts: string[] = [];
    plain.ws.on("message", (data: Buffer) => texts.push(data.toString()));
    tell("all", { a: 1 });
    tell("secret", { a: 1 });
    tell("presence", []);
    tell("all", undefined);
    await meanwhile(() => tell("all", "meanwhile"));
    plain.send({ type: "req", id: "x", method: "no.such" });
    await plain.next(({ id }) => id === "x");
    const frames = [...plain.frames.map((frame) => JSON.stringify(frame)), ...texts];
    assert.ok(texts.length >= 6);
    for (const text of frames) {
      const frame = JSON.parse(text) as { type: "event" | "res" };
      for (const key of Object.keys(frame)) assert.ok(KEYS[frame.type].includes(key), text);
      assert.ok(!text.includes("null") && !text.includes("cursor") && !text.includes('"resume"'), text);
    }
    plain.ws.close();
  });

  it("one that asks for it sees a cursor on what it could ask for again, and on nothing else", async (t) => {
    const { gateway, tell } = await scene(t);
    const socket = await connectRaw(gateway.url, gateway.auth.token, { caps: [RESUME_CAP] });
    const { payload } = await socket.next(({ id }) => id === "c1");
    const connection = (payload?.["server"] as { connId: string } | undefined)?.connId ?? "";
    tell("all", "kept");
    tell("all", "targeted", { connections: [connection] });
    await socket.next((frame) => (frame.payload as unknown) === "targeted");
    const marked = socket.frames.filter(({ event }) => event === "news.all").map((frame) => "cursor" in frame);
    assert.deepEqual(marked, [true, false]);
    socket.ws.close();
  });

  it("a place of another process is accepted, and told to be incomplete", async (t) => {
    const { gateway } = await scene(t);
    const resume = { epoch: "other", n: 1_000_000 };
    const socket = await connectRaw(gateway.url, gateway.auth.token, { caps: [RESUME_CAP], resume });
    const { payload } = await socket.next(({ id }) => id === "c1");
    assert.equal((payload?.["resume"] as { complete: boolean } | undefined)?.complete, false);
    socket.ws.close();
  });

  it("a place that is none is refused before anything else happens", async (t) => {
    const { gateway } = await scene(t);
    const socket = await openRaw(gateway.url);
    socket.send(connectFrame(gateway.auth.token, { caps: [RESUME_CAP], resume: { epoch: "", n: -1 } }));
    assert.equal((await socket.closed).code, 1008);
  });

  it("who asks to resume without the cap gets no replay", async (t) => {
    const { gateway, tell, client } = await scene(t);
    const before = client.hello.resume?.cursor;
    tell("all", "kept");
    const socket = await connectRaw(gateway.url, gateway.auth.token, { resume: before });
    tell("all", "new");
    await socket.next((frame) => (frame.payload as unknown) === "new");
    assert.deepEqual(
      socket.frames.filter(({ event }) => event === "news.all").map(({ payload }) => payload),
      ["new"],
    );
    socket.ws.close();
  });
});
