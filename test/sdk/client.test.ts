/** The client against a server that does exactly what a test says. */
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { type ClientOptions, connect } from "@svc/sdk/client";
import { tick } from "@svc/sdk/protocol";
import { type WebSocket, WebSocketServer } from "ws";

interface Request {
  readonly id: string;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

const HELLO = { type: "hello-ok", protocol: 3, policy: { tickIntervalMs: 15_000 } };

/** @param answer what to do with each request; `connect` is accepted unless it returns true for it */
async function serve(
  t: TestContext,
  answer: (socket: WebSocket, request: Request, nth: number) => boolean | void = () => {},
) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const sockets: WebSocket[] = [];
  server.on("connection", (socket) => {
    const nth = sockets.push(socket);
    send(socket, { type: "event", event: "connect.challenge", payload: { nonce: "n", ts: 1 } });
    socket.on("message", (data: Buffer) => {
      const request = JSON.parse(data.toString()) as Request;
      if (answer(socket, request, nth) || request.method !== "connect") return;
      send(socket, { type: "res", id: request.id, ok: true, payload: HELLO });
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    for (const socket of sockets) socket.terminate();
    server.close();
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = async (options: Partial<ClientOptions> = {}) => {
    const client = await connect({ url, ...options });
    t.after(() => client.close());
    return client;
  };
  return { url, sockets, open, server };
}

const send = (socket: WebSocket, frame: object) => socket.send(JSON.stringify(frame));
const reply = (socket: WebSocket, id: string, payload: unknown) => send(socket, { type: "res", id, ok: true, payload });
const refuse = (socket: WebSocket, id: string, error: object) => send(socket, { type: "res", id, ok: false, error });

describe("connect", () => {
  it("sends what protocol 3 asks for, after the challenge [W3.4]", async (t) => {
    let seen: Request | undefined;
    const { open } = await serve(t, (_, request) => void (seen = request));
    await open({ token: "t", scopes: ["operator.read"], caps: ["tool-events"] });
    const { client, ...params } = seen?.params ?? {};
    assert.deepEqual(params, {
      minProtocol: 3,
      maxProtocol: 3,
      role: "operator",
      scopes: ["operator.read"],
      caps: ["tool-events", "resume"],
      auth: { token: "t" },
    });
    assert.equal((client as { id: string }).id, "cli");
  });

  it("throws the gateway's refusal", async (t) => {
    const refusal = { code: "NOT_PAIRED", message: "pairing required", details: { requestId: "r" } };
    const { open } = await serve(t, (socket, { id }) => {
      refuse(socket, id, refusal);
      socket.close(1008, "pairing required");
      return true;
    });
    await assert.rejects(open({ reconnect: true }), refusal);
  });

  it("says whom it could not reach", async () => {
    await assert.rejects(connect({ url: "ws://127.0.0.1:1" }), {
      code: "UNAVAILABLE",
      message: /cannot reach ws:\/\/127\.0\.0\.1:1/,
    });
  });

  it("gives up on a gateway that never answers [W3.4]", async (t) => {
    const { open } = await serve(t, () => true);
    await assert.rejects(open({ connectTimeoutMs: 50 }), { code: "UNAVAILABLE", message: /no hello from/ });
  });

  it("throws the refusal of a gateway whose close is lost on its way", async (t) => {
    const error = { code: "NOT_PAIRED", message: "pairing required" };
    const { open } = await serve(t, (socket, { id }) => (refuse(socket, id, error), true));
    await assert.rejects(open({ connectTimeoutMs: 50 }), error);
  });
});

describe("calls", () => {
  it("are matched by id, in whatever order they are answered", async (t) => {
    const held: Request[] = [];
    const { open } = await serve(t, (socket, request) => {
      if (request.method === "connect") return;
      held.push(request);
      if (held.length === 2) for (const { id, method } of held.reverse()) reply(socket, id, method);
    });
    const client = await open();
    assert.deepEqual(await Promise.all([client.request("first"), client.request("second")]), ["first", "second"]);
  });

  it("end when the time is up, and a late answer is ignored", async (t) => {
    const { open } = await serve(t, (socket, { id, method }) => {
      if (method === "slow") setTimeout(() => reply(socket, id, 1), 60);
      if (method === "quick") reply(socket, id, 2);
    });
    const client = await open();
    await assert.rejects(client.request("slow", {}, { timeoutMs: 20 }), {
      code: "UNAVAILABLE",
      message: /slow did not respond within 20 ms/,
    });
    await new Promise((resolve) => setTimeout(resolve, 60));
    assert.equal(await client.request("quick"), 2);
  });

  it("in flight are rejected when the connection is lost", async (t) => {
    const { open } = await serve(t, (socket, { method }) => void (method === "die" && socket.terminate()));
    const client = await open();
    await assert.rejects(client.request("die"), { code: "UNAVAILABLE", message: /connection lost/ });
    await assert.rejects(client.request("after"), { code: "UNAVAILABLE", message: "not connected" });
  });

  it("a failure of an unknown code is INTERNAL and keeps its words", async (t) => {
    const { open } = await serve(t, (socket, { id, method }) => {
      if (method === "x") refuse(socket, id, { code: "NOVEL", message: "new" });
    });
    await assert.rejects((await open()).request("x"), { code: "INTERNAL", message: "new" });
  });
});

describe("events", () => {
  it("reach their listeners, and a hole in the numbers is told once [W12.5]", async (t) => {
    const { open, sockets } = await serve(t);
    const client = await open();
    const seen: number[] = [];
    const gaps: unknown[] = [];
    const off = client.on(tick, ({ ts }) => seen.push(ts));
    client.onGap((expected, received) => gaps.push([expected, received]));
    for (const [ts, seq] of [
      [1, 7],
      [2, 8],
      [3, 11],
      [4, 12],
    ])
      sockets[0]?.send(JSON.stringify({ type: "event", event: "tick", payload: { ts }, seq }));
    sockets[0]?.send(JSON.stringify({ type: "event", event: "tick", payload: { ts: 5 } }));
    while (seen.length < 5) await new Promise((resolve) => setTimeout(resolve, 2));
    off();
    assert.deepEqual([seen, gaps], [[1, 2, 3, 4, 5], [[9, 11]]]);
  });
});

describe("reconnecting", () => {
  it("waits with back-off and jitter, tells both, and calls work again [W3.6]", async (t) => {
    const { open, sockets } = await serve(t, (socket, { id, method }) => {
      if (method === "ping") reply(socket, id, sockets.length);
    });
    const client = await open({ reconnect: true, random: () => 0 });
    const told: unknown[] = [];
    client.onClose(({ code, willReconnect }) => told.push([code, willReconnect]));
    const back = new Promise((resolve) => client.onReconnect(resolve));
    sockets[0]?.close(1012, "service restart");
    await back;
    assert.deepEqual(told, [[1012, true]]);
    assert.equal(await client.request("ping"), 2);
  });

  it("tries again after an attempt that failed", async (t) => {
    const { open, sockets } = await serve(t, (socket, { method }, nth) => {
      if (method === "connect" && nth === 2) socket.terminate();
      return nth === 2;
    });
    const client = await open({ reconnect: true, random: () => 0 });
    const back = new Promise((resolve) => client.onReconnect(resolve));
    sockets[0]?.terminate();
    await back;
    assert.equal(sockets.length, 3);
  });

  it("stops at a refusal, and at close()", async (t) => {
    const { open, sockets } = await serve(t, (socket, { id, method }, nth) => {
      if (method !== "connect" || nth === 1) return false;
      refuse(socket, id, { code: "INVALID_REQUEST", message: "unauthorized: no" });
      socket.close(1008, "unauthorized: no");
      return true;
    });
    const client = await open({ reconnect: true, random: () => 0 });
    const ends: boolean[] = [];
    const final = new Promise<void>((resolve) =>
      client.onClose(({ willReconnect }) => (ends.push(willReconnect), willReconnect || resolve())),
    );
    sockets[0]?.terminate();
    await final;
    assert.deepEqual(ends, [true, false]);
    await client.close();
    await client.close();
    assert.equal(sockets.length, 2);
  });

  it("does not happen unless asked for", async (t) => {
    const { open, sockets } = await serve(t);
    const client = await open();
    const end = new Promise((resolve) => client.onClose(resolve));
    sockets[0]?.close(1012, "service restart");
    assert.deepEqual(await end, { code: 1012, reason: "service restart", willReconnect: false });
  });
});

describe("credentials that change", () => {
  it("asks for the token at each connect, and uses the device's token once there is none", async (t) => {
    const sent: unknown[] = [];
    const { open } = await serve(t, (socket, { method, params }, nth) => {
      if (method !== "connect") return;
      sent.push(params?.["auth"]);
      if (nth === 1) setTimeout(() => socket.terminate(), 20);
    });
    let secret: string | undefined = "shared";
    const client = await open({ token: () => secret, deviceToken: () => "own", reconnect: true, random: () => 0 });
    secret = undefined;
    await new Promise<void>((resolve) => client.onReconnect(() => resolve()));
    assert.deepEqual(sent, [{ token: "shared" }, { token: "own", deviceToken: "own" }]);
  });

  it("waits for a device that signs later, and reports one that cannot sign", async (t) => {
    const sent: unknown[] = [];
    const { open } = await serve(t, (_socket, { params }) => void sent.push(params?.["device"]));
    const device = { id: "d", publicKey: "k", sign: async (text: string) => `signed ${text.slice(0, 2)}` };
    await open({ device });
    assert.equal((sent[0] as { signature: string }).signature, "signed v3");
    const broken = { ...device, sign: () => Promise.reject(new Error("the key is gone")) };
    await assert.rejects(open({ device: broken }), /the key is gone/);
  });
});
