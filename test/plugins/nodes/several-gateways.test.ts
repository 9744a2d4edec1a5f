/** Nodes of two gateways on one database: a node belongs to the one with its newest connection. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { emptySchema, withoutPostgres } from "../../postgres.ts";
import { until } from "../../until.ts";
import { FakeDevices, type NodeScene, nodeScene } from "./scene.ts";

async function two(t: TestContext): Promise<readonly [NodeScene, NodeScene]> {
  const url = await emptySchema();
  const config = { plugins: { entries: { "storage-postgres": { enabled: true } } }, "storage-postgres": { url } };
  const devices = new FakeDevices();
  return [await nodeScene(t, { config }, { devices }), await nodeScene(t, { config }, { devices })];
}

const invokedAs = (nodeId: string) => ({ ok: true, nodeId, command: "location.get", payload: {}, payloadJSON: "{}" });

describe("a node at another gateway", { skip: withoutPostgres() }, () => {
  it("is listed, carries out commands, and fails them as it would here", async (t) => {
    const [one, other] = await two(t);
    const answers = [
      { ok: true, payloadJSON: '{"lat":1}' },
      { ok: false, error: { code: "NO_FIX", message: "no satellites" } },
      undefined,
    ];
    const { id, asked, client } = await one.node({ answer: () => answers[asked.length - 1] });
    await until(async () => (await other.view(id))?.connected === true, "the other gateway to know");
    assert.deepEqual((await other.view(id))?.commands, (await one.view(id))?.commands);
    const first = await other.invoke(id, "location.get", { exact: true });
    assert.deepEqual((first as { payload: unknown }).payload, { lat: 1 });
    assert.equal(asked[0]?.paramsJSON, '{"exact":true}');
    await assert.rejects(other.invoke(id, "location.get", {}), {
      code: "UNAVAILABLE",
      details: { nodeError: { code: "NO_FIX", message: "no satellites" } },
    });
    await assert.rejects(other.invoke(id, "camera.snap", {}), { code: "INVALID_REQUEST" });
    const failed = assert.rejects(other.invoke(id, "location.get", {}, { timeoutMs: 60_000 }), /node disconnected/);
    await until(() => asked.length === 3, "the command");
    await client.close();
    await failed;
    await until(async () => (await other.view(id))?.connected === false, "the other gateway to know");
  });

  it("loses its connection when it is removed here", async (t) => {
    const [one, other] = await two(t);
    const { id, client } = await one.node();
    const closed = new Promise<number>((resolve) => client.onClose(({ code }) => resolve(code)));
    await until(async () => (await other.view(id))?.connected === true, "the other gateway to know");
    const begun = performance.now();
    other.devices.revoke(id);
    assert.equal(await closed, 1008);
    t.diagnostic(`closed after ${Math.round(performance.now() - begun)} ms`);
  });
});

describe("a node that moves to another gateway", { skip: withoutPostgres() }, () => {
  it("is connected there only, and an invocation in progress fails", async (t) => {
    const [one, other] = await two(t);
    const identity = createDevice();
    await one.node({ identity, answer: () => undefined });
    const isConnected = async (scene: NodeScene) => (await scene.view(identity.id))?.connected;
    await until(async () => (await isConnected(other)) === true, "the other gateway to know");
    const invoked = one.invoke(identity.id, "location.get", {}, { timeoutMs: 60_000 });
    const failed = assert.rejects(invoked, { code: "UNAVAILABLE" });
    await other.node({ identity });
    await failed;
    for (const scene of [one, other])
      assert.deepEqual(await scene.invoke(identity.id, "location.get", {}), invokedAs(identity.id));
  });

  it("is free when it disconnects", async (t) => {
    const [one] = await two(t);
    const { client, id } = await one.node();
    const owner = async () => one.storage.get("SELECT owner FROM svc_owned WHERE resource = ?", [`nodes/${id}`]);
    await until(async () => (await owner()) !== undefined, "its owner");
    await client.close();
    await until(async () => (await owner()) === undefined, "no owner");
  });
});
