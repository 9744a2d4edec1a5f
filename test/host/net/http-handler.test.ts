/** The HTTP handler on its own server: time limits, the log, and bytes counted by the server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { type Logger, type RouteSpec } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../../host/auth/access.ts";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import type { LiveRoute } from "../../../host/kernel/kinds/routes.ts";
import { Table } from "../../../host/kernel/table.ts";
import { createHttpHandler } from "../../../host/net/http/handler.ts";
import { fakeOwner } from "../hooks/fake-owner.ts";
import { exchange } from "./http-exchange.ts";

type Handler = RouteSpec["handler"];

async function serve(
  t: TestContext,
  handler: Handler,
  {
    bodyTimeoutMs,
    maxBodyBytes = 1_024,
    isStopping = false,
    ...at
  }: { bodyTimeoutMs?: number; maxBodyBytes?: number; isStopping?: boolean } & Partial<
    Pick<RouteSpec, "method" | "path">
  > = {},
) {
  const hooks = new HookBus();
  const routes = new Table<LiveRoute>();
  const owner = fakeOwner("web", 0);
  const route: RouteSpec = {
    method: "POST",
    path: "/plugins/web/in",
    auth: "plugin",
    summary: "in",
    maxBodyBytes,
    handler,
    ...at,
  };
  const withdraw = routes.add(`${route.method} ${route.path}`, { route, owner });
  const errors: object[] = [];
  const log: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void errors.push(fields) };
  const http = createHttpHandler({
    routes,
    hooks,
    log,
    readiness: () => ({ isStopping, missing: [] }),
    access: new Access({ mode: "none" }, {}, 18_789, createFakeClock()),
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }),
  });
  const server = createServer(http.handle);
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { port: (server.address() as AddressInfo).port, owner, http, errors, sockets, withdraw };
}

const target = "/plugins/web/in";

describe("a body that does not arrive in time", () => {
  it("is answered with 408, and the connection closed [H4.15]", async (t) => {
    const { port } = await serve(t, () => ({ body: "read" }), { bodyTimeoutMs: 50 });
    const headers = { "Content-Length": "10" };
    const { status, body, closed } = await exchange(port, { method: "POST", target, headers, body: "half" });
    assert.deepEqual([status, closed], [408, true]);
    assert.equal(body, '{"error":{"message":"Request body timeout","type":"invalid_request_error"}}');
  });

  it("does not limit how long the handler takes", async (t) => {
    const slow: Handler = () => new Promise((resolve) => setTimeout(resolve, 150, { body: "slow" }));
    const { port } = await serve(t, slow, { bodyTimeoutMs: 50 });
    const { status, body } = await exchange(port, { method: "POST", target, headers: { "Content-Length": "0" } });
    assert.deepEqual([status, body], [200, "slow"]);
  });
});

describe("requests that one connection sends without waiting", () => {
  const one = `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

  async function pipelined(t: TestContext, count: number) {
    const handlers: (() => void)[] = [];
    const served = await serve(t, async () => {
      await new Promise<void>((resolve) => handlers.push(resolve));
      return { body: "done" };
    });
    const client = connect(served.port, "127.0.0.1");
    client.on("error", () => undefined);
    client.setEncoding("utf8");
    client.write(one.repeat(count));
    return { handlers, client, served };
  }

  it("are served 64 at a time, and all are answered in order", async (t) => {
    const { handlers, client } = await pipelined(t, 200);
    let text = "";
    client.on("data", (chunk: string) => (text += chunk));
    const answers = () => text.match(/HTTP\/1\.1 200/gu)?.length ?? 0;
    while (handlers.length < 64) await new Promise(setImmediate);
    let most = 0;
    for (let ended = 0; ended < 200; handlers[ended++]?.()) {
      do await new Promise(setImmediate);
      while (handlers.length <= ended);
      most = Math.max(most, handlers.length - ended);
    }
    while (answers() < 200) await once(client, "data");
    assert.deepEqual([most, handlers.length], [64, 200]);
    client.destroy();
  });

  it("count as ended when their connection closes, so that the gateway can stop", async (t) => {
    const { handlers, client, served } = await pipelined(t, 100);
    while (handlers.length < 64) await new Promise(setImmediate);
    client.destroy();
    await served.http.idle();
    assert.equal(handlers.length, 64);
  });
});

describe("a body that is too large", () => {
  for (const form of ["Content-Length: 4000000", "Transfer-Encoding: chunked"]) {
    it(`is read only up to about its limit: ${form}`, async (t) => {
      const { port, sockets } = await serve(t, () => assert.fail("the handler ran"));
      const client = connect(port, "127.0.0.1");
      client.on("error", () => undefined);
      const answered = once(client, "data");
      client.write(`POST ${target} HTTP/1.1\r\nHost: x\r\n${form}\r\n\r\n`);
      const piece = "x".repeat(65_536);
      for (let sent = 0; sent < 4_000_000; sent += piece.length) {
        client.write(form.startsWith("Content") ? piece : `10000\r\n${piece}\r\n`);
      }
      const [answer] = (await answered) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 413 /);
      const [socket] = sockets;
      assert.ok(socket);
      if (!socket.destroyed) await once(socket, "close");
      assert.ok(socket.bytesRead <= 4 * 65_536, `${socket.bytesRead} bytes were read`);
      client.destroy();
    });
  }
});

describe("the log", () => {
  it("has the details the client does not get, under the id the client gets", async (t) => {
    const { port, errors, owner } = await serve(t, () => {
      throw new Error("the disk is full");
    });
    const { status, body } = await exchange(port, { method: "POST", target, headers: { "Content-Length": "0" } });
    const id = /\(([0-9a-f]+)\)/.exec(body)?.[1];
    assert.equal(status, 500);
    assert.equal(errors.length, 1);
    const [{ err, ...fields }] = errors as [{ err: Error }];
    assert.equal(err.message, "the disk is full");
    assert.deepEqual(fields, { method: "POST", path: target, correlationId: id });
    assert.deepEqual(
      owner.charges.map(({ where }) => where),
      [`route POST ${target}`],
    );
  });

  it("has no entry for a client that disconnects in the middle of its body", async (t) => {
    const { port, errors, owner, sockets } = await serve(t, () => assert.fail("the handler ran"));
    const client = connect(port, "127.0.0.1");
    client.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf`);
    while (!sockets[0]?.bytesRead) await new Promise((resolve) => setTimeout(resolve, 5));
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve)); // an error of the parser comes before it
    client.destroy();
    await closed;
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual([errors, owner.charges], [[], []]);
  });
});

it("a removed route is gone at the next request", async (t) => {
  const { port, withdraw } = await serve(t, () => ({ body: "here" }));
  const request = { method: "POST", target, headers: { "Content-Length": "0" } };
  assert.equal((await exchange(port, request)).status, 200);
  withdraw();
  assert.equal((await exchange(port, request)).status, 404);
});

describe("a probe", () => {
  const rows: [path: string, probe: string, body: RegExp][] = [
    ["/ready", "/ready?x=1", /^mine$/],
    ["/ready", "/readyz", /"ready"/],
    ["/*rest", "/healthz", /"live"/],
    ["/*rest", "/anything", /^mine$/],
  ];
  for (const [path, target, body] of rows) {
    it(`at ${target} is answered by a route for exactly that path, not by another one: ${path}`, async (t) => {
      const { port } = await serve(t, () => ({ body: "mine" }), { method: "GET", path });
      assert.match((await exchange(port, { target })).body, body);
    });
  }

  it("of a stopping gateway is not ready", async (t) => {
    const { port } = await serve(t, () => ({}), { isStopping: true });
    const { status, body } = await exchange(port, { target: "/readyz" });
    assert.deepEqual([status, body], [503, '{"ok":false,"status":"stopping"}']);
  });
});
