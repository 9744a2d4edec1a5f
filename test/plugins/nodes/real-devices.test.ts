/** Nodes beside the plugin that pairs devices: from the first connection to the removal. Spec: seed-vs-build.md row 8. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { nodes } from "@svc/sdk/nodes";
import { type Attempt, createDevice, type Outcome, openScene, requestOf, type Scene } from "../devices/scene.ts";
import { until } from "../webhook-scene.ts";

const asking = { plugins: ["nodes"], config: { devices: { localApproval: "ask" } } };
const asNode = (...commands: string[]): Attempt => ({ role: "node", commands, client: { displayName: "Box" } });
const view = async ({ client }: Scene, id: string) =>
  (await client.call(nodes.list, {})).nodes.find(({ nodeId }) => nodeId === id);

/** The next invocation of a command that the node receives. */
async function invocation({ socket }: Outcome, command: string): Promise<string> {
  const { payload } = await socket.next((frame) => frame.payload?.["command"] === command);
  return String(payload?.["id"]);
}

describe("a node and its device", { timeout: 120_000 }, () => {
  it("is refused by node.pair.reject or admitted by node.pair.approve, offers exactly its approved commands, and is unknown once its device is removed", async (t) => {
    const scene = await openScene(t, asking);
    const { client } = scene;
    const device = createDevice();
    await client.call(nodes.pairReject, { requestId: requestOf(await scene.shared(device, asNode("system.notify"))) });
    const requestId = requestOf(await scene.shared(device, asNode("system.notify")));
    const { pending } = await client.call(nodes.pairList, {});
    assert.deepEqual([pending.length, pending[0]?.nodeId, pending[0]?.requestId], [1, device.id, requestId]);
    assert.equal((await client.call(nodes.pairApprove, { requestId })).node.nodeId, device.id);
    const node = await scene.shared(device, asNode("system.notify", "system.run"));
    const { commands, pendingCommands } = (await view(scene, device.id)) ?? assert.fail();
    assert.deepEqual([commands, pendingCommands], [["system.notify"], ["system.run"]]);
    const invoke = (command: string) =>
      client.call(nodes.invoke, { nodeId: device.id, command, params: { command: ["ls"] } });
    const { details } = (await invoke("system.run").catch((error: unknown) => error)) as GatewayError;
    const { reason, requestId: more = "" } = details as { reason: string; requestId?: string };
    assert.equal(reason, "command waits for approval");
    await client.call(devices.approve, { requestId: more });
    const { connected, pendingCommands: left, commands: all } = (await view(scene, device.id)) ?? assert.fail();
    assert.deepEqual([connected, left, all], [true, undefined, ["system.notify", "system.run"]]);
    const ran = invoke("system.run");
    const params = { id: await invocation(node, "system.run"), nodeId: device.id, ok: true };
    node.socket.send({ type: "req", id: "result", method: "node.invoke.result", params });
    assert.equal((await ran).ok, true);

    const lost = assert.rejects(invoke("system.notify"), { message: "Error: node disconnected (system.notify)" });
    await invocation(node, "system.notify");
    await client.call(devices.remove, { deviceId: device.id });
    await lost;
    await until(async () => (await view(scene, device.id)) === undefined, "the node to go");
    await assert.rejects(invoke("system.notify"), { code: "NOT_FOUND" });
  });

  it("keeps its name over connections and a restart", async (t) => {
    const first = await openScene(t, asking);
    const device = createDevice();
    const requestId = requestOf(await first.shared(device, asNode()));
    await first.client.call(nodes.pairApprove, { requestId });
    await first.client.call(nodes.rename, { nodeId: device.id, displayName: "Kitchen" });
    await first.shared(device, asNode());
    await first.gateway.stop();
    const second = await openScene(t, { ...asking, stateDir: first.stateDir });
    assert.equal((await view(second, device.id))?.displayName, "Kitchen");
    await second.shared(device, asNode());
    assert.equal((await view(second, device.id))?.displayName, "Kitchen");
  });
});
