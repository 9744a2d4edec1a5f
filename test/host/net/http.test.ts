/** Routing, credentials of routes, the hook httpRequest, and headers of every response. Spec: http/auth.md §4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, notReady } from "@svc/sdk";
import { securityHeaders } from "../../../host/net/http/security-headers.ts";
import { exchange } from "./http-exchange.ts";
import { errorOf, serve, webPlugin } from "./web-scene.ts";

describe("a route with the gateway's credential [H4.2]", () => {
  it("accepts the token, as the operator, and checks it before it reads the body", async (t) => {
    const { ask, gateway, port } = await serve(t);
    const response = await ask("/plugins/web/closed", { headers: { authorization: `Bearer ${gateway.auth.token}` } });
    const { principal } = (await response.json()) as { principal: { id: string; scopes: string[] } };
    assert.deepEqual([principal.id, principal.scopes], ["token", ["operator.admin"]]);
    const headers = { "Content-Length": "1000" };
    const { status, closed } = await exchange(port, { method: "POST", target: "/plugins/web/closed", headers });
    assert.deepEqual([status, closed], [401, true]);
  });

  const guests: [why: string, headers: Record<string, string>, status: number][] = [
    ["a program on this machine", {}, 200],
    ["a page of the gateway itself", { "Sec-Fetch-Site": "same-origin" }, 200],
    ["an address that somebody typed", { "Sec-Fetch-Site": "none" }, 200],
    ["a page of another server of this site", { "Sec-Fetch-Site": "same-site" }, 403],
    ["a page of another server on this machine", { Origin: "http://localhost:5173" }, 403],
    ["a picture in a page of another site", { "Sec-Fetch-Site": "cross-site" }, 403],
    ["a page on the list", { Origin: "https://panel.example" }, 200],
    ["a page that is not listed", { Origin: "https://evil.example" }, 403],
    ["a page without an origin", { Origin: "null" }, 403],
    ["a page that uses another host name", { Host: "rebound.example" }, 403],
    ["a client behind a proxy", { "X-Forwarded-For": "127.0.0.1" }, 403],
  ];
  it("in mode none answers programs and its own or listed pages on this machine only [H4.7]", async (t) => {
    const gateway = { auth: { mode: "none" }, controlUi: { allowedOrigins: ["https://panel.example"] } };
    const { port, asked } = await serve(t, webPlugin(), { config: { gateway } });
    const own: typeof guests = [["a page of this address", { Origin: `http://localhost:${port}` }, 200]];
    for (const [why, headers, status] of [...guests, ...own]) {
      asked.length = 0;
      const answer = await exchange(port, { target: "/plugins/web/closed", headers });
      assert.deepEqual([answer.status, asked.length], [status, status === 200 ? 1 : 0], why);
    }
  });
});

describe("a route that verifies requests itself [H4.3]", () => {
  it("gets everything, and no principal", async (t) => {
    const { ask, asked } = await serve(t);
    assert.equal(
      (await ask("/plugins/web/answer", { headers: { authorization: "Bearer x", "x-mine": "1" } })).status,
      200,
    );
    const [request] = asked;
    assert.equal(request?.principal, undefined);
    assert.equal(request?.headers["authorization"], "Bearer x");
    assert.equal(request?.headers["x-mine"], "1");
    assert.equal(request?.remoteAddress, "127.0.0.1");
  });
});

describe("finding a route", () => {
  it("that does not exist is 404, with a message [H10.6]", async (t) => {
    const { ask } = await serve(t);
    for (const path of ["/", "/plugins", "/plugins/web", "/plugins/web/other", "/plugins/web/items/1/parts"]) {
      const response = await ask(path);
      const { message, type } = await errorOf(response);
      assert.deepEqual([response.status, type, message], [404, "not_found", `nothing is served at GET ${path}`]);
    }
  });

  it("at / gives browsers a page that reveals nothing, and programs the 404", async (t) => {
    const config = { gateway: { http: { securityHeaders: { strictTransportSecurity: "max-age=60" } } } };
    const { ask } = await serve(t, webPlugin(), { config });
    const accept = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const page = await ask("/", { headers: accept });
    const text = await page.text();
    assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    assert.match(text, /svc gateway is running[^]*svc --help[^]*README/);
    assert.doesNotMatch(text, /\d+\.\d+|\/home|\/tmp|web/);
    const expected = { "strict-transport-security": "max-age=60", "x-content-type-options": "nosniff", vary: "Accept" };
    for (const [name, value] of Object.entries(expected)) assert.equal(page.headers.get(name), value);
    const head = await ask("/", { method: "HEAD", headers: accept });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
    assert.equal(head.headers.get("content-length"), page.headers.get("content-length"));
    assert.equal((await ask("/", { headers: { accept: "application/json" } })).status, 404);
    assert.equal((await ask("/", { method: "POST", headers: accept })).status, 404);
    assert.equal((await ask("/other", { headers: accept })).status, 404);
  });

  const methods: [method: string, path: string, allow: string][] = [
    ["DELETE", "answer", "GET, HEAD"],
    ["POST", "answer", "GET, HEAD"],
    ["GET", "typed", "POST"],
    ["HEAD", "typed", "POST"],
    ["OPTIONS", "typed", "POST"],
    ["PATCH", "raw", "POST, PUT"],
    ["PROPFIND", "closed", "GET, HEAD, POST"],
  ];
  it("by another method is 405 with the allowed methods", async (t) => {
    const { port, asked } = await serve(t);
    for (const [method, path, allow] of methods) {
      const { status, headers, body } = await exchange(port, { method, target: `/plugins/web/${path}` });
      const text = method === "HEAD" ? "" : "Method Not Allowed";
      assert.deepEqual([status, headers["allow"], body, asked.length], [405, allow, text, 0], `${method} ${path}`);
      assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    }
  });

  it("by an unknown method on an unknown path is 404", async (t) => {
    const { port } = await serve(t);
    assert.equal((await exchange(port, { method: "OPTIONS", target: "/x" })).status, 404);
    assert.equal((await exchange(port, { method: "PROPFIND", target: "/x" })).status, 404);
  });

  it("passes the parts of the path, decoded, and the query", async (t) => {
    const { ask } = await serve(t);
    const response = await ask("/plugins/web/items/caf%C3%A9%20x/parts/2?a=1&a=2&b=%2F&c");
    assert.deepEqual(await response.json(), {
      params: { id: "café x", part: "2" },
      query: [
        ["a", "1"],
        ["a", "2"],
        ["b", "/"],
        ["c", ""],
      ],
      path: "/plugins/web/items/caf%C3%A9%20x/parts/2",
      method: "GET",
    });
  });

  const open: [rest: string, value: string | undefined][] = [
    ["a", "a"],
    ["a/b", "a/b"],
    ["a%2Fb%2fc?x=%2F", "a/b/c"],
    ["%20%2fx", " /x"],
    ["", undefined],
    ["%2fa", undefined],
    ["a%2f%2fb", undefined],
    ["a%2f..%2f..%2fanswer", undefined],
    ["..%2fanswer", undefined],
    ["a%252fb", undefined],
    ["a%2fb%5cc", undefined],
  ];
  it("passes the rest of the path as one value, encoded slashes as plain ones", async (t) => {
    const { port, asked } = await serve(t);
    for (const [rest, value] of open) {
      const { status, body } = await exchange(port, { target: `/plugins/web/open/${rest}` });
      if (value !== undefined) assert.deepEqual([status, body], [200, JSON.stringify({ rest: value })]);
      else assert.ok([400, 404].includes(status), `${rest}: ${status}`);
    }
    assert.equal(asked.length, open.filter(([, value]) => value !== undefined).length);
  });

  it("with HEAD runs the GET route and sends no body", async (t) => {
    const { ask, asked } = await serve(t);
    const response = await ask("/plugins/web/answer", { method: "HEAD" });
    assert.deepEqual([response.status, response.headers.get("content-length"), await response.text()], [200, "5", ""]);
    assert.equal(asked[0]?.method, "HEAD");
  });

  it("with parameters has one spelling, too (of a plain path: conformance/spellings)", async (t) => {
    const { port, asked } = await serve(t);
    for (const rest of [
      "items/a%2fb/parts/1",
      "items/%2e%2e/parts/1",
      "items//parts/1",
      "items/a%5cb/parts/1",
      "open%2fa",
    ]) {
      const { status } = await exchange(port, { target: `/plugins/web/${rest}` });
      assert.ok(status === 400 || status === 404, `${rest}: ${status}`);
    }
    assert.equal(asked.length, 0);
    const plain = await exchange(port, { target: "/plugins/web/answer?x=/../y" });
    assert.deepEqual([plain.status, plain.body], [200, "hello"]);
  });
});

it("a route of a plugin that is still starting is 503, with Retry-After", async (t) => {
  let attempts = 0;
  let release = () => {};
  const started = new Promise<void>((resolve) => (release = resolve));
  let starting = () => {};
  const begun = new Promise<void>((resolve) => (starting = resolve));
  const plugin = definePlugin({
    id: "slow",
    api: "^1.0.0",
    setup(gateway) {
      if (++attempts === 1) notReady("later", 1);
      gateway.route({
        method: "GET",
        path: "/plugins/slow/x",
        auth: "plugin",
        summary: "x",
        handler: () => ({ body: "up" }),
      });
      gateway.start(() => {
        starting();
        return started;
      });
    },
  });
  const { ask, gateway } = await serve(t, webPlugin(), { more: [plugin] });
  await begun;
  const early = await ask("/plugins/slow/x");
  assert.deepEqual([early.status, early.headers.get("retry-after")], [503, "1"]);
  assert.deepEqual(await errorOf(early), { message: "plugin slow is still starting", type: "unavailable" });
  release();
  while (gateway.plugins().find(({ id }) => id === "slow")?.state !== "active") {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal(await (await ask("/plugins/slow/x")).text(), "up");
});

it("the hook httpRequest may answer before routing and auth, or pass; it gets canonical paths only, and is skipped if it throws [H10.1]", async (t) => {
  const seen: string[] = [];
  const plugin = definePlugin({
    id: "early",
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.hooks.httpRequest.tap(({ method, path, remoteAddress, headers }) => {
        seen.push(`${remoteAddress} ${method} ${path}`);
        if (headers["x-broken"]) throw new Error("broken");
        return headers["x-early"] ? { status: 418, body: { early: true } } : undefined;
      }),
  });
  const { ask, asked, port } = await serve(t, webPlugin(), { more: [plugin] });
  await exchange(port, { target: "/caf%C3%A9?q=1" });
  await exchange(port, { method: "POST", target: "/a/../b" });
  assert.deepEqual(seen, ["127.0.0.1 GET /café"]);
  for (const path of ["/plugins/web/closed", "/plugins/web/answer", "/nowhere"]) {
    const response = await ask(path, { headers: { "x-early": "1" } });
    assert.deepEqual([response.status, await response.json()], [418, { early: true }]);
  }
  assert.equal(asked.length, 0);
  assert.equal((await ask("/plugins/web/answer")).status, 200);
  assert.equal((await ask("/plugins/web/closed")).status, 401);
  assert.equal((await ask("/plugins/web/answer", { headers: { "x-broken": "1" } })).status, 200);
});

describe("every response", () => {
  const HSTS = "max-age=31536000; includeSubDomains";
  const config = {
    gateway: { auth: { token: "s3cret" }, http: { securityHeaders: { strictTransportSecurity: ` ${HSTS} ` } } },
    hooks: { enabled: true, token: "hook-s3cret" },
  };
  const early = definePlugin({
    id: "early",
    api: "^1.0.0",
    setup: ({ hooks }) =>
      hooks.httpRequest.tap(({ path }) => (path === "/early" ? { status: 418, body: { early: true } } : undefined)),
  });
  const authorization = "Bearer s3cret";
  const upgrade = { Connection: "Upgrade", Upgrade: "websocket" };
  const handshake = {
    ...upgrade,
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": Buffer.alloc(16).toString("base64"),
  };
  const requests: [status: number, request: Parameters<typeof exchange>[1]][] = [
    [200, { target: "/healthz" }],
    [405, { target: "/healthz", method: "POST" }],
    [200, { target: "/plugins/web/closed", headers: { authorization } }],
    [400, { target: "/a/../b" }],
    [400, { target: "/plugins/web/typed", method: "POST", headers: { "Content-Length": "1" }, body: "{" }],
    [401, { target: "/plugins/web/closed" }],
    [404, { target: "/x" }],
    [405, { target: "/plugins/web/raw" }],
    [413, { target: "/plugins/web/raw", method: "POST", headers: { "Content-Length": "5000" } }],
    [417, { target: "/x", headers: { Expect: "the-impossible" } }],
    [418, { target: "/early" }],
    [500, { target: "/plugins/web/answer" }],
    [101, { target: "/", headers: handshake }],
    [400, { target: "/", headers: upgrade }],
    [400, { target: "/", headers: { ...handshake, "Sec-WebSocket-Version": "1" } }],
    [400, { target: "/", headers: { ...handshake, Upgrade: "h2c" } }],
    [405, { target: "/", method: "POST", headers: handshake }],
    [401, { target: "/hooks/wake", method: "POST" }],
  ];
  it("tells browsers not to sniff types, not to send referrers, and to keep to TLS if configured [H4.19]", async (t) => {
    const broken = webPlugin(() => {
      throw new Error("x");
    });
    const { port } = await serve(t, broken, { config, more: [early] });
    for (const [status, request] of requests) {
      const what = `${request.method ?? "GET"} ${request.target} ${status}`;
      const answer = await exchange(port, request);
      assert.equal(answer.status, status, what);
      assert.equal(answer.headers["x-content-type-options"], "nosniff", what);
      assert.equal(answer.headers["referrer-policy"], "no-referrer", what);
      assert.equal(answer.headers["strict-transport-security"], HSTS, what);
      assert.equal(answer.headers["access-control-allow-origin"], undefined);
      assert.equal(answer.headers["x-powered-by"], undefined);
    }
  });

  it("has no header for TLS unless strictTransportSecurity is set", async (t) => {
    for (const value of [undefined, false, "", "  "] as const)
      assert.equal(securityHeaders(value)["strict-transport-security"], undefined);
    const { port } = await serve(t);
    assert.equal((await exchange(port, { target: "/healthz" })).headers["strict-transport-security"], undefined);
  });

  it("refuses an upgrade to anything except a WebSocket, names the supported version, and closes", async (t) => {
    const { port } = await serve(t);
    const answer = await exchange(port, { target: "/", headers: { ...handshake, "Sec-WebSocket-Version": "1" } });
    assert.deepEqual(
      [answer.status, answer.closed, answer.headers["sec-websocket-version"], answer.body],
      [400, true, "13, 8", "Missing or invalid Sec-WebSocket-Version header"],
    );
  });
});

describe("readiness", () => {
  it("names failed, waiting and missing plugins, without a reason or path; the gateway is live", async (t) => {
    const plugin = (id: string, setup: () => void) => definePlugin({ id, api: "^1.0.0", setup });
    const fails = () => {
      throw new Error("broken, in /home/ada");
    };
    const more = [
      plugin("sick", fails),
      plugin("waiting", () => notReady("the other service", 60_000)),
      "/home/ada/plugins/lost" as never,
    ];
    const { ask } = await serve(t, webPlugin(), { more });
    const ready = await ask("/readyz");
    const { plugins, ...rest } = (await ready.json()) as { plugins: string[] };
    assert.deepEqual([ready.status, rest], [503, { ok: false, status: "not ready" }]);
    assert.deepEqual(plugins.toSorted(), ["lost", "sick", "waiting"]);
    assert.equal(ready.headers.get("cache-control"), "no-store");
    assert.equal((await ask("/healthz")).status, 200);
  });

  it("a disabled plugin does not count as missing", async (t) => {
    const config = { plugins: { entries: { sick: { enabled: false } } } };
    const plugin = definePlugin({ id: "sick", api: "^1.0.0", setup: () => undefined });
    const { ask } = await serve(t, webPlugin(), { config, more: [plugin] });
    assert.equal((await ask("/readyz")).status, 200);
  });
});
