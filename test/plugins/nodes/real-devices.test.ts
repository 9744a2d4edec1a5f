/** Nodes beside the plugin that pairs devices: from the first connection to the removal. Spec: seed-vs-build.md row 8. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { createDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { testGateway } from "@svc/sdk/testing";
import { until } from "../webhook-scene.ts";

const limited = { timeout: 120_000 };

const refusalOf = (work: Promise<unknown>): Promise<GatewayError> =>
  work.then(
    () => assert.fail("it is not refused"),
    (error: GatewayError) => error,
  );

async function open(t: TestContext, stateDir?: string) {
  const scene = await testGateway(t, {
    plugins: ["storage-sqlite", "devices", "nodes"],
    config: { devices: { localApproval: "ask" } },
    ...(stateDir !== undefined && { stateDir }),
  });
  const node = (device = createDevice(), commands = ["system.notify", "system.run"], platform = "linux") =>
    scene.connect({
      role: "node",
      scopes: [],
      device,
      commands,
      client: { id: "node-host", mode: "node", platform, displayName: "Box" },
    });
  /** Connects and is turned away. @returns the id of its request */
  async function requested(device = createDevice(), commands?: string[]) {
    const { code, details } = await refusalOf(node(device, commands));
    assert.equal(code, "NOT_PAIRED");
    return (details as { requestId: string }).requestId;
  }
  /** Is let in by its request. */
  async function paired(device = createDevice(), commands?: string[]) {
    const requestId = await requested(device, commands);
    const { pending } = await scene.client.call(nodes.pairList, {});
    assert.deepEqual([pending.length, pending[0]?.nodeId, pending[0]?.requestId], [1, device.id, requestId]);
    const approved = await scene.client.call(nodes.pairApprove, { requestId });
    assert.equal(approved.node.nodeId, device.id);
    return node(device, commands);
  }
  const view = async (id: string) =>
    (await scene.client.call(nodes.list, {})).nodes.find(({ nodeId }) => nodeId === id);
  return { ...scene, node, requested, paired, view };
}

describe("a node and its device", limited, () => {
  it("is refused by node.pair.reject or admitted by node.pair.approve, offers exactly its approved commands, and is unknown once its device is removed", async (t) => {
    const { client, node, requested, paired, view } = await open(t);
    await client.call(nodes.pairReject, { requestId: await requested() });
    const device = createDevice();
    const first = await paired(device, ["system.notify"]);
    assert.deepEqual((await view(device.id))?.commands, ["system.notify"]);
    await first.close();
    const second = await node(device);
    second.on(nodeInvokeRequest, ({ id, command }) => {
      if (command === "system.run") void second.call(nodes.invokeResult, { id, nodeId: device.id, ok: true });
    });
    const { commands, pendingCommands } = (await view(device.id)) ?? assert.fail();
    assert.deepEqual([commands, pendingCommands], [["system.notify"], ["system.run"]]);
    const run = () =>
      client.call(nodes.invoke, { nodeId: device.id, command: "system.run", params: { command: ["ls"] } });
    const { details } = await refusalOf(run());
    const { reason, requestId = "" } = details as { reason: string; requestId?: string };
    assert.equal(reason, "command waits for approval");
    await client.call(devices.approve, { requestId });
    const { connected, pendingCommands: left, commands: all } = (await view(device.id)) ?? assert.fail();
    assert.deepEqual([connected, left, all], [true, undefined, ["system.notify", "system.run"]]);
    assert.equal((await run()).ok, true);

    const held = new Promise<void>((resolve) => second.on(nodeInvokeRequest, () => resolve()));
    const invoke = () => client.call(nodes.invoke, { nodeId: device.id, command: "system.notify" });
    const answer = assert.rejects(invoke(), { message: "Error: node disconnected (system.notify)" });
    await held;
    await client.call(devices.remove, { deviceId: device.id });
    await answer;
    await until(async () => (await view(device.id)) === undefined, "the node to go");
    await assert.rejects(invoke(), { code: "NOT_FOUND" });
  });

  it("keeps its name over connections and a restart", async (t) => {
    const first = await open(t);
    const device = createDevice();
    await (await first.paired(device)).close();
    await first.client.call(nodes.rename, { nodeId: device.id, displayName: "Kitchen" });
    await (await first.node(device)).close();
    await first.gateway.stop();
    const second = await open(t, first.stateDir);
    assert.equal((await second.view(device.id))?.displayName, "Kitchen");
    await second.node(device);
    assert.equal((await second.view(device.id))?.displayName, "Kitchen");
  });
});
