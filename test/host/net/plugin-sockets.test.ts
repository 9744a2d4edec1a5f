/** WebSockets at routes of plugins: what the plugin gets, what a client gets, and how each side ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { it, type TestContext } from "node:test";
import { definePlugin, GatewayError, type PluginSocket, type RouteRequest, type RouteSpec } from "@svc/sdk";
import { createFakeClock, testGateway } from "@svc/sdk/testing";
import { WebSocket } from "ws";
import { until } from "../../until.ts";

type Upgrade = NonNullable<RouteSpec["upgrade"]>;

const PATH = "/plugins/echo/:room/socket";

function echoPlugin(upgrade: Upgrade, more: Partial<RouteSpec> = {}) {
  return definePlugin({
    id: "echo",
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.route({
        method: "GET",
        path: PATH,
        auth: "plugin",
        summary: "echo",
        handler: () => ({ status: 426 }),
        upgrade,
        ...more,
      }),
  });
}

async function open(t: TestContext, upgrade: Upgrade, more: Partial<RouteSpec> = {}) {
  const clock = createFakeClock();
  const running = await testGateway(t, { plugins: [echoPlugin(upgrade, more)], gateway: { clock } });
  const connect = (path = "/plugins/echo/lobby/socket", options = {}) => {
    const ws = new WebSocket(running.gateway.url + path, options);
    t.after(() => ws.terminate());
    const texts: string[] = [];
    ws.on("message", (data: Buffer) => void texts.push(data.toString()));
    ws.on("error", () => undefined);
    const closed = new Promise<string>((resolve) =>
      ws.once("close", (code, reason) => resolve(`${code} ${reason.toString()}`)),
    );
    return { ws, texts, closed, opened: () => once(ws, "open") };
  };
  return { ...running, clock, connect };
}

const echo: Upgrade = (_request, socket) => ({ message: (text) => socket.send(`echo ${text}`) });

/** Status and body of a refused upgrade. */
async function refusal(ws: WebSocket): Promise<string> {
  const [, response] = await once(ws, "unexpected-response");
  const chunks = await response.toArray();
  return `${response.statusCode} ${Buffer.concat(chunks).toString()} ${response.headers["retry-after"] ?? ""}`.trim();
}

it("opens a socket with the facts of the request; what is sent early arrives first", async (t) => {
  const requests: RouteRequest<undefined>[] = [];
  const { connect, gateway } = await open(t, (request, socket) => {
    requests.push(request);
    socket.send("welcome");
    return { message: (text) => socket.send(`echo ${text}`) };
  });
  const { ws, texts, opened } = connect("/plugins/echo/lobby/socket?a=1&b=2", { origin: "https://page.example" });
  await opened();
  ws.send("one");
  ws.send("two");
  await until(() => texts.length === 3, "the texts");
  assert.deepEqual(texts, ["welcome", "echo one", "echo two"]);
  const [request] = requests;
  assert.ok(request);
  const { path, params, query, headers, local, principal } = request;
  assert.deepEqual(
    [path, { ...params }, query.get("b"), headers["origin"], local, principal],
    ["/plugins/echo/lobby/socket", { room: "lobby" }, "2", "https://page.example", true, undefined],
  );
  const plain = await fetch(`${gateway.url.replace("ws", "http")}/plugins/echo/lobby/socket`);
  assert.equal(plain.status, 426);
});

it("leaves every other path to the gateway", async (t) => {
  const { connect } = await open(t, echo);
  for (const path of ["/", "/plugins/echo//socket", "/plugins/echo/lobby/socket/more", "/plugins/echo/%2e%2e/socket"]) {
    const { texts } = connect(path);
    await until(() => texts.length > 0, "the challenge");
    assert.match(texts[0] ?? "", /connect\.challenge/, path);
  }
});

it("is refused with the status of the error, and the log has an unexpected one", async (t) => {
  const errors = [
    new GatewayError("UNAVAILABLE", "no room", { retryAfterMs: 2_000 }),
    new GatewayError("FORBIDDEN", "this page may not"),
    new Error("secret detail"),
  ];
  const { connect, gateway } = await open(t, () => {
    throw errors.shift() ?? new Error("none left");
  });
  assert.equal(await refusal(connect().ws), "503 no room 2");
  assert.equal(await refusal(connect().ws), "403 this page may not");
  assert.match(await refusal(connect().ws), /^500 the WebSocket could not be opened/);
  assert.match(JSON.stringify(gateway.plugins()), /secret detail/);
});

it("is refused when the plugin does not decide within 10 seconds", async (t) => {
  let decide: (() => void) | undefined;
  let isClosed = false;
  const { connect, clock } = await open(t, async () => {
    await new Promise<void>((resolve) => (decide = resolve));
    return { message: () => undefined, closed: () => void (isClosed = true) };
  });
  const refused = refusal(connect().ws);
  await until(() => decide !== undefined, "the question");
  await clock.advance(10_000);
  assert.match(await refused, /^500 /);
  decide?.();
  await until(() => isClosed, "the end of the late decision");
});

it("handles one text of a client after the other, and closes on one that fails", async (t) => {
  const log: string[] = [];
  const { connect } = await open(t, (_request, socket) => ({
    async message(text) {
      log.push(`begin ${text}`);
      await new Promise((resolve) => setImmediate(resolve));
      if (text === "bad") throw new Error("unexpected");
      log.push(`end ${text}`);
      socket.send(text);
    },
  }));
  const { ws, closed, opened } = connect();
  await opened();
  for (const text of ["1", "2", "bad", "3"]) ws.send(text);
  assert.equal(await closed, "1011 the message could not be handled");
  assert.deepEqual(log, ["begin 1", "end 1", "begin 2", "end 2", "begin bad"]);
});

it("accepts no binary message and no text above the limit", async (t) => {
  const { connect } = await open(t, echo, { maxBodyBytes: 100 });
  const binary = connect();
  await binary.opened();
  binary.ws.send(Buffer.from("bytes"));
  assert.equal(await binary.closed, "1003 only texts are accepted");
  const large = connect();
  await large.opened();
  large.ws.send("x".repeat(101));
  assert.match(await large.closed, /^1009/);
});

it("drops a client that reads too slowly, and one that answers no ping", async (t) => {
  let socket: PluginSocket | undefined;
  let ended = 0;
  const { connect, clock } = await open(t, (_request, own) => {
    socket = own;
    return { message: () => undefined, closed: () => void ended++ };
  });
  const slow = connect();
  await slow.opened();
  slow.ws.pause();
  const text = "x".repeat(500_000);
  for (let sent = 0; sent < 40; sent++) socket?.send(text);
  slow.ws.resume();
  assert.equal(await slow.closed, "1008 the client reads too slowly");

  const dead = connect(undefined, { autoPong: false });
  await dead.opened();
  const pinged = once(dead.ws, "ping");
  await clock.advance(30_000);
  await pinged;
  await clock.advance(30_000);
  assert.match(await dead.closed, /^1006/);
  await until(() => ended === 2, "both ends");

  const alive = connect();
  await alive.opened();
  for (let times = 0; times < 3; times++) {
    const ping = once(alive.ws, "ping");
    await clock.advance(30_000);
    await ping;
    await new Promise((resolve) => setTimeout(resolve, 50)); // the pong arrives
  }
  assert.equal(alive.ws.readyState, WebSocket.OPEN);
});

it("tells the plugin once that the client has left, also if that was before it decided", async (t) => {
  const ends: string[] = [];
  let decide = () => {};
  const { connect } = await open(t, async ({ params }) => {
    if (params["room"] === "slow") await new Promise<void>((resolve) => (decide = resolve));
    return { message: () => undefined, closed: () => void ends.push(params["room"] ?? "") };
  });
  const quick = connect();
  await quick.opened();
  quick.ws.close();
  await until(() => ends.length === 1, "the end");
  const slow = connect("/plugins/echo/slow/socket");
  await new Promise((resolve) => setTimeout(resolve, 50)); // the request arrives
  slow.ws.terminate();
  await new Promise((resolve) => setTimeout(resolve, 50)); // the end arrives
  decide();
  await until(() => ends.length === 2, "the second end");
  assert.deepEqual(ends, ["lobby", "slow"]);
});

it("is closed with 1012 when its plugin is reloaded, and when the gateway stops", async (t) => {
  const { connect, gateway } = await open(t, echo);
  const first = connect();
  await first.opened();
  await gateway.reload("echo");
  assert.equal(await first.closed, "1012 the plugin stops");
  const second = connect();
  await second.opened();
  second.ws.send("again");
  await until(() => second.texts.includes("echo again"), "the answer");
  await gateway.stop();
  assert.match(await second.closed, /^1012 /);
});

it("needs GET, a request that the plugin verifies, and a fixed number of segments", async (t) => {
  for (const more of [
    { method: "POST" },
    { auth: "gateway", scope: "operator.read" },
    { path: "/plugins/echo/*rest" },
  ]) {
    const { gateway } = await open(t, echo, more as Partial<RouteSpec>);
    const report = gateway.plugins().find(({ id }) => id === "echo");
    assert.match(report?.reason ?? "", /opens WebSockets, so it must have the method GET/);
  }
});
