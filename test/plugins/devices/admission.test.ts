/** Connections that reach pairing, and those that do not. Spec: protocol/frames-and-connect.md §9, §10 "Skipped when". */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createGateway } from "@svc/host";
import { definePlugin, type Plugin, unavailable } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";
import devicesPlugin from "../../../plugins/devices/plugin.ts";
import { createStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { directory } from "../../directory.ts";
import { ADMIN, type Attempt, createDevice, knock, openScene, READ, reasonOf, SECRET } from "./scene.ts";

const limited = { timeout: 120_000 };
const ask = { devices: { localApproval: "ask" } };

/** SQLite whose operations call `fail` while `broken` says so. */
function breakable(broken: { reads: boolean; writes: boolean }, fail: () => never): Plugin {
  return definePlugin({
    id: "breakable",
    api: "^1.0.0",
    provides: [Storage],
    setup(gateway) {
      const { storage, open, close } = createStorage({ clock: gateway.clock, log: gateway.log });
      gateway.provide(Storage, {
        location: storage.location,
        migrate: (owner, steps) => storage.migrate(owner, steps),
        all: async (sql, params) => (broken.reads ? fail() : storage.all(sql, params)),
        get: async (sql, params) => (broken.reads ? fail() : storage.get(sql, params)),
        append: async (statements) => (broken.writes ? fail() : storage.append(statements)),
        transaction: async (statements) => (broken.writes ? fail() : storage.transaction(statements)),
      });
      gateway.start(async () => {
        await open({ file: join(gateway.stateDir, "test.db"), busyTimeoutMs: 1_000 });
        return close;
      });
    },
  });
}

describe("who reaches pairing", limited, () => {
  it("nodes do in every mode; a client that can read the state directory does not, and is an admin", async (t) => {
    for (const auth of [{ token: SECRET }, { password: SECRET }, {}]) {
      const mode = Object.keys(auth).length === 0 ? { mode: "none" } : auth;
      const scene = await openScene(t, { auth: mode, config: ask });
      const key = (await readFile(join(scene.stateDir, "credentials", "local-key"), "utf8")).trim();
      const outcome = await scene.knock({ device: createDevice(), scopes: [ADMIN], auth: { token: key } });
      assert.deepEqual([outcome.ok, outcome.auth], [true, undefined], JSON.stringify(auth));
      assert.equal((await scene.list()).pending.length, 0);
      const node = await scene.knock({ device: createDevice(), role: "node", auth });
      assert.equal(reasonOf(node), "not-paired", JSON.stringify(auth));
    }
    const open = await openScene(t, { config: ask, auth: { mode: "none" } });
    const { code, details } = await open.knock({ role: "node" });
    assert.deepEqual([code, details["code"]], ["NOT_PAIRED", "DEVICE_IDENTITY_REQUIRED"]);
  });

  it("a client with a wrong secret does not, and leaves no request", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    for (const auth of [{ token: "wrong" }, { deviceToken: "wrong" }, { password: "wrong" }, {}]) {
      const outcome = await scene.knock({ device, scopes: [READ], auth });
      assert.equal(outcome.code, "INVALID_REQUEST");
      assert.match(String(outcome.message), /^unauthorized/);
    }
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
  });

  it("the control panel behind a trusted proxy does not", async (t) => {
    const auth = { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: "proxy-secret-of-this-test" } };
    const controlUi = { allowedOrigins: ["https://panel.example"] };
    const gateway = { auth, trustedProxies: ["127.0.0.1"], controlUi };
    const headers = {
      "x-user": "ada",
      "x-forwarded-for": "203.0.113.1",
      origin: "https://panel.example",
      "x-svc-proxy-secret": "proxy-secret-of-this-test",
    };
    const plugins = ["storage-sqlite", devicesPlugin];
    const options = { env: {}, port: 0, stateDir: directory(t), logLevel: "silent", plugins } as const;
    const hosted = await createGateway({ ...options, config: { gateway } });
    t.after(() => hosted.stop());
    const panel: Attempt = { scopes: [READ], client: { id: "svc-control-ui", mode: "webchat" }, headers };
    const cli: Attempt = { ...panel, device: createDevice(), client: { id: "cli", mode: "cli" } };
    const come = (attempt: Attempt) => knock(hosted.url, attempt);
    const outcomes = [await come({ ...panel, device: createDevice() }), await come(panel), await come(cli)];
    for (const { socket } of outcomes) socket.ws.terminate();
    assert.deepEqual(outcomes.map(reasonOf), [undefined, undefined, "not-paired"]);
  });

  it("a client that another plugin refuses does not", async (t) => {
    const ban = definePlugin({
      id: "ban",
      api: "^1.0.0",
      setup({ hooks }) {
        hooks.admit.tap(({ remoteAddress, device }) =>
          device === undefined ? undefined : { allow: false, reason: `banned: ${remoteAddress}` },
        );
      },
    });
    const scene = await openScene(t, { plugins: [ban] });
    assert.match(String((await scene.shared(createDevice())).message), /^banned/);
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
  });
});

describe("when the storage fails", limited, () => {
  it("devices are refused and other clients admitted; known devices are admitted when only writing fails", async (t) => {
    const broken = { reads: false, writes: false };
    const fail = () => unavailable("the disk is gone", { retryAfterMs: 500 });
    const scene = await openScene(t, { storage: breakable(broken, fail) });
    const device = createDevice();
    const { auth } = await scene.pair(device, { scopes: [READ] });
    broken.writes = true;
    assert.ok((await scene.shared(device, { scopes: [READ], client: { displayName: "New name" } })).ok);
    assert.ok((await scene.byToken(device, auth.deviceToken, { scopes: [READ] })).ok);
    const stranger = await scene.shared(createDevice(), { far: true });
    assert.deepEqual([stranger.code, stranger.message], ["UNAVAILABLE", "the disk is gone"]);
    broken.reads = true;
    assert.equal((await scene.shared(device, { scopes: [READ] })).code, "UNAVAILABLE");
    assert.equal((await scene.byToken(device, auth.deviceToken, { scopes: [READ] })).ok, false);
    assert.ok((await scene.knock({ scopes: [READ], auth: { token: SECRET } })).ok);
    broken.reads = broken.writes = false;
    assert.ok((await scene.byToken(device, auth.deviceToken, { scopes: [READ] })).ok);
  });
});
