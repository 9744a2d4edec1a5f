/** Budgets, the flood guard and locked addresses, as clients see them. Spec: protocol/authorization.md §4-§5; http/auth.md §4, §6. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, it, type TestContext } from "node:test";
import { CONTROL_PLANE_WRITES, defineContract, definePlugin, Type } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { startHost } from "./host-scene.ts";
import { connectFrame, connectRaw, openRaw, type RawSocket } from "../../raw-socket.ts";

const limited = { timeout: 120_000 };
const Any = Type.Object({});
const limit = CONTROL_PLANE_WRITES;
const admin = defineContract("admin", {
  patch: { summary: "-", scope: "operator.write", params: Type.Object({ n: Type.Integer() }), result: Any, limit },
  apply: { summary: "-", scope: "operator.write", params: Any, result: Any, limit },
  set: { summary: "-", scope: "operator.write", params: Any, result: Any },
  node: { summary: "-", scope: "operator.read", role: "node", params: Any, result: Any },
  secret: { summary: "-", scope: "operator.admin", params: Any, result: Any },
});

async function start(t: TestContext, config: Record<string, unknown> = {}) {
  const clock = createFakeClock();
  const plugin = definePlugin({
    id: "admin",
    api: "^1.0.0",
    setup(gateway) {
      gateway.serve(admin, {
        patch: () => ({}),
        apply: () => ({}),
        set: () => ({}),
        node: () => ({}),
        secret: () => ({}),
      });
      gateway.route({
        method: "GET",
        path: "/plugins/admin/x",
        auth: "gateway",
        scope: "operator.read",
        summary: "-",
        handler: () => ({ body: "x" }),
      });
    },
  });
  const gateway = await startHost(t, { plugins: [plugin], config, clock });
  const { url, auth } = gateway;
  let id = 0;
  const ask = async (socket: RawSocket, method: string, params: unknown = {}) => {
    const mine = `r${++id}`;
    socket.send({ type: "req", id: mine, method, params });
    return socket.next((frame) => frame.id === mine);
  };
  const guess = async (token: string, headers: Record<string, string> = {}) => {
    const socket = await openRaw(url, headers);
    socket.send(connectFrame(token));
    const frame = await socket.next(({ id: of }) => of === "c1");
    socket.ws.close();
    await socket.closed;
    return frame;
  };
  const fetchX = (token: string, headers: Record<string, string> = {}) =>
    fetch(`${url.replace("ws", "http")}/plugins/admin/x`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
  return { clock, url, token: String(auth.token), raw: () => connectRaw(url, auth.token), ask, guess, fetchX };
}

describe("the control-plane write limit", limited, () => {
  it("is 3 calls per 60 s over all its methods, and the refusal is exact [H9.1 H9.5]", async (t) => {
    const { raw, ask, clock } = await start(t);
    const socket = await raw();
    for (const method of ["admin.apply", "admin.apply"]) assert.equal((await ask(socket, method)).ok, true);
    assert.equal((await ask(socket, "admin.patch", { n: 1 })).ok, true);
    await clock.advance(18_500);
    const { ok, error } = await ask(socket, "admin.patch", { n: 1 });
    assert.deepEqual(
      [ok, error],
      [
        false,
        {
          code: "UNAVAILABLE",
          message: "rate limit exceeded for admin.patch; retry after 42s",
          details: { method: "admin.patch", limit: "3 per 60s" },
          retryable: true,
          retryAfterMs: 41_500,
        },
      ],
    );
    assert.equal((await ask(socket, "admin.set")).ok, true, "a method without a limit is not limited");
    await clock.advance(41_500);
    assert.equal((await ask(socket, "admin.patch", { n: 1 })).ok, true);
    socket.ws.close();
  });

  it("counts calls with invalid params, but not calls without the scope, for each connection if device and address identify no caller", async (t) => {
    const { url, token, raw, ask } = await start(t);
    const [one, two] = [await raw(), await raw()];
    for (let turn = 0; turn < 3; turn++)
      assert.equal((await ask(one, "admin.patch", { n: "x" })).error?.code, "INVALID_REQUEST");
    assert.equal((await ask(one, "admin.patch", { n: 1 })).error?.code, "UNAVAILABLE");
    assert.equal((await ask(two, "admin.patch", { n: 1 })).ok, true);
    const reader = await connectRaw(url, token, { scopes: ["operator.read"] });
    for (let turn = 0; turn < 5; turn++)
      assert.equal((await ask(reader, "admin.apply")).error?.message, "missing scope: operator.write");
  });

  it("belongs to the client address that a trusted proxy names, across connections", async (t) => {
    const { url, token, ask } = await start(t, { gateway: { trustedProxies: ["127.0.0.1"] } });
    const from = async (address: string) => {
      const socket = await openRaw(url, { "x-forwarded-for": address });
      socket.send(connectFrame(token));
      await socket.next(({ id, ok }) => id === "c1" && ok === true);
      return socket;
    };
    const [one, same, other] = [await from("203.0.113.1"), await from("203.0.113.1"), await from("203.0.113.2")];
    for (let turn = 0; turn < 3; turn++) await ask(one, "admin.apply");
    assert.deepEqual([(await ask(same, "admin.apply")).ok, (await ask(other, "admin.apply")).ok], [false, true]);
    for (const { ws } of [one, same, other]) ws.close();
  });
});

describe("the flood guard", limited, () => {
  it("is reset by a success, another refusal and an unknown method, and does not count missing scopes", async (t) => {
    const { raw, ask } = await start(t);
    for (const method of ["admin.set", "admin.secret", "no.such"]) {
      const socket = await raw();
      for (let round = 0; round < 3; round++) {
        for (let turn = 0; turn < 10; turn++)
          assert.equal((await ask(socket, "admin.node")).error?.message, "unauthorized role: operator");
        await ask(socket, method);
      }
      for (let turn = 0; turn < 30; turn++)
        assert.match(String((await ask(socket, "admin.secret")).error?.message), /^missing scope/);
      assert.equal((await ask(socket, "admin.set")).ok, true);
    }
  });
});

describe("failed attempts", limited, () => {
  const strict = { gateway: { auth: { token: "right", rateLimit: { maxAttempts: 3, exemptLoopback: false } } } };

  it("are counted together over HTTP and WebSocket, and cleared by a success", async (t) => {
    const { guess, fetchX } = await start(t, strict);
    await guess("wrong");
    await fetchX("wrong");
    assert.equal((await guess("right")).ok, true);
    await guess("wrong");
    await fetchX("wrong");
    await guess("wrong");
    assert.equal((await fetchX("right")).status, 429);
  });

  it("on this machine do not count, except those of pages, which are counted together regardless of their origin [H6.4]", async (t) => {
    const { guess, fetchX } = await start(t, { gateway: { auth: { token: "right", rateLimit: { maxAttempts: 3 } } } });
    for (let turn = 0; turn < 5; turn++)
      assert.equal((await guess("wrong")).error?.details?.["code"], "AUTH_TOKEN_MISMATCH");
    for (const port of [1, 2, 3]) await guess("wrong", { origin: `http://localhost:${port}` });
    assert.equal(
      (await guess("right", { origin: "http://127.0.0.1:4" })).error?.details?.["code"],
      "AUTH_RATE_LIMITED",
    );
    assert.deepEqual([(await guess("right")).ok, (await fetchX("right")).status], [true, 200], "programs are let in");
  });

  it("belong to the client behind a trusted proxy, not to the proxy; headers that a client sends itself are ignored", async (t) => {
    const config = {
      gateway: { trustedProxies: ["127.0.0.1"], auth: { token: "right", rateLimit: { maxAttempts: 2 } } },
    };
    const { fetchX, guess } = await start(t, config);
    for (const forged of ["198.51.100.1", "198.51.100.2"])
      await fetchX("wrong", { "x-forwarded-for": `${forged}, 203.0.113.1` });
    assert.equal((await fetchX("right", { "x-forwarded-for": "203.0.113.1" })).status, 429);
    assert.equal(
      (await guess("right", { "x-forwarded-for": "203.0.113.1" })).error?.details?.["code"],
      "AUTH_RATE_LIMITED",
    );
    assert.equal((await fetchX("right", { "x-forwarded-for": "203.0.113.2" })).status, 200);
  });
});

describe("connections of one address", limited, () => {
  it("are limited, an IPv6 /64 as one address; those of this machine are not", async (t) => {
    const { url, token, raw } = await start(t, {
      gateway: { trustedProxies: ["127.0.0.1"], maxConnectionsPerAddress: 2 },
    });
    const from = async (address: string) => {
      const socket = await openRaw(url, { "x-forwarded-for": address });
      socket.send(connectFrame(token));
      return socket;
    };
    const accepted = (socket: RawSocket) => socket.next(({ id, ok }) => id === "c1" && ok === true);
    const [one, two] = [await from("2001:db8::1"), await from("2001:db8::2")];
    await Promise.all([one, two].map(accepted));
    const third = await from("2001:db8::3");
    assert.deepEqual(await third.closed, { code: 1008, reason: "too many connections from this address" });
    await accepted(await from("2001:db8:0:1::1"));
    one.ws.close();
    await one.closed;
    await accepted(await from("2001:db8::4"));
    await Promise.all([raw(), raw(), raw()]);
  });

  const outer = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;
  const skip = outer === undefined && "this machine has no address that others reach";
  it(
    "of all kinds are limited to twice that number before any bytes are sent; those of this machine are not",
    { skip },
    async (t) => {
      const gateway = { bind: "lan", auth: { token: "right-0123456789" }, maxConnectionsPerAddress: 2 };
      const port = Number(new URL((await start(t, { gateway })).url).port);
      const open = async (address: string) => {
        const socket = connect(port, address).on("error", () => undefined);
        t.after(() => socket.destroy());
        await once(socket, "connect");
        return socket;
      };
      const silent = [];
      for (let at = 0; at < 5; at++) silent.push(await open(outer ?? ""));
      await once(silent[4] ?? assert.fail(), "close");
      assert.deepEqual(
        silent.map(({ closed }) => closed),
        [false, false, false, false, true],
      );
      for (let at = 0; at < 5; at++) silent.push(await open("127.0.0.1"));
      assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
      assert.equal(silent.filter(({ closed }) => closed).length, 1);
    },
  );
});
