/** Every method of `device.*`, its errors, and the connections it closes. Spec: protocol/methods-device.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { devices } from "@svc/sdk/devices";
import { createFakeClock } from "@svc/sdk/testing";
import {
  ADMIN,
  type Attempt,
  createDevice,
  openScene,
  PAIRING,
  READ,
  requestOf,
  type Scene,
  settled,
  WRITE,
} from "./scene.ts";

const limited = { timeout: 120_000 };
const far: Attempt = { far: true };

/** Payloads of `device.pair.resolved` about a request. */
const decisionsOn = ({ events }: Scene, requestId: string) =>
  events
    .filter(({ event, payload }) => event === "device.pair.resolved" && payload["requestId"] === requestId)
    .map(({ payload }) => payload);

describe("device.pair", limited, () => {
  it("list is newest first, in both lists", async (t) => {
    const clock = createFakeClock();
    const scene = await openScene(t, { clock });
    const ids: string[] = [];
    const waiting: string[] = [];
    for (let count = 0; count < 3; count++) {
      const [device, other] = [createDevice(), createDevice()];
      await scene.pair(device);
      ids.unshift(device.id);
      waiting.unshift(requestOf(await scene.shared(other, far)));
      await clock.advance(1);
    }
    const { pending, paired } = await scene.list();
    const listed = paired.map(({ deviceId }) => deviceId);
    const asking = pending.map(({ requestId }) => requestId);
    assert.deepEqual([listed, asking], [ids, waiting]);
  });

  it("approve extends the record, and issues another token for that role only", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const first = await scene.pair(device, { scopes: [READ], client: { displayName: "Old" } });
    const before = await scene.paired(device);
    const wish: Attempt = { far: true, scopes: [PAIRING], client: { displayName: "New" } };
    const requestId = requestOf(await scene.shared(device, wish));
    const { device: approved } = await scene.client.call(devices.approve, { requestId });
    assert.deepEqual([approved.scopes, approved.displayName, approved.roles], [[PAIRING, READ], "New", ["operator"]]);
    assert.equal(approved.createdAtMs, before?.createdAtMs);
    assert.equal((await scene.byToken(device, first.auth.deviceToken, { scopes: [READ] })).ok, false);
    assert.deepEqual((await scene.shared(device, wish)).auth?.scopes, [PAIRING]);
    await settled(scene);
    const [resolved, ...more] = decisionsOn(scene, requestId);
    assert.deepEqual([resolved?.["deviceId"], resolved?.["decision"], more], [device.id, "approved", []]);

    const token = String((await scene.shared(device, wish)).auth?.deviceToken);
    const nodeRequest = requestOf(
      await scene.shared(device, { ...wish, role: "node", scopes: [], commands: ["b", "a"] }),
    );
    const { device: both } = await scene.client.call(devices.approve, { requestId: nodeRequest });
    assert.deepEqual([both.role, both.roles, both.commands], ["node", ["node", "operator"], ["a", "b"]]);
    assert.deepEqual([both.tokens?.[0]?.role, both.tokens?.[1]?.role], ["node", "operator"]);
    assert.ok((await scene.byToken(device, token, { scopes: [PAIRING] })).ok);
  });

  it("approve of new metadata keeps the token, which may be all the device has", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    const changed: Attempt = { scopes: [READ], client: { platform: "linux 7" } };
    const requestId = requestOf(await scene.byToken(device, deviceToken, changed));
    await scene.client.call(devices.approve, { requestId });
    assert.ok((await scene.byToken(device, deviceToken, changed)).ok);
    assert.equal((await scene.paired(device))?.platform, "linux 7");
  });

  it("approve is refused for more than the approver holds, and never grants unknown scopes", async (t) => {
    const scene = await openScene(t);
    const approver = await scene.connect({ scopes: [PAIRING, READ] });
    const requestId = requestOf(await scene.shared(createDevice(), { ...far, scopes: [READ, WRITE] }));
    await assert.rejects(approver.call(devices.approve, { requestId }), {
      code: "INVALID_REQUEST",
      message: "missing scope: operator.write",
      details: { code: "MISSING_SCOPE", scope: "operator.write", requestId },
    });
    assert.equal((await scene.list()).pending.length, 1, "it waits on");
    const modest = requestOf(await scene.shared(createDevice(), { ...far, scopes: [READ] }));
    await approver.call(devices.approve, { requestId: modest });

    const device = createDevice();
    const wish: Attempt = { ...far, scopes: ["operator.moon", "sun", READ, "admin"] };
    const { device: approved } = await scene.client.call(devices.approve, {
      requestId: requestOf(await scene.shared(device, wish)),
    });
    assert.deepEqual(approved.scopes, [ADMIN, READ]);
    assert.deepEqual((await scene.shared(device, wish)).auth?.scopes, [ADMIN, READ]);
  });

  it("of two concurrent decisions one wins", async (t) => {
    const scene = await openScene(t);
    for (const other of [devices.approve, devices.reject]) {
      const device = createDevice();
      const requestId = requestOf(await scene.shared(device, far));
      const outcomes = await Promise.allSettled([
        scene.client.call(devices.approve, { requestId }),
        scene.client.call(other, { requestId }),
      ]);
      assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
      const lost = outcomes.find((outcome) => outcome.status === "rejected");
      assert.equal((lost?.reason as { code?: string } | undefined)?.code, "NOT_FOUND");
      await settled(scene);
      assert.equal(decisionsOn(scene, requestId).length, 1);
    }
  });

  it("reject deletes only the request; remove forgets the device, its tokens and its request, and closes its sockets", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    const requestId = requestOf(await scene.shared(device, { ...far, scopes: [ADMIN] }));
    assert.deepEqual(await scene.client.call(devices.reject, { requestId }), { requestId, deviceId: device.id });
    assert.ok((await scene.byToken(device, deviceToken, { scopes: [READ] })).ok);
    assert.notEqual(requestOf(await scene.shared(device, { ...far, scopes: [ADMIN] })), requestId);
    await settled(scene);
    const [resolved, ...more] = decisionsOn(scene, requestId);
    assert.deepEqual([resolved?.["decision"], more], ["rejected", []]);

    const bySecret = await scene.pair(device, { scopes: [READ] });
    assert.deepEqual(await scene.client.call(devices.remove, { deviceId: device.id }), { deviceId: device.id });
    const { code, reason } = await bySecret.closed;
    assert.equal(code, 1008);
    assert.match(reason, /removed/);
    assert.doesNotMatch(reason, /pairing required/);
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
    assert.equal((await scene.byToken(device, bySecret.auth.deviceToken, { scopes: [READ] })).ok, false);
  });

  it("rename gives a device a name that precedes the one it reports, one line long", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    await scene.pair(device);
    const named = { deviceId: device.id, displayName: "Desk" };
    assert.deepEqual(await scene.client.call(devices.rename, { ...named, displayName: " Desk " }), named);
    await scene.shared(device, { client: { displayName: "reported" } });
    const [paired] = (await scene.client.call(devices.list, {})).paired;
    assert.equal(paired?.displayName, "Desk");
    for (const displayName of [" ", "two\nlines", "x".repeat(257)])
      await assert.rejects(scene.client.call(devices.rename, { ...named, displayName }), { code: "INVALID_REQUEST" });
    await assert.rejects(scene.client.call(devices.rename, { ...named, deviceId: "nope" }), { code: "NOT_FOUND" });
  });

  it("an unknown id is reported with the next step", async (t) => {
    const scene = await openScene(t);
    const noRequest = { code: "NOT_FOUND", message: /no request "nope" waits.*\nNext: svc devices list/s };
    const noDevice = { code: "NOT_FOUND", message: /no paired device "nope"\nNext: svc devices list/ };
    for (const method of [devices.approve, devices.reject])
      await assert.rejects(scene.client.call(method, { requestId: "nope" }), noRequest);
    await assert.rejects(scene.client.call(devices.remove, { deviceId: "nope" }), noDevice);
    for (const method of [devices.rotate, devices.revoke])
      await assert.rejects(scene.client.call(method, { deviceId: "nope", role: "operator" }), noDevice);
  });
});

describe("device.token", limited, () => {
  it("rotate returns the new value once and ends the old one; it narrows, widens within what was approved, and revives", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [WRITE, PAIRING] })).auth;
    const rotated = await scene.client.call(devices.rotate, { deviceId: device.id, role: "operator" });
    assert.deepEqual([rotated.deviceId, rotated.role, rotated.scopes], [device.id, "operator", [PAIRING, WRITE]]);
    assert.match(rotated.token, /^[\w-]{43}$/);
    assert.equal((await scene.byToken(device, deviceToken)).ok, false);
    const again = await scene.byToken(device, rotated.token, { scopes: [READ] });
    assert.equal(again.auth?.issuedAtMs, rotated.rotatedAtMs);
    const [token] = (await scene.paired(device))?.tokens ?? [];
    assert.deepEqual([token?.rotatedAtMs, token?.revokedAtMs], [rotated.rotatedAtMs, undefined]);

    const rotate = (params: { role?: string; scopes?: string[] }) =>
      scene.client.call(devices.rotate, { deviceId: device.id, role: "operator", ...params });
    assert.deepEqual((await rotate({ scopes: [READ] })).scopes, [READ]);
    assert.deepEqual((await rotate({})).scopes, [READ], "the token's");
    assert.deepEqual((await rotate({ scopes: [WRITE, PAIRING] })).scopes, [PAIRING, WRITE]);
    await scene.client.call(devices.revoke, { deviceId: device.id, role: "operator" });
    const revived = await rotate({});
    assert.ok((await scene.byToken(device, revived.token, { scopes: [WRITE] })).ok);
  });

  it("rotate is refused beyond what was approved, beyond the caller, and for a role that was not approved", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [WRITE] })).auth;
    const modest = await scene.connect({ scopes: [PAIRING, READ] });
    const refused: [client: typeof modest, params: { role?: string; scopes?: string[] }][] = [
      [scene.client, { scopes: [ADMIN] }],
      [scene.client, { scopes: ["operator.moon"] }],
      [scene.client, { role: "  " }],
      [scene.client, { role: "node" }],
      [modest, { scopes: [WRITE] }],
      [modest, {}],
    ];
    const messages = new Set<string>();
    for (const [client, params] of refused) {
      const error = await client.call(devices.rotate, { deviceId: device.id, role: "operator", ...params }).then(
        () => assert.fail(JSON.stringify(params)),
        (thrown: { code: string; message: string }) => thrown,
      );
      assert.equal(error.code, "INVALID_REQUEST");
      messages.add(error.message);
    }
    assert.equal(messages.size, 1, "one shared message");
    assert.ok((await scene.byToken(device, deviceToken, { scopes: [WRITE] })).ok, "the old one stays");
    assert.equal((await scene.paired(device))?.tokens?.length, 1);
    const narrow = { deviceId: device.id, role: "operator", scopes: [READ] };
    assert.deepEqual((await modest.call(devices.rotate, narrow)).scopes, [READ]);
  });

  it("revoke ends a token until the shared token brings a new one, and reports a role without a token [W7.31]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { deviceToken } = (await scene.pair(device, { scopes: [READ] })).auth;
    const revoked = await scene.client.call(devices.revoke, { deviceId: device.id, role: "operator" });
    assert.equal((await scene.paired(device))?.tokens?.[0]?.revokedAtMs, revoked.revokedAtMs);
    assert.deepEqual(await scene.client.call(devices.revoke, { deviceId: device.id, role: "operator" }), revoked);
    const refused = await scene.byToken(device, deviceToken, { scopes: [READ] });
    assert.equal(refused.details["code"], "AUTH_DEVICE_TOKEN_MISMATCH");
    const { auth } = await scene.pair(device, { scopes: [READ] });
    assert.notEqual(auth.deviceToken, deviceToken);
    assert.ok((await scene.byToken(device, auth.deviceToken, { scopes: [READ] })).ok);
    assert.equal((await scene.byToken(device, deviceToken, { scopes: [READ] })).ok, false);

    await assert.rejects(scene.client.call(devices.revoke, { deviceId: device.id, role: "node" }), {
      code: "NOT_FOUND",
      message: /has no token for role "node"\nNext: svc devices list/,
    });
  });
});
