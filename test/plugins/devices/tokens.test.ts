/** Device tokens: authentication, issue and end. Spec: protocol/frames-and-connect.md §7, §11. */
import assert from "node:assert/strict";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { devices } from "@svc/sdk/devices";
import { createFakeClock } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import {
  ADMIN,
  type Attempt,
  createDevice,
  openScene,
  type Outcome,
  PAIRING,
  READ,
  requestOf,
  SECRET,
  WRITE,
} from "./scene.ts";

const limited = { timeout: 120_000 };
const detail = ({ details }: Outcome) => details["code"];

describe("connecting with a device token", limited, () => {
  it("works in auth.deviceToken, in auth.token, and trimmed [W7.30]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [WRITE] })).auth;
    const spellings = [
      { deviceToken },
      { token: deviceToken },
      { token: deviceToken, deviceToken },
      { token: "wrong", deviceToken },
      { token: "", deviceToken: ` ${deviceToken} ` },
    ];
    for (const auth of spellings) {
      const outcome = await scene.knock({ device, scopes: [READ, WRITE], auth });
      assert.ok(outcome.ok, JSON.stringify(Object.keys(auth)));
      assert.equal(outcome.auth?.deviceToken, deviceToken);
    }
  });

  const covered: [asked: readonly string[], held: readonly string[], isCovered: boolean][] = [
    [[], [READ], true],
    [[READ], [READ], true],
    [[READ], [WRITE], true],
    [[WRITE], [READ], false],
    [[PAIRING], [WRITE], false],
    [[READ, WRITE, PAIRING, ADMIN], [ADMIN], true],
    [["operator.moon"], [ADMIN], true],
    [["operator.moon"], [WRITE], false],
    [["moon"], [ADMIN], false],
    [["admin"], [ADMIN], true],
    [["admin"], [READ], false],
  ];
  it("works exactly for the scopes that the token has [W7.24 W7.30]", async (t) => {
    const scene = await openScene(t);
    for (const [asked, held, isCovered] of covered) {
      const device = createDevice();
      const { deviceToken: token } = (await scene.pair(device, { scopes: held })).auth;
      const outcome = await scene.knock({ device, scopes: asked, auth: { token } });
      assert.equal(outcome.ok, isCovered, `[${asked.join(", ")}] by [${held.join(", ")}]`);
      if (!isCovered) assert.equal(detail(outcome), "AUTH_TOKEN_MISMATCH", "no prompt for a pairing");
    }
    assert.equal((await scene.list()).pending.length, 0);
  });

  it("is refused for another role, another device, without a proof, and with another value [W7.24]", async (t) => {
    const scene = await openScene(t);
    const [device, other] = [createDevice(), createDevice()];
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    await scene.pair(other, { scopes: [READ] });
    const refused: Attempt[] = [
      { device, role: "node" },
      { device: other },
      { device, auth: { deviceToken: `${deviceToken}x` } },
      { device, auth: { deviceToken: deviceToken.slice(0, -1) } },
    ];
    for (const attempt of refused) {
      const outcome = await scene.knock({ auth: { deviceToken }, ...attempt });
      assert.deepEqual([outcome.ok, detail(outcome)], [false, "AUTH_DEVICE_TOKEN_MISMATCH"]);
      assert.match((await outcome.closed).reason, /device token mismatch/);
    }
    assert.equal((await scene.knock({ auth: { token: deviceToken } })).ok, false, "the proof is what it belongs to");
  });

  it("works in mode password, remotely in mode none, and for a node", async (t) => {
    const byPassword = await openScene(t, { auth: { password: SECRET } });
    const device = createDevice();
    const first = await byPassword.knock({ device, scopes: [READ], auth: { password: SECRET } });
    assert.ok((await byPassword.byToken(device, String(first.auth?.deviceToken), { scopes: [READ] })).ok);

    const open = await openScene(t, { auth: { mode: "none" } });
    assert.ok((await open.knock({ device: createDevice(), scopes: [READ] })).auth);
    const far: Attempt = { device, scopes: [READ], far: true };
    await open.client.call(devices.approve, { requestId: requestOf(await open.knock(far)) });
    assert.deepEqual((await open.knock(far)).auth?.scopes, [READ]);

    const node = createDevice();
    const { auth } = await byPassword.knock({ device: node, role: "node", auth: { password: SECRET } });
    assert.deepEqual([auth?.role, auth?.scopes], ["node", []]);
    const nodeToken = String(auth?.deviceToken);
    assert.ok((await byPassword.byToken(node, nodeToken, { role: "node" })).ok);
    const wider = await byPassword.byToken(node, nodeToken, { role: "node", scopes: [READ] });
    assert.equal(wider.ok, false, "exact membership");
  });
});

describe("issuing", limited, () => {
  it("issues the same token while it covers the request, and another one for more scopes [W11.8]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const wide = await scene.pair(device, { scopes: [ADMIN] });
    assert.equal((await scene.pair(device, { scopes: [READ] })).auth.deviceToken, wide.auth.deviceToken);
    await scene.client.call(devices.rotate, { deviceId: device.id, role: "operator", scopes: [READ] });
    const again = await scene.pair(device, { scopes: [WRITE] });
    assert.deepEqual(again.auth.scopes, [WRITE], "exactly what was asked for");
  });

  it("gives each role its own token; a restart keeps both, and requests that wait [W11.8]", async (t) => {
    const stateDir = directory(t);
    const device = createDevice();
    const first = await openScene(t, { stateDir });
    const { deviceToken } = (await first.pair(device, { scopes: [READ] })).auth;
    const request = await first.shared(device, { role: "node" });
    await first.client.call(devices.approve, { requestId: requestOf(request) });
    const node = await first.pair(device, { role: "node" });
    assert.notEqual(node.auth.deviceToken, deviceToken);
    await first.shared(createDevice(), { far: true });
    const before = await first.list();
    await first.gateway.stop();

    const second = await openScene(t, { stateDir });
    assert.deepEqual(await second.list(), before);
    assert.ok((await second.byToken(device, deviceToken, { scopes: [READ] })).ok);
    assert.ok((await second.byToken(device, node.auth.deviceToken, { role: "node" })).ok);
  });

  it("records the last use of a token, at most once a minute", async (t) => {
    const clock = createFakeClock();
    const scene = await openScene(t, { clock });
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    const use = async () => {
      await scene.byToken(device, deviceToken, { scopes: [READ] });
      await scene.pair(createDevice()); // a later write, which the earlier one precedes
      return (await scene.paired(device))?.tokens?.[0]?.lastUsedAtMs;
    };
    const first = await use();
    assert.equal(first, clock.now());
    await clock.advance(59_000);
    assert.equal(await use(), first);
    await clock.advance(1_000);
    assert.equal(await use(), clock.now());
  });

  it("ends with the private key file, and is reissued with the shared token", async (t) => {
    const stateDir = directory(t);
    const device = createDevice();
    const first = await openScene(t, { stateDir });
    const { deviceToken } = (await first.pair(device, { scopes: [READ] })).auth;
    await first.gateway.stop();
    const files = await readdir(stateDir, { recursive: true });
    const keyFile = join(stateDir, files.find((name) => name.endsWith("token-key")) ?? assert.fail("no key file"));
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    await rm(keyFile);

    const second = await openScene(t, { stateDir });
    assert.equal(detail(await second.byToken(device, deviceToken)), "AUTH_DEVICE_TOKEN_MISMATCH");
    const { auth } = await second.pair(device, { scopes: [READ] });
    assert.notEqual(auth.deviceToken, deviceToken);
    assert.ok((await second.byToken(device, auth.deviceToken, { scopes: [READ] })).ok);
  });
});
