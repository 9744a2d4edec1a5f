/** Approvals and rotations grant nothing beyond what was requested, what was shown, and what the approver holds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, type GatewayError, SCOPES, Type } from "@svc/sdk";
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
import { closure, powers, probePlugin, until } from "./scene.ts";

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
    await until(() => told.length === 3, "the attempts of the webhook");
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
