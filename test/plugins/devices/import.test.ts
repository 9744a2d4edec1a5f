/** Devices that are taken from another gateway, and given to one. Spec: design/import.md §5.1, A-05. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { AuthAttempt } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { type DeviceRecord, type ImportOutcome, imports } from "@svc/sdk/import";
import type { Statement } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import { DeviceStore } from "../../../plugins/devices/device-store.ts";
import { giveDevices, takeDevice } from "../../../plugins/devices/import.ts";
import { Invitations } from "../../../plugins/devices/invitations.ts";
import { approvedRecord } from "../../../plugins/devices/merge.ts";
import { STEPS } from "../../../plugins/devices/schema.ts";
import { tokenValue } from "../../../plugins/devices/token-value.ts";
import { Tokens } from "../../../plugins/devices/tokens.ts";
import { createStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { directory } from "../../directory.ts";
import {
  ADMIN,
  type Attempt,
  createDevice,
  type KeptDevice,
  openScene,
  type Outcome,
  PAIRING,
  READ,
  reasonOf,
  requestOf,
  type Scene,
  type SceneOptions,
  WRITE,
} from "./scene.ts";

const limited = { timeout: 120_000 };
const DAY_MS = 86_400_000;
const MISMATCH = "AUTH_DEVICE_TOKEN_MISMATCH";
const SCOPED: Attempt = { scopes: [READ] };

/** A token as another gateway issues it. */
const newValue = () => randomBytes(32).toString("base64url");

/** An operator of another gateway that may read; a test changes one thing. */
function record(device: KeptDevice, value: string, changes: Partial<DeviceRecord> = {}): DeviceRecord {
  const { id, publicKey } = device;
  const facts = { displayName: "Laptop", platform: "linux", clientId: "cli", clientMode: "cli" };
  const tokens = [{ role: "operator", scopes: [READ], value, createdAt: 1_000 }];
  const granted = { roles: ["operator"], approvedScopes: [READ], tokens };
  return { id, publicKey, ...facts, ...granted, createdAt: 1_000, approvedAt: 2_000, ...changes };
}

const openImport = (t: TestContext, options: SceneOptions = {}) => openScene(t, { plugins: ["import"], ...options });

async function take({ client }: Pick<Scene, "client">, ...records: readonly DeviceRecord[]): Promise<ImportOutcome[]> {
  return (await client.call(imports.take, { kind: "device", records: [...records] })).outcomes;
}

/** A scene with one imported device. */
async function imported(t: TestContext, options: SceneOptions = {}, changes: Partial<DeviceRecord> = {}) {
  const scene = await openImport(t, options);
  const device = createDevice();
  const old = newValue();
  const [outcome] = await take(scene, record(device, old, changes));
  assert.deepEqual(outcome, { id: device.id, action: "take" });
  return { scene, device, old };
}

function issuedBy(outcome: Outcome): string {
  assert.ok(outcome.auth, JSON.stringify(outcome.frame));
  return outcome.auth.deviceToken;
}

const detail = ({ details }: Outcome) => details["code"];

describe("a device that has the token of its former gateway", limited, () => {
  it("gets its new token with each connect; once it has used that, the old one is refused, also after a restart", async (t) => {
    const stateDir = directory(t);
    const { scene, device, old } = await imported(t, { stateDir });
    const first = await scene.byToken(device, old, SCOPED);
    const issued = issuedBy(first);
    assert.notEqual(issued, old);
    assert.deepEqual([first.auth?.role, first.auth?.scopes], ["operator", [READ]]);
    for (const auth of [{ token: old }, { deviceToken: ` ${old} ` }, { token: "wrong", deviceToken: old }])
      assert.equal(issuedBy(await scene.knock({ device, ...SCOPED, auth })), issued, "it was not stored by the device");
    assert.equal((await scene.list()).pending.length, 0, "nobody is asked");

    assert.equal(issuedBy(await scene.byToken(device, issued, SCOPED)), issued);
    assert.equal(detail(await scene.byToken(device, old, SCOPED)), MISMATCH);
    assert.ok((await scene.byToken(device, issued, SCOPED)).ok);
    await scene.gateway.stop();
    const again = await openImport(t, { stateDir });
    assert.equal(detail(await again.byToken(device, old, SCOPED)), MISMATCH);
    assert.ok((await again.byToken(device, issued, SCOPED)).ok);
  });

  it("is refused with another key, role, value or device, without a proof, and for more scopes", async (t) => {
    const { scene, device, old } = await imported(t);
    const other = createDevice();
    const others = newValue();
    await take(scene, record(other, others));
    const forged = { ...device, sign: other.sign };
    const token = { token: old };
    const refused: [attempt: Attempt, code: string][] = [
      [{ device: forged, auth: token }, "DEVICE_AUTH_SIGNATURE_INVALID"],
      [{ device: { ...other, id: device.id }, auth: token }, "DEVICE_AUTH_DEVICE_ID_MISMATCH"],
      [{ device: other, auth: { deviceToken: old } }, MISMATCH],
      [{ device, auth: { deviceToken: others } }, MISMATCH],
      [{ device, auth: { deviceToken: `${old}x` } }, MISMATCH],
      [{ device, auth: { deviceToken: old }, role: "node" }, MISMATCH],
      [{ auth: token }, "AUTH_TOKEN_MISMATCH"],
      [{ device, auth: token, scopes: [WRITE] }, "AUTH_TOKEN_MISMATCH"],
      [{ device, auth: token, scopes: [READ, ADMIN] }, "AUTH_TOKEN_MISMATCH"],
      [{ device, auth: { deviceToken: old }, scopes: [PAIRING] }, MISMATCH],
    ];
    for (const [attempt, code] of refused) {
      const outcome = await scene.knock(attempt);
      assert.deepEqual([outcome.ok, detail(outcome)], [false, code], JSON.stringify(attempt));
    }
    assert.equal((await scene.list()).pending.length, 0);
    assert.ok((await scene.byToken(device, old, SCOPED)).ok, "none of these ended it");
    const issued = issuedBy(await scene.byToken(device, old));
    assert.equal((await scene.byToken(device, issued, { scopes: [ADMIN] })).ok, false);
    assert.ok((await scene.byToken(device, old, SCOPED)).ok, "a refused use of the new token does not end it");
  });

  it("is refused after a revocation, a rotation and a removal", async (t) => {
    const ends: [why: string, end: (scene: Scene, deviceId: string) => Promise<unknown>][] = [
      ["revoked", ({ client }, deviceId) => client.call(devices.revoke, { deviceId, role: "operator" })],
      ["rotated", ({ client }, deviceId) => client.call(devices.rotate, { deviceId, role: "operator" })],
      ["removed", ({ client }, deviceId) => client.call(devices.remove, { deviceId })],
    ];
    const scene = await openImport(t);
    for (const [why, end] of ends) {
      const device = createDevice();
      const old = newValue();
      await take(scene, record(device, old));
      await end(scene, device.id);
      assert.equal(detail(await scene.byToken(device, old, SCOPED)), MISMATCH, why);
      if (why === "removed") continue;
      const { auth } = await scene.pair(device, SCOPED);
      assert.ok((await scene.byToken(device, auth.deviceToken, SCOPED)).ok);
      assert.equal(detail(await scene.byToken(device, old, SCOPED)), MISMATCH, `${why}, then issued anew`);
    }
  });

  it("is refused 30 days after the import", async (t) => {
    const stateDir = directory(t);
    const start = createFakeClock().now();
    const first = await imported(t, { stateDir, clock: createFakeClock(start) });
    const { device, old } = first;
    await first.scene.gateway.stop();
    const before = await openImport(t, { stateDir, clock: createFakeClock(start + 30 * DAY_MS - 60_000) });
    const issued = issuedBy(await before.byToken(device, old, SCOPED));
    await before.gateway.stop();
    const after = await openImport(t, { stateDir, clock: createFakeClock(start + 30 * DAY_MS) });
    assert.equal(detail(await after.byToken(device, old, SCOPED)), MISMATCH);
    assert.ok((await after.byToken(device, issued, SCOPED)).ok, "its new one has no end");
  });

  it("is known by a digest only: neither value is in the state, the log, or an answer", async (t) => {
    const stateDir = directory(t);
    const logging = { level: "debug", consoleLevel: "silent", redactSensitive: "off" };
    const opened = { stateDir, config: { logging }, gateway: { logLevel: undefined } };
    const { scene, device, old } = await imported(t, opened);
    const issued = issuedBy(await scene.byToken(device, old, SCOPED));
    const shown = JSON.stringify(await scene.list());
    await scene.byToken(device, old, { scopes: [ADMIN] });
    await scene.byToken(device, issued, SCOPED);
    await scene.byToken(device, old, SCOPED);
    await scene.gateway.stop();
    const files = readdirSync(stateDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), "latin1"));
    assert.ok(
      texts.some((text) => text.includes("the token of its former gateway has ended")),
      "the log is read",
    );
    assert.ok(
      texts.some((text) => text.includes(device.publicKey)),
      "the database is read",
    );
    for (const text of [...texts, shown]) for (const value of [old, issued]) assert.ok(!text.includes(value));
    assert.ok(!shown.includes("adopted"));
  });

  it("gets no scope back that an approval here did not give; one token for more scopes ends the old one", async (t) => {
    const { scene, device, old } = await imported(t);
    const wider = await scene.pair(device, { scopes: [WRITE] });
    assert.deepEqual(wider.auth.scopes, [WRITE]);
    assert.equal(detail(await scene.byToken(device, old, SCOPED)), MISMATCH);
  });
});

describe("taking a device", limited, () => {
  it("twice is taking it once; a device that is paired here is not changed", async (t) => {
    const { scene, device, old } = await imported(t);
    const mine = createDevice();
    const { deviceToken } = (await scene.pair(mine, { scopes: [WRITE] })).auth;
    const before = (await scene.list()).paired;
    const other = newValue();
    const outcomes = await take(
      scene,
      record(device, other, { displayName: "Changed" }),
      record(mine, other, { approvedScopes: [ADMIN], tokens: [] }),
    );
    assert.deepEqual(
      outcomes,
      [device, mine].map(({ id }) => ({ id, action: "skip", reason: "the device is paired here" })),
    );
    assert.deepEqual((await scene.list()).paired, before);
    const { kinds } = await scene.client.call(imports.kinds, {});
    assert.deepEqual(
      kinds.filter(({ kind }) => kind === "device"),
      [{ kind: "device", title: "devices", plugin: "devices", count: 2, gives: true }],
    );
    assert.ok((await scene.byToken(mine, deviceToken, { scopes: [WRITE] })).ok);
    assert.equal((await scene.byToken(device, other, SCOPED)).ok, false);
    assert.ok((await scene.byToken(device, old, SCOPED)).ok);
  });

  it("keeps what was approved: names, roles, scopes and times", async (t) => {
    const tokens = [
      { role: "node", scopes: [READ], value: newValue(), createdAt: 5 },
      { role: "operator", scopes: ["admin"], value: newValue(), createdAt: 5 },
    ];
    const granted = { roles: ["operator", "node"], approvedScopes: [ADMIN, READ], deviceFamily: "Desktop" };
    const clock = createFakeClock();
    const changes = { ...granted, tokens, node: { commands: ["b", "a", "a"], caps: ["camera"] } };
    const { scene, device } = await imported(t, { clock }, changes);
    assert.deepEqual(await scene.paired(device), {
      deviceId: device.id,
      publicKey: device.publicKey,
      displayName: "Laptop",
      platform: "linux",
      deviceFamily: "Desktop",
      clientId: "cli",
      clientMode: "cli",
      role: "operator",
      roles: ["node", "operator"],
      scopes: [ADMIN, READ],
      commands: ["a", "b"],
      createdAtMs: 1_000,
      approvedAtMs: 2_000,
      tokens: [
        { role: "node", scopes: [], createdAtMs: clock.now() },
        { role: "operator", scopes: [ADMIN], createdAtMs: clock.now() },
      ],
    });
  });

  const withToken = (changes: Partial<DeviceRecord["tokens"][number]>) => (given: DeviceRecord) => ({
    ...given,
    tokens: given.tokens.map((token) => ({ ...token, ...changes })),
  });
  const lost: [
    what: string,
    change: (given: DeviceRecord) => DeviceRecord,
    scopes: string[] | undefined,
    reason: RegExp,
  ][] = [
    [
      "approved scopes",
      ({ approvedScopes: _unknown, ...rest }) => rest,
      undefined,
      /unknown which scopes were approved/,
    ],
    ["an approved scope", (given) => ({ ...given, approvedScopes: [] }), [], /loses scopes that were not approved/],
    ["a token that is one", withToken({ value: "spaces in the token" }), undefined, /operator token is malformed/],
    ["a token that is long enough", withToken({ value: "short" }), undefined, /operator token is malformed/],
    ["a token of its role", withToken({ role: "node" }), undefined, /role that was not approved/],
    ["known scopes", withToken({ scopes: [READ, "operator.moon"] }), [READ], /that this gateway does not know/],
  ];
  it("takes one without what it lacks, and says how it pairs again", async (t) => {
    const scene = await openImport(t);
    for (const [what, change, scopes, reason] of lost) {
      const device = createDevice();
      const given = change(record(device, newValue()));
      const [outcome = assert.fail()] = await take(scene, given);
      assert.equal(outcome.action, "convert", what);
      assert.match(outcome.reason ?? "", reason);
      assert.match(outcome.next ?? "", /svc devices approve --latest/);
      for (const { value } of given.tokens) {
        assert.ok(!JSON.stringify(outcome).includes(value));
        if (scopes === undefined) assert.equal(detail(await scene.byToken(device, value)), MISMATCH, what);
      }
      const paired = (await scene.paired(device)) ?? assert.fail();
      assert.deepEqual(
        paired.tokens?.map((token) => token.scopes),
        scopes ? [scopes] : [],
      );
      assert.ok((await scene.pair(device, SCOPED)).auth, "it pairs again");
    }
  });

  it("refuses another key's id, an unknown role, a name that is too long, and a value of another type", async (t) => {
    const scene = await openImport(t);
    const device = createDevice();
    const value = newValue();
    const refused: [changes: object, reason: RegExp][] = [
      [{ publicKey: createDevice().publicKey }, /not the SHA-256 of its public key/],
      [{ publicKey: "AAAA" }, /not the SHA-256 of its public key/],
      [{ roles: [] }, /none of the roles operator and node/],
      [{ roles: ["moon"] }, /none of the roles operator and node/],
      [{ displayName: "x".repeat(257) }, /displayName is longer than 256 characters/],
      [{ roles: ["node"], node: { commands: ["x".repeat(257)], caps: [] } }, /entry of commands is longer/],
      [{ tokens: [{ value }] }, /tokens\/0/],
    ];
    for (const [changes, reason] of refused) {
      const given = { ...record(device, value), ...changes };
      const { outcomes } = await scene.client.call(imports.take, { kind: "device", records: [given] });
      assert.equal(outcomes[0]?.action, "refuse");
      assert.match(outcomes[0]?.reason ?? "", reason);
      assert.ok(!JSON.stringify(outcomes).includes(value));
    }
    assert.deepEqual((await scene.list()).paired, []);
    assert.equal(detail(await scene.byToken(device, value)), MISMATCH);
  });

  it("pins platform and device family: a device that reports others is asked about", async (t) => {
    const { scene, device, old } = await imported(t);
    const moved = { ...SCOPED, client: { platform: "darwin" } };
    const outcome = await scene.byToken(device, old, moved);
    assert.equal(reasonOf(outcome), "metadata-upgrade");
    await scene.client.call(devices.approve, { requestId: requestOf(outcome) });
    assert.ok((await scene.byToken(device, old, moved)).ok, "the approval does not lock it out");
  });
});

describe("giving devices", limited, () => {
  it("gives records with which another gateway admits them by the tokens they have", async (t) => {
    const one = await openImport(t);
    const [laptop, gone] = [createDevice(), createDevice()];
    const { deviceToken } = (await one.pair(laptop, { scopes: [READ] })).auth;
    await one.pair(gone, { scopes: [READ] });
    await one.client.call(devices.revoke, { deviceId: gone.id, role: "operator" });
    await one.client.call(devices.rename, { deviceId: gone.id, displayName: "Gone" });
    const moved = newValue();
    const phone = createDevice();
    await take(one, record(phone, moved));
    const { records, next } = await one.client.call(imports.give, { kind: "device" });
    assert.equal(next, undefined);
    const given = new Map((records as DeviceRecord[]).map((each) => [each.id, each])); // of this kind
    assert.deepEqual([...given.keys()], [laptop, gone, phone].map(({ id }) => id).toSorted());
    assert.deepEqual(
      given.get(laptop.id)?.tokens.map(({ role, scopes, value }) => [role, scopes, value]),
      [["operator", [READ], deviceToken]],
    );
    assert.deepEqual([given.get(gone.id)?.tokens, given.get(gone.id)?.displayName], [[], "Gone"]);
    assert.deepEqual(given.get(phone.id)?.tokens[0]?.value, issuedBy(await one.byToken(phone, moved, SCOPED)));

    const other = await openImport(t);
    assert.deepEqual(
      (await take(other, ...given.values())).map(({ action }) => action),
      ["take", "take", "take"],
    );
    assert.ok((await other.byToken(laptop, deviceToken, SCOPED)).ok);
    const back = (await other.client.call(imports.give, { kind: "device" })).records as DeviceRecord[]; // likewise
    const bare = ({ tokens, ...each }: DeviceRecord) => ({ ...each, tokens: tokens.map(({ role }) => role) });
    assert.deepEqual(
      back.map(bare),
      records.map((each) => bare(each as DeviceRecord)),
    );
  });

  it("gives pages in the order of ids, and commands of a node once they are pinned", async (t) => {
    const { sources } = await openStore(t);
    const all = Array.from({ length: 201 }, createDevice);
    const node = { commands: ["a"], caps: ["c"] };
    const nodeOf = (at: number) => (at === 0 ? { roles: ["node"] } : at === 1 ? { roles: ["node"], node } : {});
    for (const [at, device] of all.entries()) await takeDevice(sources, record(device, newValue(), nodeOf(at)));
    const seen: DeviceRecord[] = [];
    const sizes: number[] = [];
    for (let after: string | undefined, more = true; more; more = after !== undefined) {
      const page = await giveDevices(sources, after);
      sizes.push(page.records.length);
      seen.push(...page.records);
      after = page.next;
    }
    assert.deepEqual(sizes, [100, 100, 1]);
    assert.deepEqual(
      seen.map(({ id }) => id),
      all.map(({ id }) => id).toSorted(),
    );
    const nodeFor = ({ id }: KeptDevice = assert.fail()) => seen.find((one) => one.id === id)?.node;
    assert.deepEqual([nodeFor(all[0]), nodeFor(all[1]), nodeFor(all[2])], [undefined, node, undefined]);
  });
});

async function openStore(t: TestContext) {
  const clock = createFakeClock();
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const { storage, open, close } = createStorage({ clock, log });
  await open({ file: join(directory(t), "test.db"), busyTimeoutMs: 1_000 });
  t.after(close);
  await storage.migrate("devices", STEPS);
  const store = new DeviceStore(storage);
  const key = new Uint8Array(32).fill(7);
  return { key, sources: { storage, store, log, now: () => clock.now(), key: (): Uint8Array | undefined => key } };
}

describe("an import into the store", limited, () => {
  it("waits for the start of the plugin", async (t) => {
    const { sources } = await openStore(t);
    const starting = { ...sources, key: () => undefined };
    await assert.rejects(takeDevice(starting, record(createDevice(), newValue())), { code: "UNAVAILABLE" });
    await assert.rejects(giveDevices(starting), { code: "UNAVAILABLE" });
  });

  it("takes the newest token of a role", async (t) => {
    const { sources } = await openStore(t);
    const device = createDevice();
    const token = (scopes: string[], createdAt: number) => ({ role: "operator", scopes, value: newValue(), createdAt });
    const tokens = [token([], 1), token([READ], 3), token([], 2)];
    assert.deepEqual(await takeDevice(sources, record(device, "", { tokens })), { action: "take" });
    assert.deepEqual((await sources.store.token(device.id, "operator"))?.scopes, [READ]);
  });

  it("admits a device by its new token while the end of the old one cannot be stored", async (t) => {
    const { sources, key } = await openStore(t);
    const { store, storage } = sources;
    const device = createDevice();
    await takeDevice(sources, record(device, newValue()));
    let isFull = true;
    const full = async (statements: readonly Statement[]) =>
      isFull ? Promise.reject(new Error("the disk is full")) : storage.transaction(statements);
    const credentials = { async revoke() {}, async revokeDevice() {}, isLive: () => true };
    const invitations = new Invitations({ credentials, now: sources.now });
    const failing = { ...storage, transaction: full };
    const tokens = new Tokens({ ...sources, storage: failing, credentials, invitations });
    const token = (await store.token(device.id, "operator")) ?? assert.fail();
    const proof = { id: device.id, publicKey: device.publicKey, signature: "-", signedAt: 1, nonce: "-" };
    const connect = { device: proof, scopes: [READ], auth: { deviceToken: tokenValue(key, token) } };
    const attempt = { deviceId: device.id, role: "operator", shared: false, connect } as unknown as AuthAttempt; // the fields that are read
    const adopted = async () => (await store.token(device.id, "operator"))?.adopted;
    assert.ok(await tokens.vouch(attempt));
    assert.ok(await adopted());
    isFull = false;
    assert.ok(await tokens.vouch(attempt));
    assert.equal(await adopted(), undefined);
    await tokens.idle();
  });

  it("leaves the commands of an imported node to its first connect when the device gets other rights", async (t) => {
    const { sources } = await openStore(t);
    const device = createDevice();
    await takeDevice(sources, record(device, newValue(), { roles: ["node", "operator"] }));
    const { record: before } = (await sources.store.get(device.id)) ?? assert.fail();
    const { id: deviceId, publicKey } = device;
    const asked = { requestId: "r", deviceId, publicKey, role: "operator", roles: ["operator"], scopes: [WRITE] };
    const request = { ...asked, isRepair: true, reason: "scope-upgrade", ts: 1 } as const;
    assert.equal(approvedRecord(before, request, 5).importedCommands, "awaited");
    const withCommands = approvedRecord(before, { ...request, commands: ["a"] }, 5);
    assert.deepEqual([withCommands.importedCommands, withCommands.commands], [undefined, ["a"]]);
  });
});
