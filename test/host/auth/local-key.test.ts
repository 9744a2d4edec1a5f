/** The key in the state directory: the fallback in every mode, only for programs on this machine. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Plugin } from "@svc/sdk";
import { createLocalKey, readLocalKey, writeLocalKey } from "../../../host/auth/local-key.ts";
import { connectFrame, openRaw } from "../../raw-socket.ts";
import { startHost } from "../net/host-scene.ts";

const limited = { timeout: 120_000 };
const MODES: readonly (readonly [mode: string, config: object])[] = [
  ["token", { auth: { mode: "token", token: "t" } }],
  ["password", { auth: { mode: "password", password: "p" } }],
  ["none", { auth: { mode: "none" } }],
  [
    "trusted-proxy",
    {
      auth: { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } },
      trustedProxies: ["127.0.0.2"],
      bind: "lan",
    },
  ],
  [
    "trusted-proxy with a proxy on this machine",
    {
      auth: { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } },
      trustedProxies: ["127.0.0.1"],
    },
  ],
];

async function start(t: TestContext, gateway: object, more: readonly Plugin[] = []) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-local-"));
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  const host = await startHost(t, { stateDir, plugins: ["health", "config", ...more], config: { gateway } });
  const path = join(stateDir, "credentials/local-key");
  const key = (await readFile(path, "utf8")).trim();
  async function attempt(token: string, headers: Record<string, string> = {}, params: object = {}) {
    const socket = await openRaw(host.url, headers);
    socket.send(connectFrame(token, { scopes: ["operator.admin"], ...params }));
    const { ok, error } = await socket.next(({ id }) => id === "c1");
    if (ok !== true) return `${(error?.details as { code?: string } | undefined)?.code ?? error?.message}`;
    socket.send({ type: "req", id: "s", method: "config.schema" });
    const { ok: isAdmin } = await socket.next(({ id }) => id === "s");
    socket.ws.close();
    return isAdmin === true ? "admin" : "no admin";
  }
  return { stateDir, path, key, attempt };
}

describe("the key in the state directory", limited, () => {
  for (const [mode, gateway] of MODES) {
    it(`admits a program on this machine as admin in mode ${mode}`, async (t) => {
      const { attempt, key } = await start(t, gateway);
      assert.equal(await attempt(key), "admin");
      assert.equal(await attempt(` ${key} `), "admin");
    });

    it(`is refused from elsewhere in mode ${mode}`, async (t) => {
      const { attempt, key } = await start(t, gateway);
      for (const headers of [
        { "x-forwarded-for": "127.0.0.1" },
        { host: "gateway.example" },
        { "x-real-ip": "10.0.0.1" },
        { forwarded: "for=1.2.3.4" },
      ])
        assert.notEqual(await attempt(key, headers), "admin", JSON.stringify(headers));
    });
  }

  it("is refused from a web page, even one on this machine", async (t) => {
    const { attempt, key } = await start(t, MODES[0]?.[1] ?? {});
    assert.equal(await attempt(key, { origin: "http://localhost:5173" }), "AUTH_TOKEN_MISMATCH");
  });

  it("is accepted when a plugin denies all connections, so that the plugin can be fixed", async (t) => {
    const shut = definePlugin({
      id: "shut",
      api: "^1.0.0",
      setup: (gateway) => gateway.hooks.admit.tap(() => ({ allow: false, reason: "nobody" })),
    });
    const { attempt, key } = await start(t, MODES[0]?.[1] ?? {}, [shut]);
    assert.equal(await attempt("t"), "CONNECT_DENIED");
    assert.equal(await attempt(key), "admin");
  });

  it("that is wrong counts as a wrong token, in any form", async (t) => {
    const { attempt, key } = await start(t, MODES[0]?.[1] ?? {});
    for (const wrong of [createLocalKey(), key.slice(1), `${key}x`, key.toUpperCase(), "local-key", "*"])
      assert.equal(await attempt(wrong), "AUTH_TOKEN_MISMATCH");
  });

  it("works while this machine is locked out", async (t) => {
    const auth = { mode: "token", token: "t", rateLimit: { maxAttempts: 2, exemptLoopback: false } };
    const { attempt, key } = await start(t, { auth });
    for (let turn = 0; turn < 3; turn++) await attempt("wrong");
    assert.equal(await attempt("t"), "AUTH_RATE_LIMITED");
    assert.equal(await attempt(key), "admin");
  });

  it("admits no node", async (t) => {
    const { attempt, key } = await start(t, MODES[0]?.[1] ?? {});
    assert.notEqual(await attempt(key, {}, { role: "node" }), "admin");
  });

  it("is readable only by the owner, has 256 bits, and is new at each start", async (t) => {
    const { path, key, stateDir } = await start(t, MODES[0]?.[1] ?? {});
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal(Buffer.from(key, "base64url").length, 32);
    const again = await startHost(t, { stateDir, plugins: [], config: {} });
    assert.notEqual(readLocalKey(join(stateDir, "credentials")), key);
    const socket = await openRaw(again.url);
    socket.send(connectFrame(key));
    assert.equal((await socket.next(({ id }) => id === "c1")).ok, false);
  });

  it("replaces a file with a wider mode", async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "svc-key-"));
    t.after(() => rm(directory, { recursive: true, force: true }));
    assert.equal(readLocalKey(directory), undefined);
    writeLocalKey(directory, "one");
    writeLocalKey(directory, "two");
    assert.equal(readLocalKey(directory), "two");
    assert.equal((await stat(join(directory, "local-key"))).mode & 0o777, 0o600);
  });
});
