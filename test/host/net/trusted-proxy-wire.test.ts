/** Mode trusted-proxy over HTTP and WebSocket, through a real socket. Spec: http/auth.md §5, §7. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { connectFrame, facts, openRaw } from "../../raw-socket.ts";
import { sharedScene, startHost } from "./host-scene.ts";

const limited = { timeout: 120_000 };
const auth = {
  mode: "trusted-proxy",
  trustedProxy: {
    userHeader: "X-User",
    requiredHeaders: ["x-proof"],
    allowUsers: ["ada", "bob"],
    secret: "proxy-secret-of-this-test",
  },
};

async function start(t: TestContext, more: object = {}) {
  const plugin = definePlugin({
    id: "who",
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.route({
        method: "GET",
        path: "/plugins/who/me",
        auth: "gateway",
        scope: "operator.read",
        summary: "-",
        handler: ({ principal, remoteAddress }) => ({ body: { id: principal?.id, remoteAddress } }),
      }),
  });
  const config = {
    gateway: {
      trustedProxies: ["127.0.0.1", "10.0.0.0/8"],
      auth,
      controlUi: { allowedOrigins: ["https://panel.example"] },
      ...more,
    },
  };
  const gateway = await startHost(t, { plugins: [plugin], config });
  const http = (headers: Record<string, string>) =>
    fetch(`${gateway.url.replace("ws", "http")}/plugins/who/me`, { headers });
  const ws = async (headers: Record<string, string>, params: object = {}) => {
    const socket = await openRaw(gateway.url, headers);
    socket.send(connectFrame(undefined, params));
    const { ok, error } = await socket.next(({ id }) => id === "c1");
    socket.ws.close();
    const { code } = await socket.closed;
    return { ok, error, code };
  };
  return { http, ws };
}

const good = {
  "x-user": "ada",
  "x-proof": "1",
  "x-forwarded-for": "203.0.113.1",
  "x-svc-proxy-secret": "proxy-secret-of-this-test",
};
describe("mode trusted-proxy", limited, () => {
  const scene = sharedScene((t) => start(t));

  it("admits the user that the proxy names, over both [W7.12]", async () => {
    const answer = await scene().http(good);
    assert.deepEqual(
      [answer.status, await answer.json()],
      [200, { id: "trusted-proxy:ada", remoteAddress: "203.0.113.1" }],
    );
    assert.equal((await scene().ws(good)).ok, true);
  });

  it("resolves the client behind several proxies, ignoring headers that the client wrote itself [W7.17 W7.18 W7.19]", async () => {
    const answer = await scene().http({ ...good, "x-forwarded-for": "198.51.100.9, 203.0.113.1, 10.1.2.3" });
    assert.equal(((await answer.json()) as { remoteAddress: string }).remoteAddress, "203.0.113.1");
  });

  const { "x-svc-proxy-secret": _secret, ...noSecret } = good;
  const { "x-user": _user, ...nobody } = good;
  const refused: [reason: string, headers: Record<string, string>][] = [
    ["trusted_proxy_missing_header_x-svc-proxy-secret", noSecret],
    ["trusted_proxy_secret_mismatch", { ...good, "x-svc-proxy-secret": "proxy-secret-of-nobody-here" }],
    ["trusted_proxy_missing_header_x-proof", { ...good, "x-proof": " " }],
    ["trusted_proxy_user_missing", nobody],
    ["trusted_proxy_user_not_allowed", { ...good, "x-user": "Ada" }],
  ];
  for (const [reason, headers] of refused) {
    it(`refuses: ${reason} [W7.40 H5.8]`, async () => {
      const answer = await scene().http({ ...headers, authorization: "Bearer x" });
      assert.equal(answer.status, 401);
      assert.deepEqual(await answer.json(), { error: { message: "Unauthorized", type: "unauthorized" } });
      assert.equal(answer.headers.get("www-authenticate"), null);
      const { error, code } = await scene().ws(headers, { auth: { token: "x" } });
      assert.deepEqual(facts(error?.details), { code: "AUTH_UNAUTHORIZED", authReason: reason });
      assert.equal(code, 1008);
    });
  }

  it("refuses a client that does not connect from a trusted address: trusted_proxy_untrusted_source [W7.16]", async (t) => {
    const { http, ws } = await start(t, { trustedProxies: ["10.0.0.0/8", "::1"] });
    assert.equal((await http(good)).status, 401);
    const { error } = await ws(good, { auth: { token: "x" } });
    assert.deepEqual(facts(error?.details), {
      code: "AUTH_UNAUTHORIZED",
      authReason: "trusted_proxy_untrusted_source",
    });
  });

  it("admits the panel without a device, only from its own pages", async () => {
    const client = { id: "svc-control-ui", version: "1", platform: "web", mode: "webchat" };
    const told = async (headers: object) => {
      const { ok, error } = await scene().ws({ ...good, ...headers }, { client });
      return ok ? "ok" : error?.details?.["code"];
    };
    const own = { origin: "https://panel.example" };
    assert.equal(await told(own), "ok");
    for (const headers of [{ origin: "https://evil.example" }, {}])
      assert.equal(await told(headers), "ORIGIN_NOT_ALLOWED");
    assert.equal(await told({ ...own, "x-user": "eve" }), "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
  });
});
