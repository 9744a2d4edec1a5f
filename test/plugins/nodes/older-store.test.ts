/** `node.pair.*`: the older store, and devices that wait. Spec: protocol/methods-node.md §5. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { nodePairRequested, nodePairResolved, nodes } from "@svc/sdk/nodes";
import { MAX_PENDING_REQUESTS, OlderStore, PENDING_TTL_MS } from "../../../plugins/nodes/older-store.ts";
import { openEvents } from "../heartbeat/events.ts";
import { until } from "../webhook-scene.ts";
import { STEPS } from "../../../plugins/nodes/schema.ts";
import { nodeScene } from "./scene.ts";

const limited = { timeout: 120_000 };

const FACTS = {
  displayName: "Old",
  platform: "ios",
  version: "1",
  coreVersion: "2",
  uiVersion: "3",
  deviceFamily: "iPad",
  modelIdentifier: "m",
  remoteIp: "10.0.0.1",
  caps: ["c"],
  commands: ["x"],
};

describe("node.pair.*", limited, () => {
  it("goes from a request to an approval without a token, across a restart", async (t) => {
    const first = await nodeScene(t);
    const told: unknown[] = [];
    first.client.on(nodePairRequested, (payload) => told.push(["requested", payload.requestId]));
    first.client.on(nodePairResolved, ({ requestId, nodeId, decision }) => told.push([decision, requestId, nodeId]));
    const asked = await first.client.call(nodes.pairRequest, { nodeId: "n1", ...FACTS, silent: true });
    const { requestId, ts, ...request } = asked.request;
    assert.ok(ts > 0);
    assert.deepEqual([asked.status, asked.created], ["pending", true]);
    assert.deepEqual(request, { nodeId: "n1", ...FACTS, silent: true });
    const again = await first.client.call(nodes.pairRequest, { nodeId: "n1", displayName: "other" });
    assert.deepEqual(again, { status: "pending", request: asked.request, created: false });
    assert.deepEqual((await first.client.call(nodes.pairList, {})).pending, [asked.request]);
    await first.gateway.stop();

    const second = await nodeScene(t, {}, first);
    second.client.on(nodePairResolved, ({ decision, nodeId }) => told.push([decision, nodeId]));
    const { node } = await second.client.call(nodes.pairApprove, { requestId });
    const { createdAtMs, approvedAtMs, ...facts } = node;
    assert.ok(createdAtMs > 0 && approvedAtMs >= createdAtMs);
    assert.deepEqual(facts, { nodeId: "n1", ...FACTS });
    const listed = await second.client.call(nodes.pairList, {});
    assert.deepEqual(listed, { pending: [], paired: [{ ...facts, createdAtMs, approvedAtMs }] });
    assert.deepEqual(await second.client.call(nodes.pairVerify, { nodeId: "n1", token: "x" }), { ok: false });
    await until(() => told.length === 2, "the events");
    assert.deepEqual(told, [
      ["requested", requestId],
      ["approved", "n1"],
    ]);
  });

  it("verifies the exact token of an earlier approval, also after another approval; decides each request once", async (t) => {
    const { client, storage } = await nodeScene(t);
    const pair = async () => {
      const { request } = await client.call(nodes.pairRequest, { nodeId: "n1" });
      return { request, node: (await client.call(nodes.pairApprove, { requestId: request.requestId })).node };
    };
    const first = await pair();
    const digest = createHash("sha256").update("Token-1").digest("hex");
    await storage.transaction([{ sql: "UPDATE nodes_paired SET token_hash = ?", params: [digest] }]);
    const second = await pair();
    assert.deepEqual([first.request.isRepair, second.request.isRepair], [undefined, true]);
    assert.equal(second.node.createdAtMs, first.node.createdAtMs);
    const verify = (nodeId: string, token: string) => client.call(nodes.pairVerify, { nodeId, token });
    const [listed] = (await client.call(nodes.pairList, {})).paired;
    assert.deepEqual(await verify("n1", "Token-1"), { ok: true, node: listed });
    for (const token of ["Token-1x", "token-1", " Token-1", "Token-1 ", "Token-1\u200b", digest])
      assert.deepEqual(await verify("n1", token), { ok: false }, JSON.stringify(token));
    assert.deepEqual(await verify("n2", "Token-1"), { ok: false });

    const resolved: unknown[] = [];
    client.on(nodePairResolved, ({ decision }) => resolved.push(decision));
    const { request } = await client.call(nodes.pairRequest, { nodeId: "n3" });
    const { requestId } = request;
    assert.deepEqual(await client.call(nodes.pairReject, { requestId }), { requestId, nodeId: "n3" });
    for (const method of [nodes.pairReject, nodes.pairApprove]) {
      await assert.rejects(client.call(method, { requestId }), { code: "NOT_FOUND" });
    }
    await until(() => resolved.length === 1, "the event");
    const other = await client.call(nodes.pairRequest, { nodeId: "n3" });
    const race = [1, 2, 3].map(() => client.call(nodes.pairApprove, { requestId: other.request.requestId }));
    const outcomes = await Promise.allSettled(race);
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  });

  it("lists and decides about devices that wait to be nodes, renames nodes, and lists a node of both stores once", async (t) => {
    const { client, devices, node } = await nodeScene(t);
    const one = await node({ record: { displayName: "Paired", commands: ["system.run"] } });
    devices.request("r1", { displayName: "Mac", platform: "macos", caps: ["system"], commands: ["system.run"] });
    devices.request("r2");
    devices.request("r3", { role: "operator", roles: ["operator"] });
    const { pending, paired } = await client.call(nodes.pairList, {});
    assert.deepEqual(pending.map(({ requestId }) => requestId).toSorted(), ["r1", "r2"]);
    assert.deepEqual([paired.length, paired[0]?.nodeId, paired[0]?.commands], [1, one.id, ["system.run"]]);
    const approved = await client.call(nodes.pairApprove, { requestId: "r1" });
    assert.deepEqual([approved.node.displayName, "token" in approved.node], ["Mac", false]);
    assert.equal((await client.call(nodes.pairReject, { requestId: "r2" })).requestId, "r2");
    await assert.rejects(client.call(nodes.pairApprove, { requestId: "r3" }), { code: "NOT_FOUND" });
    assert.deepEqual([...devices.waiting.keys()], ["r3"]);
    assert.equal((await client.call(nodes.list, {})).nodes.length, 2);

    const device = createDevice();
    devices.pair(device);
    for (const nodeId of [device.id, "n2"]) {
      const { request } = await client.call(nodes.pairRequest, { nodeId });
      await client.call(nodes.pairApprove, { requestId: request.requestId });
      await client.call(nodes.rename, { nodeId, displayName: `name of ${nodeId.slice(0, 2)}` });
    }
    const { paired: all } = await client.call(nodes.pairList, {});
    const names = all
      .filter(({ nodeId }) => [device.id, "n2"].includes(nodeId))
      .map((one) => [one.nodeId, one.displayName]);
    assert.deepEqual(names, [
      [device.id, `name of ${device.id.slice(0, 2)}`],
      ["n2", "name of n2"],
    ]);
  });
});

describe("the older node store", limited, () => {
  async function open(t: TestContext) {
    const { storage } = await openEvents(t);
    const at = { now: 1_000 };
    let n = 0;
    const store = new OlderStore({ storage, now: () => at.now, newId: () => `i${n++}` });
    await storage.migrate("nodes", STEPS);
    return { store, at };
  }

  it("forgets a request after five minutes, and limits pending requests", async (t) => {
    const { store, at } = await open(t);
    const { request } = await store.request("n1", {});
    at.now += PENDING_TTL_MS - 1;
    assert.equal((await store.pending()).length, 1);
    assert.equal((await store.request("n1", {})).created, false);
    at.now += 1;
    assert.deepEqual(await store.pending(), []);
    assert.equal(await store.approve(request.requestId), undefined);
    assert.equal(await store.reject(request.requestId), undefined);
    assert.equal((await store.request("n1", {})).created, true);

    await Promise.all(Array.from({ length: MAX_PENDING_REQUESTS - 1 }, (_, n) => store.request(`m${n}`, {})));
    await assert.rejects(store.request("more", {}), { code: "UNAVAILABLE", message: /svc nodes approve/ });
    assert.equal((await store.request("m0", {})).created, false);
    assert.equal((await store.pending()).length, MAX_PENDING_REQUESTS);
  });
});
