/** Approvals and rotations grant nothing beyond what was requested, what was shown, and what the approver holds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, type GatewayError, type Principal, SCOPES, Type } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { WebhookAction } from "@svc/sdk/webhooks";
import {
  ADMIN,
  createDevice,
  openScene,
  PAIRING,
  READ,
  requestOf,
  type Scene,
  WRITE,
} from "../../plugins/devices/scene.ts";
import { closure, powers, probePlugin, soon } from "./scene.ts";

const limited = { timeout: 120_000 };
const ASK = { devices: { localApproval: "ask" } };
const SETS: readonly (readonly string[])[] = [[], ...SCOPES.map((scope) => [scope]), [READ, PAIRING], [WRITE, PAIRING]];

const open = (t: Parameters<typeof openScene>[0], plugins: Parameters<typeof openScene>[1] = {}): Promise<Scene> =>
  openScene(t, { config: ASK, ...plugins, plugins: [probePlugin, ...(plugins.plugins ?? [])] });

const fits = (held: readonly string[], wanted: readonly string[]) =>
  [...closure(wanted)].every((scope) => closure(held).has(scope));

describe("an approval", limited, () => {
  it("grants what both the request shows and the approver holds, for every pair of sets", async (t) => {
    const scene = await open(t);
    for (const held of SETS) {
      const approver = await scene.connect({ scopes: held });
      for (const wanted of SETS) {
        const device = createDevice();
        const requestId = requestOf(await scene.shared(device, { scopes: wanted }));
        const verdict = await approver.call(devices.approve, { requestId }).then(
          () => true,
          ({ message }: GatewayError) => (assert.match(message, /^missing scope: /), false),
        );
        const what = `[${held.join()}] approves [${wanted.join()}]`;
        assert.equal(verdict, closure(held).has(PAIRING) && fits(held, wanted), what);
        const { socket, ok } = await scene.shared(device, { scopes: wanted });
        assert.equal(ok, verdict, what);
        if (ok) assert.deepEqual(new Set(await powers(socket)), closure(wanted), what);
        if (!verdict) await scene.client.call(devices.reject, { requestId });
      }
    }
  });

  it("is for the listed request: a request that grew since has another id, and the old one is invalid", async (t) => {
    const scene = await open(t);
    const changes = [
      { scopes: [ADMIN] },
      { scopes: [READ], client: { platform: "ios" } },
      { scopes: [READ], client: { displayName: "not what you saw" } },
      { scopes: [], role: "node" as const, commands: ["system.run"] },
    ];
    for (const change of changes) {
      const device = createDevice();
      const requestId = requestOf(await scene.shared(device, { scopes: [READ] }));
      const seen = (await scene.list()).pending.find((one) => one.requestId === requestId);
      const later = requestOf(await scene.shared(device, change));
      assert.notEqual(later, requestId, JSON.stringify(change));
      await assert.rejects(scene.client.call(devices.approve, { requestId }), { code: "NOT_FOUND" });
      assert.deepEqual(seen?.scopes, [READ]);
      assert.equal(await scene.paired(device), undefined);
    }
  });

  it("that races with a growing request grants either version, never a mixture", async (t) => {
    const scene = await open(t);
    for (let turn = 0; turn < 15; turn++) {
      const device = createDevice();
      const requestId = requestOf(await scene.shared(device, { scopes: [READ] }));
      const [approved] = await Promise.all([
        scene.client.call(devices.approve, { requestId }).then(
          ({ device: { scopes } }) => scopes,
          () => undefined,
        ),
        scene.shared(device, { scopes: [ADMIN] }),
        scene.shared(device, { scopes: [WRITE] }),
      ]);
      if (approved) assert.deepEqual(approved, [READ], "what was shown under this id");
      const { socket, ok } = await scene.shared(device, { scopes: [READ] });
      assert.equal(ok, approved !== undefined);
      if (ok) assert.deepEqual(await powers(socket), [READ]);
      assert.equal((await scene.shared(device, { scopes: [ADMIN] })).ok, false);
    }
  });

  it("by a plugin, or for an invented principal, grants nothing", async (t) => {
    const forged: Principal = { id: "token", role: "operator", scopes: [...SCOPES], provenance: "token", epoch: 99 };
    const told: string[] = [];
    let approve: (requestId: string) => Promise<void> = assert.fail;
    const thief = definePlugin({
      id: "thief",
      api: "^1.0.0",
      setup(gateway) {
        approve = async (requestId) => {
          for (const options of [{}, { principal: forged }])
            await gateway.call(devices.approve, { requestId }, options).then(
              () => told.push("approved"),
              ({ message }: GatewayError) => told.push(message),
            );
        };
      },
    });
    const scene = await open(t, { plugins: [thief] });
    const device = createDevice();
    await approve(requestOf(await scene.shared(device, { scopes: [ADMIN] })));
    assert.deepEqual(told, ["missing scope: operator.pairing", "missing scope: operator.pairing"]);
    assert.equal(await scene.paired(device), undefined);
  });

  it("by a run of a webhook grants nothing, and rotates nothing", async (t) => {
    const told: string[] = [];
    const wishes: (() => { requestId: string; deviceId: string })[] = [];
    const grab = definePlugin({
      id: "grab",
      api: "^1.0.0",
      setup(gateway) {
        gateway.extend(WebhookAction, "grab", {
          summary: "-",
          fields: Type.Object({}),
          prepare: () => ({ params: {} }),
          async run({ principal }) {
            const { requestId, deviceId } = wishes[0]?.() ?? assert.fail();
            const tell = (outcome: Promise<unknown>) =>
              outcome.then(
                () => told.push("done"),
                ({ message }: GatewayError) => told.push(message),
              );
            await tell(gateway.call(devices.approve, { requestId }, { principal }));
            await tell(gateway.call(devices.rotate, { deviceId, role: "operator" }, { principal }));
            await tell(gateway.call(devices.list, {}, { principal }));
            return { summary: "tried" };
          },
        });
      },
    });
    const token = "token-of-the-hooks";
    const hooks = { enabled: true, token, mappings: [{ id: "grab", match: { path: "grab" }, action: "grab" }] };
    const scene = await openScene(t, { config: { ...ASK, hooks }, plugins: [probePlugin, "webhooks", grab] });
    const device = createDevice();
    const requestId = requestOf(await scene.shared(device, { scopes: [ADMIN] }));
    wishes.push(() => ({ requestId, deviceId: device.id }));
    const { status } = await fetch(`${scene.url.replace("ws", "http")}/hooks/grab`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}",
    });
    assert.ok(status < 300, String(status));
    await soon(() => told.length === 3, "the webhook set nothing off");
    assert.deepEqual(new Set(told), new Set(["missing scope: operator.pairing"]));
    assert.equal(await scene.paired(device), undefined);
  });

  it("of the older store of nodes admits no device", async (t) => {
    const scene = await open(t, { plugins: ["nodes"] });
    const approver = await scene.connect({ scopes: [PAIRING] });
    const device = createDevice();
    const requestId = requestOf(await scene.shared(device, { scopes: [ADMIN] }));
    await assert.rejects(approver.request("node.pair.approve", { requestId }));
    const older = (await approver.request("node.pair.request", { nodeId: device.id })) as {
      request: { requestId: string };
    };
    await approver.request("node.pair.approve", { requestId: older.request.requestId });
    assert.equal((await scene.shared(device, { scopes: [ADMIN] })).ok, false);
    assert.equal((await scene.shared(device, { scopes: [], role: "node" })).ok, false);
    assert.equal(await scene.paired(device), undefined);
  });
});

describe("a rotation", limited, () => {
  it("grants what both was approved and the caller holds, for every pair of sets", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    for (const approved of [[READ], [WRITE, PAIRING], [ADMIN]]) {
      const device = createDevice();
      await scene.pair(device, { scopes: approved });
      for (const held of SETS.filter((set) => closure(set).has(PAIRING))) {
        const caller = await scene.connect({ scopes: held });
        for (const scopes of [undefined, ...SETS]) {
          const current = (await scene.paired(device))?.tokens?.[0]?.scopes ?? assert.fail();
          const wanted = scopes ?? current;
          const params = { deviceId: device.id, role: "operator", ...(scopes ? { scopes: [...scopes] } : {}) };
          const rotated = await caller.call(devices.rotate, params).catch(() => undefined);
          const what = `[${held.join()}] rotates to [${wanted.join()}] of [${approved.join()}]`;
          assert.equal(rotated !== undefined, fits(held, wanted) && fits(approved, wanted), what);
          if (!rotated) continue;
          const { socket } = await scene.byToken(device, rotated.token, { scopes: wanted });
          assert.deepEqual(new Set(await powers(socket)), closure(wanted), what);
          socket.ws.terminate();
          const wider = SCOPES.filter((scope) => !closure(wanted).has(scope));
          for (const scope of wider)
            assert.equal((await scene.byToken(device, rotated.token, { scopes: [scope] })).ok, false, what);
        }
      }
    }
  });

  it("issues no usable token for a role that was not approved", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const [operator, node] = [createDevice(), createDevice()];
    await scene.pair(operator, { scopes: [ADMIN] });
    await scene.pair(node, { role: "node" });
    const roles = [
      [operator, "node"],
      [node, "operator"],
    ] as const;
    for (const [device, role] of roles) {
      const made = await scene.client.call(devices.rotate, { deviceId: device.id, role }).catch(() => undefined);
      if (made) assert.equal((await scene.byToken(device, made.token, { role, scopes: [] })).ok, false, role);
    }
    for (const role of ["admin", "Operator", "__proto__", "operator\u0000", "*"])
      await assert.rejects(scene.client.call(devices.rotate, { deviceId: node.id, role }), { code: "INVALID_REQUEST" });
  });

  it("by a caller that may only pair does not affect the token of an admin", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const admin = createDevice();
    const { deviceToken } = (await scene.pair(admin, { scopes: [ADMIN] })).auth;
    const caller = await scene.connect({ scopes: [PAIRING] });
    for (const scopes of [undefined, [ADMIN], [PAIRING, ADMIN], ["admin"], ["operator.admin "], ["operator.*"]])
      await assert.rejects(
        caller.call(devices.rotate, { deviceId: admin.id, role: "operator", ...(scopes ? { scopes } : {}) }),
        { code: "INVALID_REQUEST" },
      );
    assert.ok((await scene.byToken(admin, deviceToken, { scopes: [ADMIN] })).ok, "it is what it was");
  });
});
