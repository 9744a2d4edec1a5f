/** The `Devices` service, as the plugin for nodes uses it. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { devices, Devices, type OfferedCommands } from "@svc/sdk/devices";
import { type Attempt, createDevice, type KeptDevice, openScene, READ, requestOf, settled } from "./scene.ts";

const limited = { timeout: 120_000 };

/** A gateway with a plugin that requests the commands each node may offer. */
async function openWithNodes(t: TestContext, config: Readonly<Record<string, unknown>> = {}) {
  const offers: OfferedCommands[] = [];
  let service: Devices | undefined;
  const probe = definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires: { devices: Devices },
    setup(gateway) {
      gateway.hooks.deviceToken.tap(
        async (admission) => {
          offers.push(await gateway.services.devices.offer(admission));
          return undefined;
        },
        { phase: "first" },
      );
      gateway.start(() => {
        service = gateway.services.devices;
      });
    },
  });
  const scene = await openScene(t, { plugins: [probe], config });
  const node = (device: KeptDevice, commands: readonly string[], attempt: Attempt = {}) =>
    scene.shared(device, { role: "node", commands, far: true, ...attempt });
  const approve = (requestId: string) => scene.client.call(devices.approve, { requestId });
  return { scene, offers, node, approve, service: service ?? assert.fail("the probe has not started") };
}

describe("the commands that a node may offer", limited, () => {
  it("are those that its first approval showed, however often it requests more", async (t) => {
    const { scene, offers, node, approve } = await openWithNodes(t);
    const device = createDevice();
    const { device: approved } = await approve(requestOf(await node(device, ["b", "a"], { caps: ["camera"] })));
    assert.deepEqual(approved.commands, ["a", "b"]);
    assert.ok((await node(device, ["a", "b"])).ok);
    assert.ok((await node(device, ["a"])).ok);
    const more = await node(device, ["a", "c"]);
    assert.ok(more.ok, "it stays connected");
    assert.ok((await node(device, ["a", "c"])).ok);
    assert.deepEqual(offers, [
      { commands: ["a", "b"], withheld: [] },
      { commands: ["a"], withheld: [] },
      { commands: ["a"], withheld: ["c"] },
      { commands: ["a"], withheld: ["c"] },
    ]);
    const { pending } = await scene.list();
    const [{ reason, role, commands, isRepair } = assert.fail(), ...others] = pending;
    assert.deepEqual([reason, role, commands, isRepair], ["command-upgrade", "node", ["a", "c"], true]);
    assert.deepEqual(others, []);
    await settled(scene);
    assert.equal(scene.events.filter(({ payload }) => payload["reason"] === "command-upgrade").length, 1);

    await scene.pair(createDevice(), { scopes: [READ], commands: ["a"] });
    assert.deepEqual(offers.at(-1), { commands: [], withheld: [] }, "an operator offers none");
  });

  it("are pinned at once for a new node of this machine, later commands wait; the service lists, gets and renames, and a given name stays", async (t) => {
    const { scene, offers, node, approve, service } = await openWithNodes(t);
    const device = createDevice();
    const { auth } = await node(device, ["a"], { far: false });
    assert.deepEqual(offers.at(-1), { commands: ["a"], withheld: [] });
    const more = { role: "node", commands: ["a", "b"] } as const;
    for (const come of [() => scene.byToken(device, auth?.deviceToken ?? "", more), () => scene.shared(device, more)]) {
      assert.ok((await come()).ok, "it stays connected");
      assert.deepEqual(offers.at(-1), { commands: ["a"], withheld: ["b"] });
      assert.deepEqual((await scene.paired(device))?.commands, ["a"]);
    }
    const { pending } = await scene.list();
    assert.deepEqual([pending.length, pending[0]?.reason], [1, "command-upgrade"]);
    await approve(String(pending[0]?.requestId));
    await node(device, ["a", "b"], { far: false });
    assert.deepEqual(offers.at(-1), { commands: ["a", "b"], withheld: [] });

    const other = createDevice();
    await scene.pair(other, { client: { displayName: "Own" } });
    assert.equal(await service.rename(other.id, " Given "), true);
    await scene.pair(other, { client: { displayName: "Other" } });
    assert.equal((await service.get(other.id))?.displayName, "Given");
    assert.deepEqual(await service.list(), (await scene.list()).paired);
    assert.equal(await service.rename("nobody", "x"), false);
    assert.equal(await service.get("nobody"), undefined);
    for (const name of ["", "  ", "x".repeat(257)])
      await assert.rejects(service.rename(other.id, name), { code: "INVALID_REQUEST" });
  });
});
