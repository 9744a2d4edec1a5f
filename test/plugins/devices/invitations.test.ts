/** One-time invitations: `device.pair.invite`, and the connects that use them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createGateway } from "@svc/host";
import { readLocalKey } from "@svc/host/state";
import { connect } from "@svc/sdk/client";
import { devices } from "@svc/sdk/devices";
import { WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import { createFakeClock } from "@svc/sdk/testing";
import devicesPlugin from "../../../plugins/devices/plugin.ts";
import { directory } from "../../directory.ts";
import {
  ADMIN,
  type Attempt,
  createDevice,
  type KeptDevice,
  knock,
  openScene,
  type Outcome,
  PAIRING,
  READ,
  requestOf,
  type Scene,
  type SceneOptions,
  SECRET,
  settled,
  WRITE,
} from "./scene.ts";

const limited = { timeout: 120_000 };
const INVALID = "AUTH_INVITATION_INVALID";
const PROXY = "the-secret-of-the-proxy";

/** The control panel in a browser. */
const PANEL = { id: WEB_PANEL_CLIENT_ID, mode: "ui" };
const pageOf = ({ url }: Scene) => ({ origin: url.replace("ws", "http") });

async function invite({ client }: Scene, ttlMs?: number): Promise<string> {
  return (await client.call(devices.invite, ttlMs === undefined ? {} : { ttlMs })).token;
}

/** Connects as the panel does with a link. */
function follow(scene: Scene, device: KeptDevice | undefined, token: string, more: Attempt = {}): Promise<Outcome> {
  return scene.knock({
    ...(device ? { device } : {}),
    scopes: [ADMIN],
    auth: { token },
    client: PANEL,
    headers: pageOf(scene),
    ...more,
  });
}

const outcomeOf = ({ ok, code, details }: Outcome) => (ok ? "admitted" : `${code} ${String(details["code"])}`);
const REFUSED = `INVALID_REQUEST ${INVALID}`;

describe("an invitation", limited, () => {
  it("pairs one new device with exactly the requested scopes, whose token then works", async (t) => {
    const scene = await openScene(t, { config: { devices: { localApproval: "ask" } } });
    const device = createDevice();
    const outcome = await follow(scene, device, await invite(scene), { scopes: [READ, WRITE] });
    const { deviceToken = "", scopes, role } = outcome.auth ?? {};
    assert.deepEqual([outcome.ok, role, scopes], [true, "operator", [READ, WRITE]]);
    assert.deepEqual((await scene.paired(device))?.scopes, [READ, WRITE]);
    assert.ok((await scene.byToken(device, deviceToken, { scopes: [READ, WRITE] })).ok);
    assert.equal((await scene.byToken(device, deviceToken, { scopes: [ADMIN] })).ok, false);
  });

  it("works once: neither the same device nor another one gets in by it again", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const token = await invite(scene);
    assert.ok((await follow(scene, device, token)).ok);
    for (const again of [device, createDevice()]) {
      const outcome = await follow(scene, again, token);
      assert.equal(outcomeOf(outcome), REFUSED);
      assert.match(String(outcome.message), /^unauthorized: this one-time link was used/);
      assert.match(String(outcome.details["nextStep"]), /svc dashboard/);
      assert.deepEqual(await outcome.closed, { code: 1008, reason: outcome.message });
    }
    const { pending, paired } = await scene.list();
    assert.deepEqual([pending.length, paired.length], [0, 1]);
  });

  it("admits one of two devices that use it at the same time", async (t) => {
    const scene = await openScene(t);
    const token = await invite(scene);
    const both = await Promise.all([createDevice(), createDevice()].map((device) => follow(scene, device, token)));
    assert.deepEqual(both.map(outcomeOf).sort(), [REFUSED, "admitted"]);
  });

  it("expires: by default after 15 minutes", async (t) => {
    const clock = createFakeClock();
    const scene = await openScene(t, { clock });
    const { expiresAtMs } = await scene.client.call(devices.invite, {});
    assert.equal(expiresAtMs, clock.now() + 900_000);
    const [short, long] = [await invite(scene, 10_000), await invite(scene, 20_000)];
    await clock.advance(10_000);
    assert.equal(outcomeOf(await follow(scene, createDevice(), short)), REFUSED);
    assert.equal(outcomeOf(await follow(scene, createDevice(), long)), "admitted");
    for (const ttlMs of [9_999, 3_600_001, 0, -1, 10_000.5])
      await assert.rejects(scene.client.call(devices.invite, { ttlMs }), { code: "INVALID_REQUEST" });
  });

  it("needs the exact secret, a proven device and the role operator", async (t) => {
    const scene = await openScene(t);
    const token = await invite(scene);
    const device = createDevice();
    const refused: Attempt[] = [
      { device, auth: { token: `${token}x` } },
      { device, auth: { token: token.slice(0, -1) } },
      { device, auth: { token: `svc-invite-${"x".repeat(7_000)}` } },
      { device, auth: { token: "svc-invite-" } },
      { device, auth: { token }, role: "node", client: { id: "node-host", mode: "node" } },
      { auth: { token }, client: {} },
    ];
    for (const attempt of refused)
      assert.equal(outcomeOf(await follow(scene, undefined, token, { headers: {}, client: {}, ...attempt })), REFUSED);
    const noProof = await follow(scene, undefined, token);
    assert.equal(noProof.details["code"], "CONTROL_UI_DEVICE_IDENTITY_REQUIRED");
    const elsewhere = { device, headers: {}, client: {} };
    for (const auth of [{ password: token }, { deviceToken: token }])
      assert.equal((await scene.knock({ ...elsewhere, auth })).ok, false);
    assert.equal((await scene.list()).paired.length, 0);
    assert.ok((await follow(scene, device, ` ${token} `)).ok, "none of these used it up");
  });

  it("never grants a scope that its creator lacks; it then stays usable", async (t) => {
    const scene = await openScene(t);
    const creator = await scene.connect({ scopes: [PAIRING, WRITE] });
    const { token } = await creator.call(devices.invite, {});
    const device = createDevice();
    const wide = await follow(scene, device, token);
    assert.deepEqual([outcomeOf(wide), wide.details["scope"]], ["INVALID_REQUEST MISSING_SCOPE", ADMIN]);
    assert.match(String(wide.message), /lacks the scope operator\.admin$/);
    const narrow = await follow(scene, device, token, { scopes: [READ, WRITE] });
    assert.deepEqual(narrow.auth?.scopes, [READ, WRITE]);
    const reader = await scene.connect({ scopes: [READ] });
    await assert.rejects(reader.call(devices.invite, {}), /missing scope: operator\.pairing/);
  });

  it("ends with the credential of its creator", async (t) => {
    const scene = await openScene(t);
    const creator = createDevice();
    const { socket, auth } = await scene.pair(creator, { scopes: [ADMIN] });
    socket.send({ type: "req", id: "i", method: "device.pair.invite", params: {} });
    const byShared = String((await socket.next(({ id }) => id === "i")).payload?.["token"]);
    const again = (await scene.byToken(creator, auth.deviceToken, { scopes: [ADMIN] })).socket;
    again.send({ type: "req", id: "i", method: "device.pair.invite", params: {} });
    const byToken = String((await again.next(({ id }) => id === "i")).payload?.["token"]);
    await scene.client.call(devices.remove, { deviceId: creator.id });
    for (const token of [byShared, byToken])
      assert.equal(outcomeOf(await follow(scene, createDevice(), token)), REFUSED);
  });

  it("settles the request of the device, and tells the operators", async (t) => {
    const scene = await openScene(t, { config: { devices: { localApproval: "ask" } } });
    const device = createDevice();
    const requestId = requestOf(await scene.shared(device, { scopes: [READ] }));
    assert.ok((await follow(scene, device, await invite(scene))).ok);
    assert.deepEqual((await scene.list()).pending, []);
    await settled(scene);
    const resolved = scene.events.filter(({ event }) => event === "device.pair.resolved").map(({ payload }) => payload);
    assert.deepEqual(
      resolved.map(({ ts: _ts, ...told }) => told),
      [{ requestId, deviceId: device.id, decision: "approved" }],
    );
    await assert.rejects(scene.client.call(devices.approve, { requestId }), { code: "NOT_FOUND" });
  });

  it("gives a paired device more scopes, and signs a device in again whose token was revoked", async (t) => {
    const scene = await openScene(t, { config: { devices: { localApproval: "ask" } } });
    const device = createDevice();
    assert.ok((await follow(scene, device, await invite(scene), { scopes: [READ] })).ok);
    const wider = await follow(scene, device, await invite(scene));
    assert.deepEqual(wider.auth?.scopes, [ADMIN], JSON.stringify(wider.frame));
    await scene.client.call(devices.revoke, { deviceId: device.id, role: "operator" });
    const again = await follow(scene, device, await invite(scene));
    assert.ok(again.auth && again.auth.deviceToken !== wider.auth?.deviceToken);
  });

  it("does not matter to a device that also sends its valid token", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [ADMIN] })).auth;
    const auth = { token: `svc-invite-${"x".repeat(43)}`, deviceToken };
    assert.equal(outcomeOf(await follow(scene, device, auth.token, { auth })), "admitted");
  });

  it("is forgotten when the gateway stops", async (t) => {
    const stateDir = directory(t);
    const first = await openScene(t, { stateDir });
    const token = await invite(first);
    await first.gateway.stop();
    assert.equal(outcomeOf(await follow(await openScene(t, { stateDir }), createDevice(), token)), REFUSED);
  });

  it("ends when 64 newer ones are unused; expired ones go first", async (t) => {
    const clock = createFakeClock();
    const scene = await openScene(t, { clock });
    const [first, second] = [await invite(scene), await invite(scene)];
    for (let count = 0; count < 62; count++) await invite(scene, 10_000);
    await clock.advance(10_000);
    for (let count = 0; count < 63; count++) await invite(scene);
    assert.equal(outcomeOf(await follow(scene, createDevice(), first)), REFUSED);
    assert.equal(outcomeOf(await follow(scene, createDevice(), second)), "admitted");
  });

  it("counts as a guess when it is wrong, and a locked out client cannot use a right one", async (t) => {
    const scene = await openScene(t, { auth: { token: SECRET, rateLimit: { maxAttempts: 3 } } });
    const right = await invite(scene);
    for (let guess = 0; guess < 3; guess++)
      assert.equal(outcomeOf(await follow(scene, createDevice(), `svc-invite-${"y".repeat(43)}`)), REFUSED);
    const locked = "INVALID_REQUEST AUTH_RATE_LIMITED";
    assert.equal(outcomeOf(await follow(scene, createDevice(), right)), locked);
  });

  it("from a page of a foreign origin is refused before it is looked at", async (t) => {
    const scene = await openScene(t);
    const [device, token] = [createDevice(), await invite(scene)];
    const outcome = await follow(scene, device, token, { headers: { origin: "https://foreign.example" } });
    assert.equal(outcomeOf(outcome), "INVALID_REQUEST ORIGIN_NOT_ALLOWED");
    assert.ok((await follow(scene, device, token)).ok, "it was not used up");
  });
});

describe("an invitation in the modes of authentication", limited, () => {
  const modes: [name: string, options: SceneOptions][] = [
    ["token", {}],
    ["password", { auth: { password: SECRET } }],
    ["none", { auth: { mode: "none" } }],
  ];
  for (const [name, options] of modes)
    it(`admits a device from another machine in mode ${name}`, async (t) => {
      const scene = await openScene(t, options);
      const headers = { host: "gateway.example" };
      const far: Attempt = { headers, client: {} };
      const [device, token] = [createDevice(), await invite(scene)];
      assert.equal(outcomeOf(await follow(scene, device, token, far)), "admitted");
      const wrong = outcomeOf(await follow(scene, createDevice(), token, far));
      assert.equal(wrong, name === "none" ? "NOT_PAIRED PAIRING_REQUIRED" : REFUSED);
    });

  it("is not needed in mode none on this machine, and not used up there", async (t) => {
    const scene = await openScene(t, { auth: { mode: "none" } });
    const token = await invite(scene);
    for (const device of [createDevice(), createDevice()]) assert.ok((await follow(scene, device, token)).auth);
  });

  it("admits a device beside the proxy in mode trusted-proxy", async (t) => {
    const auth = { mode: "trusted-proxy", trustedProxy: { userHeader: "x-user", secret: PROXY } };
    const gateway = await createGateway({
      env: {},
      port: 0,
      stateDir: directory(t),
      logLevel: "silent",
      plugins: ["storage-sqlite", devicesPlugin],
      config: { gateway: { auth, trustedProxies: ["127.0.0.2"], bind: "lan" } },
    });
    t.after(() => gateway.stop());
    const here = await connect({ url: gateway.url, token: readLocalKey(gateway.paths.credentialsDir) ?? "" });
    const { token } = await here.call(devices.invite, {});
    await here.close();
    const outcomes = [];
    for (const device of [createDevice(), createDevice()])
      outcomes.push(await knock(gateway.url, { device, scopes: [READ], auth: { token } }));
    for (const { socket } of outcomes) socket.ws.terminate();
    assert.deepEqual(outcomes.map(outcomeOf), ["admitted", REFUSED]);
  });
});

describe("a client without an invitation", limited, () => {
  it("gets the refusals it always got", async (t) => {
    const scene = await openScene(t);
    for (const token of ["wrong", "invite-x", "SVC-INVITE-x", "x svc-invite-"]) {
      const outcome = await scene.knock({ device: createDevice(), auth: { token } });
      assert.equal(outcomeOf(outcome), "INVALID_REQUEST AUTH_TOKEN_MISMATCH");
    }
  });
});
