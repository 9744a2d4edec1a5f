/** The gate: which devices are admitted, which ones wait, and what people are shown. Spec: protocol/frames-and-connect.md §10. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
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
  reasonOf,
  requestOf,
  SECRET,
  settled,
  WRITE,
} from "./scene.ts";

const limited = { timeout: 120_000 };
const ask = { config: { devices: { localApproval: "ask" } } };

describe("pairing", limited, () => {
  it("lets a device of this machine in silently, with a record, a token and an event [W10.5]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const { auth } = await scene.pair(device, { scopes: [READ, WRITE], client: { displayName: "Desk" } });
    assert.match(auth.deviceToken, /^[\w-]{43}$/);
    assert.deepEqual([auth.role, auth.scopes], ["operator", [READ, WRITE]]);
    assert.equal(typeof auth.issuedAtMs, "number");
    const record = await scene.paired(device);
    const { publicKey, displayName, platform, roles, scopes } = record ?? assert.fail();
    assert.deepEqual([publicKey, displayName, platform], [device.publicKey, "Desk", "linux"]);
    assert.deepEqual([roles, scopes], [["operator"], [READ, WRITE]]);
    const tokens = record?.tokens?.map(({ role, scopes }) => ({ role, scopes }));
    assert.deepEqual(tokens, [{ role: "operator", scopes: [READ, WRITE] }]);
    const told = scene.events.filter(({ event }) => event.startsWith("device."));
    const seen = told.map(({ event, payload }) => [event, payload["decision"], payload["deviceId"]]);
    assert.deepEqual(seen, [["device.pair.resolved", "approved", device.id]]);
    assert.ok(!JSON.stringify(await scene.list()).includes(auth.deviceToken));
  });

  it("asks about a device of another machine, and admits it after an approval", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const attempt: Attempt = { far: true, scopes: [READ], client: { displayName: "Phone", deviceFamily: "Phone" } };
    const refused = await scene.shared(device, attempt);
    assert.deepEqual([refused.code, reasonOf(refused)], ["NOT_PAIRED", "not-paired"]);
    assert.deepEqual(await refused.closed, { code: 1008, reason: "pairing required" });
    const requestId = requestOf(refused);
    assert.equal(refused.details["nextStep"], `svc devices approve ${requestId}`);

    await settled(scene);
    const { pending, paired } = await scene.list();
    assert.equal(paired.length, 0);
    const [shown] = pending;
    const { ts, remoteIp, ...facts } = shown ?? assert.fail("nothing waits");
    assert.equal(typeof ts, "number");
    assert.match(remoteIp ?? "", /127\.0\.0\.1/);
    assert.deepEqual(facts, {
      requestId,
      deviceId: device.id,
      publicKey: device.publicKey,
      displayName: "Phone",
      platform: "linux",
      deviceFamily: "Phone",
      clientId: "cli",
      clientMode: "cli",
      role: "operator",
      roles: ["operator"],
      scopes: [READ],
      silent: false,
      isRepair: false,
      reason: "not-paired",
    });
    const asked = scene.events.filter(({ event }) => event === "device.pair.requested");
    assert.deepEqual([asked.length, asked[0]?.payload], [1, shown]);

    const approved = await scene.client.call(devices.approve, { requestId });
    const { deviceId, tokens } = approved.device;
    assert.deepEqual([approved.requestId, deviceId, tokens?.length], [requestId, device.id, 1]);
    assert.deepEqual((await scene.shared(device, attempt)).auth?.scopes, [READ]);
    assert.equal((await scene.list()).pending.length, 0);
  });

  const pairedAttempt: Attempt = { far: true, scopes: [READ], client: { platform: "linux", deviceFamily: "Desktop" } };
  const obstacles: [what: string, change: Attempt, reason: string | undefined][] = [
    ["the same again", {}, undefined],
    ["another spelling of the platform", { client: { platform: " LINUX ", deviceFamily: "desktop" } }, undefined],
    ["another platform", { client: { platform: "macos", deviceFamily: "Desktop" } }, "metadata-upgrade"],
    ["another device family", { client: { platform: "linux", deviceFamily: "Phone" } }, "metadata-upgrade"],
    ["no device family any more", { client: { platform: "linux" } }, "metadata-upgrade"],
    ["another role", { role: "node", scopes: [] }, "role-upgrade"],
    ["one scope more", { scopes: [READ, WRITE] }, "scope-upgrade"],
    ["no scopes", { scopes: [] }, undefined],
    ["unknown scopes only, which grant nothing", { scopes: ["operator.moon", "sun"] }, undefined],
    ["all of these", { client: { platform: "macos" }, role: "node", scopes: [ADMIN] }, "metadata-upgrade"],
  ];
  it("is admitted again unless it shows or asks for something new [W10.3]", async (t) => {
    const scene = await openScene(t);
    for (const [what, change, reason] of obstacles) {
      const device = createDevice();
      await scene.pair(device, { ...pairedAttempt, far: false });
      const outcome = await scene.shared(device, { ...pairedAttempt, ...change });
      assert.deepEqual([outcome.ok, reasonOf(outcome)], [reason === undefined, reason], what);
      const waiting = (await scene.list()).pending.find(({ deviceId }) => deviceId === device.id);
      assert.deepEqual([waiting?.reason, waiting?.isRepair], [reason, reason && true], what);
    }
  });

  const panel = { id: "svc-control-ui", mode: "webchat" };
  const page = { id: "page", mode: "webchat" };
  const from = (origin: string) => ({ headers: { origin } });
  const silent: [what: string, change: Attempt, isSilent: boolean][] = [
    ["a program of this machine", {}, true],
    ["a program from elsewhere", { far: true }, false],
    ["the control panel of this machine", { client: panel, ...from("http://localhost:1") }, true],
    ["web chat of this machine", { client: page, ...from("http://127.0.0.1:1") }, true],
    ["another page of this machine", from("http://localhost:1"), false],
    ["a node of this machine", { role: "node", scopes: [] }, true],
  ];
  it("is approved silently for programs, the control panel and web chat of this machine only", async (t) => {
    const scene = await openScene(t);
    for (const [what, change, isSilent] of silent) {
      const outcome = await scene.shared(createDevice(), { scopes: [READ], ...change });
      assert.deepEqual([outcome.ok, reasonOf(outcome)], [isSilent, isSilent ? undefined : "not-paired"], what);
    }
  });

  it("grows silently in scopes, never in role or metadata, and not while a request waits [W10.5]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const first = await scene.pair(device, { scopes: [READ] });
    const more = await scene.pair(device, { scopes: [READ, PAIRING] });
    assert.deepEqual(more.auth.scopes, [PAIRING, READ]);
    assert.notEqual(more.auth.deviceToken, first.auth.deviceToken);
    assert.equal((await scene.byToken(device, first.auth.deviceToken, { scopes: [READ] })).ok, false);
    assert.equal(reasonOf(await scene.shared(device, { role: "node", scopes: [] })), "role-upgrade");
    assert.equal(reasonOf(await scene.shared(device, { client: { platform: "moon" } })), "metadata-upgrade");

    const waiting = createDevice();
    const requestId = requestOf(await scene.shared(waiting, { far: true }));
    assert.equal(requestOf(await scene.shared(waiting)), requestId);
    await scene.client.call(devices.reject, { requestId });
    assert.ok((await scene.shared(waiting)).ok);
  });

  it("a backend client by the shared token needs no pairing here, and gets the token of a paired device", async (t) => {
    const scene = await openScene(t, ask);
    const backend: Attempt = { scopes: [READ], client: { id: "gateway-client", mode: "backend" } };
    const device = createDevice();
    const outcome = await scene.shared(device, backend);
    assert.deepEqual([outcome.ok, outcome.auth], [true, undefined]);
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
    for (const change of [{ far: true }, from("http://localhost:1"), { role: "node" as const }])
      assert.equal(reasonOf(await scene.shared(createDevice(), { ...backend, ...change })), "not-paired");
    const requestId = requestOf(await scene.shared(device, { scopes: [READ] }));
    await scene.client.call(devices.approve, { requestId });
    const { auth } = await scene.pair(device, { scopes: [READ] });
    assert.equal((await scene.shared(device, backend)).auth?.deviceToken, auth.deviceToken);
    assert.equal((await scene.shared(device, { ...backend, scopes: [ADMIN] })).auth, undefined, "more than approved");
  });

  it("makes one request and one event for two concurrent connects [W10.7]", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => scene.shared(device, { far: true, scopes: [READ] })));
    assert.equal(new Set(outcomes.map(requestOf)).size, 1);
    await settled(scene);
    assert.equal(scene.events.filter(({ event }) => event === "device.pair.requested").length, 1);
    const other = createDevice();
    const silently = await Promise.all([1, 2, 3, 4].map(() => scene.pair(other, { scopes: [READ] })));
    assert.equal(new Set(silently.map(({ auth }) => auth.deviceToken)).size, 1);
    await settled(scene);
    assert.equal(scene.events.filter(({ event }) => event === "device.pair.resolved").length, 1);
  });

  it("recognizes a device by every encoding of its key", async (t) => {
    const scene = await openScene(t);
    const device = createDevice();
    const jwk = { kty: "OKP", crv: "Ed25519", x: device.publicKey };
    const pem = createPublicKey({ format: "jwk", key: jwk }).export({ type: "spki", format: "pem" });
    const padded = Buffer.from(device.publicKey, "base64url").toString("base64");
    for (const publicKey of [padded, String(pem), device.publicKey])
      for (const version of ["v2", "v3"] as const)
        assert.ok((await scene.shared(device, { version, publicKey })).ok, `${version} ${publicKey}`);
    assert.equal((await scene.paired(device))?.publicKey, device.publicKey);
  });
});

describe("requests that wait", limited, () => {
  it("keep their id when repeated unchanged, and are renewed [W10.4]", async (t) => {
    const clock = createFakeClock();
    const scene = await openScene(t, { clock });
    const device = createDevice();
    const requestId = requestOf(await scene.shared(device, { far: true, scopes: [READ] }));
    await clock.advance(299_000);
    assert.equal(requestOf(await scene.shared(device, { far: true, scopes: [READ] })), requestId);
    await clock.advance(299_000);
    assert.equal((await scene.list()).pending[0]?.ts, clock.now() - 299_000);
    await clock.advance(1_001);
    assert.deepEqual((await scene.list()).pending, []);
    await assert.rejects(scene.client.call(devices.approve, { requestId }), {
      code: "NOT_FOUND",
      message: /has expired.*\nNext: svc devices list/s,
    });
    assert.notEqual(requestOf(await scene.shared(device, { far: true, scopes: [READ] })), requestId);
  });

  const differences: [what: string, change: Attempt, shown: Record<string, unknown>][] = [
    ["more scopes", { scopes: [ADMIN] }, { scopes: [ADMIN, READ], roles: ["operator"] }],
    ["another role", { role: "node", scopes: [] }, { roles: ["node", "operator"], role: "operator", scopes: [READ] }],
    ["commands", { role: "node", scopes: [], commands: ["system.run"] }, { commands: ["system.run"] }],
    ["caps", { caps: ["camera"] }, { caps: ["camera"] }],
    ["another platform", { client: { platform: "moon" } }, { platform: "moon" }],
    ["a device family", { client: { deviceFamily: "Phone" } }, { deviceFamily: "Phone" }],
    ["another name", { client: { displayName: "Honest" } }, { displayName: "Honest" }],
    ["another client", { client: { id: "other", mode: "ui" } }, { clientId: "other", clientMode: "ui" }],
  ];
  it("get another id once they show something else, and the earlier one names its successor [W10.4]", async (t) => {
    const scene = await openScene(t);
    for (const [what, change, shown] of differences) {
      const device = createDevice();
      const base: Attempt = { far: true, scopes: [READ] };
      const former = requestOf(await scene.shared(device, base));
      const latter = requestOf(await scene.shared(device, { ...base, ...change }));
      assert.notEqual(latter, former, what);
      const [pending = assert.fail(), ...more] = (await scene.list()).pending.filter(
        (one) => one.deviceId === device.id,
      );
      assert.deepEqual([{ ...pending, ...shown, requestId: latter }, more], [pending, []], what);
      await settled(scene);
      const told = scene.events.filter(({ event }) => event === "device.pair.requested").slice(-2);
      assert.deepEqual([told[0]?.payload["requestId"], told[1]?.payload["requestId"]], [former, latter], what);
      await assert.rejects(scene.client.call(devices.approve, { requestId: former }), {
        code: "NOT_FOUND",
        message: new RegExp(`was replaced by request ${latter}.*\nNext: svc devices list`, "s"),
      });
      assert.equal(await scene.paired(device), undefined);
    }
  });

  const proxied = { config: { gateway: { auth: { token: SECRET }, trustedProxies: ["127.0.0.1"] } } };
  const behind = (address: string) => ({ headers: { "x-forwarded-for": address, host: "gateway.example" } });

  it("from one address displace only the oldest of that address; in all 200 wait, one more is refused with a retry time, and none is lost", async (t) => {
    const scene = await openScene(t, proxied);
    const honest = requestOf(await scene.shared(createDevice(), behind("10.0.0.1")));
    for (let count = 0; count < 25; count++) await scene.shared(createDevice(), behind("10.0.0.2"));
    const { pending } = await scene.list();
    assert.equal(pending.length, 21);
    assert.ok(pending.some(({ requestId }) => requestId === honest));

    for (let count = pending.length; count < 200; count++)
      requestOf(await scene.shared(createDevice(), behind(`10.1.${count % 20}.1`)));
    const { code, frame } = await scene.shared(createDevice(), behind("10.2.0.1"));
    const { retryAfterMs } = frame.error as { retryAfterMs?: unknown };
    assert.deepEqual([code, typeof retryAfterMs], ["UNAVAILABLE", "number"]);
    assert.equal((await scene.list()).pending.length, 200);
  });

  it("of excessive length are refused and not stored", async (t) => {
    const scene = await openScene(t);
    const long = "x".repeat(300);
    const absurd: Attempt[] = [
      { client: { displayName: long } },
      { client: { platform: long } },
      { client: { deviceFamily: long } },
      { client: { id: long } },
      { caps: [long] },
      { role: "node", commands: Array.from({ length: 300 }, (_, index) => `c${index}`) },
    ];
    for (const attempt of absurd) {
      const outcome = await scene.shared(createDevice(), { far: true, ...attempt });
      assert.equal(outcome.code, "INVALID_REQUEST", JSON.stringify(attempt).slice(0, 60));
      assert.match(String(outcome.message), /longer than 256|more than 256/);
    }
    assert.deepEqual(await scene.list(), { pending: [], paired: [] });
  });
});
