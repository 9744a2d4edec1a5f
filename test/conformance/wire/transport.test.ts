/** Spec: protocol/frames-and-connect.md §1, §3. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { connect } from "@svc/sdk/client";
import { HANDSHAKE_TIMEOUT_MS, MAX_PAYLOAD_BYTES } from "@svc/sdk/protocol";
import { WebSocket, WebSocketServer } from "ws";
import { connectFrame, openRaw } from "../../raw-socket.ts";
import { ask, shared, start } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("transport", limited, () => {
  const scene = shared();

  it("binary messages are decoded as UTF-8 and parsed the same way [W1.1]", async () => {
    const socket = await scene().open();
    socket.ws.send(Buffer.from(JSON.stringify(connectFrame(scene().token))), { binary: true });
    await socket.next(({ id, ok }) => id === "c1" && ok === true);
    const text = "grün";
    const frame = { type: "req", id: "b1", method: "wire.echo", params: { text } };
    socket.ws.send(Buffer.from(JSON.stringify(frame)), { binary: true });
    assert.deepEqual((await socket.next(({ id }) => id === "b1")).payload, { text });
  });

  it("frames are sent as text [W1.1]", async () => {
    const ws = new WebSocket(scene().url);
    const isBinary = await new Promise((resolve) => ws.once("message", (_data, binary) => resolve(binary)));
    assert.equal(isBinary, false);
  });

  for (const path of ["/", "/ws", "/any/path/at/all?x=1"]) {
    it(`any path is upgraded: ${path} [W1.2]`, async () => {
      const socket = await openRaw(`${scene().url}${path}`);
      socket.send(connectFrame(scene().token));
      assert.equal((await socket.next(({ id }) => id === "c1")).ok, true);
    });
  }

  it("no credential is checked on the upgrade: a wrong bearer opens the socket, a right one admits no client [W1.5 H8.8]", async () => {
    const wrong = await scene().open({ authorization: "Bearer wrong" });
    wrong.send(connectFrame(scene().token));
    assert.equal((await wrong.next(({ id }) => id === "c1")).ok, true);
    const right = await scene().open({ authorization: `Bearer ${scene().token}` });
    right.send(connectFrame(undefined));
    assert.equal((await right.next(({ id }) => id === "c1")).error?.code, "NOT_PAIRED");
  });

  it("no sub-protocol is required: a client that offers none gets none, one that offers some is accepted [W1.2]", async () => {
    for (const offered of [[], ["svc", "chat"]]) {
      const ws = new WebSocket(scene().url, offered);
      await new Promise((resolve, reject) => ws.once("open", resolve).once("error", reject));
      assert.ok(ws.protocol === "" || offered.includes(ws.protocol));
      ws.terminate();
    }
  });

  it("an oversize message after connect closes with 1009, no reason and no response [W1.6 W13.6]", async () => {
    const socket = await scene().join();
    socket.send("x".repeat(MAX_PAYLOAD_BYTES.afterConnect + 1));
    assert.deepEqual(await socket.closed, { code: 1009, reason: "" });
    assert.equal(socket.frames.filter(({ type }) => type === "res").length, 1, "only hello-ok");
  });

  it("an oversize message before connect closes with 1009, no reason and no response [W1.7 W13.6]", async () => {
    const socket = await scene().open();
    socket.send("x".repeat(MAX_PAYLOAD_BYTES.beforeConnect + 1));
    assert.deepEqual(await socket.closed, { code: 1009, reason: "" });
    assert.equal(socket.frames.length, 1, "only the challenge");
  });

  it("a message just under 25 MiB is accepted [W1.6]", async () => {
    const socket = await scene().join();
    const empty = JSON.stringify({ type: "req", id: "big", method: "wire.echo", params: { text: "" } });
    const text = "x".repeat(MAX_PAYLOAD_BYTES.afterConnect - empty.length);
    socket.send(empty.replace('"text":""', `"text":"${text}"`));
    assert.equal((await socket.next(({ id }) => id === "big")).ok, true);
  });
});

describe("handshake sequence", limited, () => {
  const scene = shared();

  it("the challenge is sent at once: a uuid v4, the time in ms, no seq [W3.1]", async () => {
    const from = Date.now();
    const { frames } = await scene().open();
    const [challenge] = frames;
    const { nonce, ts } = challenge?.payload ?? {};
    assert.match(String(nonce), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    assert.ok(Number.isInteger(ts) && Number(ts) >= from && Number(ts) <= Date.now());
    assert.deepEqual(Object.keys(challenge?.payload ?? {}).toSorted(), ["nonce", "ts"]);
    assert.ok(challenge && !("seq" in challenge));
  });

  it("a client that does not wait for the challenge is admitted [W3.5]", async () => {
    const ws = new WebSocket(scene().url);
    const answered = new Promise((resolve) =>
      ws.on("message", (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as { id?: string; ok?: boolean };
        if (frame.id === "c1") resolve(frame.ok);
      }),
    );
    ws.once("open", () => ws.send(JSON.stringify(connectFrame(scene().token))));
    assert.equal(await answered, true);
  });

  it("the response carries the id of the connect [W3.3]", async () => {
    const socket = await scene().open();
    socket.send(connectFrame(scene().token, {}, { id: "an id of the client's own" }));
    const { ok, payload } = await socket.next(({ id }) => id === "an id of the client's own");
    assert.deepEqual([ok, payload?.["type"]], [true, "hello-ok"]);
  });

  it("the deadline is 10000 ms from the open socket [W3.10 H8.5]", () => assert.equal(HANDSHAKE_TIMEOUT_MS, 10_000));

  it("a client accepted in time is not closed at the handshake deadline [W3.10]", async (t) => {
    const { join, open } = await start(t, {}, { handshakeTimeoutMs: 1_000 });
    const socket = await join();
    const late = await open();
    assert.deepEqual(await late.closed, { code: 1000, reason: "" }); // its deadline is after the other's
    assert.equal((await ask(socket, "wire.who")).ok, true);
  });
});

describe("the SDK client", limited, () => {
  it("closes with 4000 tick timeout when no tick comes for two intervals [W3.7]", async (t) => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    t.after(() => server.close());
    const closed = new Promise((resolve) => {
      server.on("connection", (ws) => {
        ws.on("close", (code, reason) => resolve([code, reason.toString()]));
        ws.on("message", (data: Buffer) => {
          const { id } = JSON.parse(data.toString()) as { id: string };
          const server = { version: "1", connId: "x" };
          const features = { methods: [], events: [] };
          const snapshot = { uptimeMs: 1, authMode: "none" };
          const policy = { maxPayload: 1, maxBufferedBytes: 1, tickIntervalMs: 1 };
          const payload = { type: "hello-ok", protocol: 3, server, features, snapshot, policy };
          ws.send(JSON.stringify({ type: "res", id, ok: true, payload }));
        });
        ws.send(JSON.stringify({ type: "event", event: "connect.challenge", payload: { nonce: "n", ts: 1 } }));
      });
    });
    if (!server.address()) await once(server, "listening");
    const { port } = server.address() as { port: number };
    const client = await connect({ url: `ws://127.0.0.1:${port}` });
    assert.deepEqual(await closed, [4000, "tick timeout"]);
    await client.close();
  });
});
