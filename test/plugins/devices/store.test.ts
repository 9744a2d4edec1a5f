/** Concurrent changes of the same record, and changed keys. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type Admission, type AuthAttempt, definePlugin, type Logger, type Principal } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { Storage } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import { DeviceStore, writeDevice, writeToken } from "../../../plugins/devices/device-store.ts";
import { originOf } from "../../../plugins/devices/pending-store.ts";
import type { DeviceRecord, TokenRecord } from "../../../plugins/devices/records.ts";
import { STEPS } from "../../../plugins/devices/schema.ts";
import { commonTokenKey, forgetCommonKey, keepTokenKey } from "../../../plugins/devices/token-key.ts";
import { tokenValue } from "../../../plugins/devices/token-value.ts";
import { Invitations } from "../../../plugins/devices/invitations.ts";
import { Tokens } from "../../../plugins/devices/tokens.ts";
import { createStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { directory as temporaryDirectory } from "../../directory.ts";
import { createDevice, openScene, READ, requestOf } from "./scene.ts";

const log: Logger = { debug() {}, info() {}, warn() {}, error() {} };

async function openStore(t: TestContext) {
  const clock = createFakeClock();
  const { storage, open, close } = createStorage({ clock, log });
  await open({ file: join(temporaryDirectory(t), "test.db"), busyTimeoutMs: 1_000 });
  t.after(close);
  await storage.migrate("devices", STEPS);
  return { storage, clock, store: new DeviceStore(storage) };
}

const KEY = new Uint8Array(32).fill(7);
const device = createDevice();
const facts = { deviceId: device.id, publicKey: device.publicKey, createdAtMs: 1, approvedAtMs: 1 };
const granted = { role: "operator", roles: ["operator"], scopes: [READ], approvedScopes: [READ] };
const record: DeviceRecord = { ...facts, ...granted };
const token: TokenRecord = { deviceId: device.id, role: "operator", salt: "s1", scopes: [READ], createdAtMs: 1 };

describe("the store", () => {
  it("writes a record or a token only over the revision that was read", async (t) => {
    const { storage, store } = await openStore(t);
    await storage.transaction([writeDevice(record, undefined), writeToken(token, undefined)]);
    const before = (await store.get(device.id)) ?? assert.fail("no record");
    await storage.transaction([writeDevice({ ...record, displayName: "first" }, before)]);
    await storage.transaction([writeToken({ ...token, revokedAtMs: 5 }, token)]);
    const conflicts = [
      writeDevice(record, undefined),
      writeDevice({ ...record, displayName: "second" }, before),
      writeToken(token, undefined),
      writeToken({ ...token, salt: "s2" }, token),
      writeToken({ ...token, salt: "s2" }, { ...token, salt: "s0", revokedAtMs: 5 }),
    ];
    for (const statement of conflicts) await assert.rejects(storage.transaction([statement]), { code: "CONFLICT" });
    assert.equal((await store.get(device.id))?.record.displayName, "first");
    assert.deepEqual(await store.token(device.id, "operator"), { ...token, revokedAtMs: 5 });
  });

  it("issues no replacement to a device that authenticated with a token", async (t) => {
    const { storage, store, clock } = await openStore(t);
    await storage.transaction([writeDevice(record, undefined), writeToken(token, undefined)]);
    const credentials = { async revoke() {}, async revokeDevice() {}, isLive: () => true };
    const now = () => clock.now();
    const invitations = new Invitations({ credentials, now });
    const tokens = new Tokens({ storage, store, credentials, invitations, log, now, key: () => KEY });
    const proof = { id: device.id, publicKey: device.publicKey, signature: "-", signedAt: 1, nonce: "-" };
    const connect = { device: proof, scopes: [READ], auth: { deviceToken: tokenValue(KEY, token) } };
    const attempt = { deviceId: device.id, role: "operator", shared: false, connect } as unknown as AuthAttempt; // the fields that are read
    const principal = { id: "-", role: "operator", scopes: [READ], provenance: "device" };
    const wanted = { device: proof, scopes: [READ] };
    const admission = { device: device.id, principal, connect: wanted } as unknown as Admission; // likewise
    const operator = { id: "-", scopes: ["operator.admin"] } as unknown as Principal; // likewise

    assert.deepEqual(await tokens.vouch(attempt), { id: `device:${device.id}:operator`, scopes: [READ] });
    assert.equal((await tokens.issue(admission))?.deviceToken, connect.auth.deviceToken);
    const rotated = await tokens.rotate({ deviceId: device.id, role: "operator" }, operator);
    assert.equal(await tokens.issue(admission), undefined);
    connect.auth.deviceToken = rotated.token;
    assert.ok(await tokens.vouch(attempt));
    await tokens.revoke(device.id, "operator", "-");
    assert.equal(await tokens.issue(admission), undefined);
    assert.equal(await tokens.vouch(attempt), undefined);
    const stranger = { ...admission, connect: { ...admission.connect, device: { ...proof } } };
    assert.equal(await tokens.issue(stranger), undefined, "somebody else vouched for it");
    await tokens.idle();
  });
});

describe("a record with another key", { timeout: 120_000 }, () => {
  it("makes another device: people are asked, and nothing of the old device is left", async (t) => {
    let storage: Storage | undefined;
    const probe = definePlugin({
      id: "probe",
      api: "^1.0.0",
      requires: { storage: Storage },
      setup(gateway) {
        gateway.start(() => {
          storage = gateway.services.storage;
        });
      },
    });
    const scene = await openScene(t, { plugins: [probe] });
    const mine = createDevice();
    const { auth } = await scene.pair(mine, { scopes: ["operator.admin"] });
    const sql = "UPDATE devices_paired SET body = replace(body, ?, ?) WHERE device_id = ?";
    await storage?.transaction([
      { sql, params: [mine.publicKey, createDevice().publicKey, mine.id], expectChanges: 1 },
    ]);
    const refused = await scene.shared(mine, { scopes: [READ] });
    assert.equal(refused.details["reason"], "not-paired");
    const [request] = (await scene.list()).pending;
    assert.deepEqual([request?.isRepair, request?.publicKey], [true, mine.publicKey]);
    const byToken = await scene.byToken(mine, auth.deviceToken, { scopes: [READ] });
    assert.equal(requestOf(byToken), requestOf(refused), "its token does not help");
    const { device: approved } = await scene.client.call(devices.approve, { requestId: requestOf(refused) });
    assert.deepEqual([approved.scopes, approved.tokens?.length], [[READ], 1]);
    assert.equal((await scene.byToken(mine, auth.deviceToken, { scopes: [READ] })).ok, false);
  });
});

describe("the key of the tokens", () => {
  it("is created once, and a file without a valid key is never overwritten", async (t) => {
    const directory = temporaryDirectory(t);
    const keys = await Promise.all([1, 2, 3].map(() => keepTokenKey(directory)));
    assert.equal(new Set(keys.map((key) => key.toString("hex"))).size, 1);
    await writeFile(join(directory, "token-key"), "short");
    await assert.rejects(keepTokenKey(directory), /token-key holds no valid key; move it away/);
    assert.equal(await readFile(join(directory, "token-key"), "utf8"), "short");
  });

  it("of a shared database is that of the first gateway; a database of one gateway forgets it", async (t) => {
    const { storage } = await openStore(t);
    const [first, second, third] = [temporaryDirectory(t), temporaryDirectory(t), temporaryDirectory(t)];
    const key = await keepTokenKey(first);
    const own = await keepTokenKey(second);
    for (const directory of [first, second, third])
      assert.deepEqual(await commonTokenKey(directory, storage), key, "all have the key of the first");
    assert.deepEqual(await keepTokenKey(third), key, "so does its file");
    assert.equal(await readFile(join(second, "token-key.former"), "utf8"), own.toString("base64url"));
    await storage.transaction([{ sql: "UPDATE devices_facts SET value = 'short'" }]);
    await assert.rejects(commonTokenKey(first, storage), /no valid key in its row shared-token-key; delete the row/);
    assert.deepEqual(await keepTokenKey(first), key, "the file stays");
    await forgetCommonKey(storage);
    assert.deepEqual(await storage.all("SELECT * FROM devices_facts"), []);
  });
});

it("requests are counted by address, and for IPv6 by network", () => {
  const rows: [address: string | undefined, origin: string][] = [
    ["10.0.0.1", "10.0.0.1"],
    [undefined, ""],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:1:2::9", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ];
  for (const [address, origin] of rows) assert.equal(originOf(address), origin);
});
