/** HTTP credentials, responses and the order of the pipeline. Spec: http/auth.md §4, §6, §10; spec/README.md (413, liveness). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { exchange, type RawRequest } from "../../host/net/http-exchange.ts";
import { outcomeOf, type Scene, shared, start } from "./scene.ts";
import { connectFrame, openRaw } from "../../raw-socket.ts";

const limited = { timeout: 120_000 };
const target = "/plugins/wire/closed";
const UNAUTHORIZED = { error: { message: "Unauthorized", type: "unauthorized" } };

const ask = ({ gateway }: Scene, request: Partial<RawRequest>) =>
  exchange(gateway.port, {
    target,
    method: "POST",
    ...request,
    headers: {
      "Content-Length": String(Buffer.byteLength(request.body ?? "")),
      Connection: "close",
      ...request.headers,
    },
  });

/** Type of the error in a body. */
const typeOf = (body: string) => (JSON.parse(body) as { error: { type: string } }).error.type;

describe("the credential over HTTP [H4.2]", limited, () => {
  const scene = shared();
  const rows: [header: string, headers: (token: string) => Record<string, string>, status: number][] = [
    ["Bearer", (token) => ({ Authorization: `Bearer ${token}` }), 200],
    ["the scheme in any case [H4.4]", (token) => ({ Authorization: `bEARER ${token}` }), 200],
    ["blanks around it", (token) => ({ Authorization: `Bearer   ${token}  ` }), 200],
    ["none", () => ({}), 401],
    ["a wrong one", () => ({ Authorization: "Bearer wrong" }), 401],
    ["another scheme [H4.4]", (token) => ({ Authorization: `Basic ${token}` }), 401],
    ["the bare token", (token) => ({ Authorization: token }), 401],
    ["X-API-Key [H4.4]", (token) => ({ "X-API-Key": token }), 401],
    ["a cookie [H4.4]", (token) => ({ Cookie: `token=${token}` }), 401],
  ];
  for (const [header, headers, status] of rows) {
    it(`by ${header} is answered with ${status} [H4.11]`, async () => {
      const answer = await ask(scene(), { headers: headers(String(scene().token)) });
      assert.equal(answer.status, status);
      if (status === 200) return;
      assert.deepEqual(JSON.parse(answer.body), UNAUTHORIZED);
      assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
      assert.equal(answer.headers["www-authenticate"], undefined);
    });
  }

  it("in the query does not count [H4.4]", async () => {
    assert.equal((await ask(scene(), { target: `${target}?token=${scene().token}` })).status, 401);
  });
});

describe("responses over HTTP", limited, () => {
  const scene = shared();
  const bearer = () => ({ Authorization: `Bearer ${scene().token}` });

  it("a wrong method is 405 with Allow, before the credential [H4.13]", async () => {
    for (const method of ["GET", "PUT", "OPTIONS"]) {
      const { status, headers, body } = await ask(scene(), { method });
      assert.deepEqual([status, headers["allow"], body], [405, "POST", "Method Not Allowed"]);
      assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    }
  });

  it("a body too large is a real 413, and the connection is closed [H4.14]", async () => {
    const headers = { ...bearer(), Connection: "keep-alive" };
    const { status, body, closed } = await ask(scene(), { headers, body: "x".repeat(1_025) });
    assert.deepEqual([status, closed, typeOf(body)], [413, true, "invalid_request_error"]);
  });

  it("invalid JSON is 400 invalid_request_error [H4.16]", async () => {
    const { status, body } = await ask(scene(), { headers: bearer(), body: "{" });
    assert.deepEqual([status, typeOf(body)], [400, "invalid_request_error"]);
  });

  it("an empty body is {}, and no content type is required [H4.17]", async () => {
    assert.equal((await ask(scene(), { headers: bearer() })).status, 200);
    const headers = { ...bearer(), "Content-Type": "text/x-odd" };
    assert.equal((await ask(scene(), { headers, body: "{}" })).status, 200);
  });

  const everywhere: [what: string, request: Partial<RawRequest>][] = [
    ["a success", { headers: { Authorization: "later" } }],
    ["a 401", {}],
    ["a 404", { target: "/nothing", method: "GET" }],
  ];
  it("nosniff and no-referrer are set on successes and refusals, and no CORS header [H4.18]", async () => {
    for (const [what, request] of everywhere) {
      const headers = request.headers ? bearer() : { Origin: "https://page.example" };
      const answer = await ask(scene(), { ...request, headers });
      assert.equal(answer.headers["x-content-type-options"], "nosniff", what);
      assert.equal(answer.headers["referrer-policy"], "no-referrer", what);
      assert.ok(!Object.keys(answer.headers).some((name) => name.startsWith("access-control-")), what);
    }
  });

  const LIVE = '{"ok":true,"status":"live"}';
  const READY = '{"ok":true,"status":"ready"}';
  const probes: [path: string, body: string][] = [
    ["/health", LIVE],
    ["/healthz?probe=1", LIVE],
    ["/ready", READY],
    ["/readyz?verbose&x=/", READY],
  ];
  it("the liveness and readiness probes need no credential, accept only GET and HEAD, and are not cached [H10.9 H10.10]", async () => {
    for (const [target, expected] of probes) {
      const { status, body, headers } = await ask(scene(), { target, method: "GET" });
      assert.deepEqual([status, body, headers["cache-control"]], [200, expected, "no-store"], target);
      assert.equal(headers["content-type"], "application/json; charset=utf-8");
      const head = await ask(scene(), { target, method: "HEAD" });
      assert.deepEqual([head.status, head.headers["content-length"], head.body], [200, String(body.length), ""]);
      const post = await ask(scene(), { target });
      assert.deepEqual([post.status, post.headers["allow"]], [405, "GET, HEAD"]);
    }
    for (const target of ["/health/", "/healthzz", "/Health", "/ready/x"])
      assert.equal((await ask(scene(), { target, method: "GET" })).status, 404, target);
  });

  it("a websocket upgrade on the path of a route skips the pipeline [H10.8]", async () => {
    const onRoute = await openRaw(`${scene().url}${target}`);
    onRoute.send(connectFrame(scene().token));
    assert.equal((await outcomeOf(onRoute)).told, "ok");
  });
});

describe("modes over HTTP", limited, () => {
  it("the password as bearer is right in mode password [H4.5]", async (t) => {
    const scene = await start(t, { gateway: { auth: { password: "secret" } } });
    assert.equal((await ask(scene, { headers: { Authorization: "Bearer secret" } })).status, 200);
    assert.equal((await ask(scene, { headers: { Authorization: "Bearer wrong" } })).status, 401);
  });

  it("mode trusted-proxy ignores the bearer and counts nothing [H4.6]", async (t) => {
    const auth = {
      mode: "trusted-proxy",
      trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" },
      rateLimit: { maxAttempts: 1, exemptLoopback: false },
    };
    const scene = await start(t, { gateway: { auth, trustedProxies: ["127.0.0.1"] } });
    const forwarded = { "X-Forwarded-For": "203.0.113.1", "X-Svc-Proxy-Secret": "proxy-secret-of-this-test" };
    for (let turn = 0; turn < 3; turn++) {
      const answer = await ask(scene, { headers: { ...forwarded, Authorization: "Bearer x" } });
      assert.deepEqual([answer.status, JSON.parse(answer.body)], [401, UNAUTHORIZED]);
    }
    assert.equal((await ask(scene, { headers: { ...forwarded, "X-User": "ada" } })).status, 200);
  });

  it("wrong credentials lock, missing ones do not, and the lock refuses the right one with 429 until it ends [H4.8 H4.10 H4.12]", async (t) => {
    const rateLimit = { maxAttempts: 3, exemptLoopback: false, lockoutMs: 7_000 };
    const clock = createFakeClock();
    const scene = await start(t, { gateway: { auth: { token: "right", rateLimit } } }, { clock });
    const [wrong, right] = ["wrong", "right"].map((token) => ({ Authorization: `Bearer ${token}` }));
    for (const headers of [{}, wrong, {}, wrong, {}, {}, wrong])
      assert.equal((await ask(scene, { headers: headers ?? {} })).status, 401);
    const locked = async () => {
      const { status, headers, body } = await ask(scene, { headers: right ?? {} });
      return [status, headers["retry-after"], typeOf(body)];
    };
    assert.deepEqual(await locked(), [429, "7", "rate_limited"]);
    await clock.advance(6_001);
    assert.deepEqual(await locked(), [429, "1", "rate_limited"]);
    await clock.advance(999);
    assert.equal((await ask(scene, { headers: right ?? {} })).status, 200);
  });

  it("a success clears earlier failures [H4.10]", async (t) => {
    const rateLimit = { maxAttempts: 2, exemptLoopback: false };
    const scene = await start(t, { gateway: { auth: { token: "right", rateLimit } } });
    const statuses = [];
    for (const token of ["wrong", "right", "wrong", "right"])
      statuses.push((await ask(scene, { headers: { Authorization: `Bearer ${token}` } })).status);
    assert.deepEqual(statuses, [401, 200, 401, 200]);
  });
});
