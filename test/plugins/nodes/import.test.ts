/** Nodes of another gateway: what they may be asked, and the older store. Spec: design/import.md §5.2, A-06. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it, type TestContext } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { devices } from "@svc/sdk/devices";
import { type DeviceRecord, imports, type NodeRecord } from "@svc/sdk/import";
import { nodes } from "@svc/sdk/nodes";
import {
  type Attempt,
  createDevice,
  type KeptDevice,
  openScene,
  type Outcome,
  requestOf,
  type Scene,
} from "../devices/scene.ts";
import { nodeScene } from "./scene.ts";

const limited = { timeout: 120_000 };
const MARCH = ["browser.proxy", "system.run", "system.which"];

/** A node of another gateway, which has its token only. @param settings section `gateway.nodes` */
async function importedNode(t: TestContext, changes: Partial<DeviceRecord> = {}, settings: object = {}) {
  const scene = await openScene(t, {
    plugins: ["nodes", "import"],
    config: { devices: { localApproval: "ask" }, gateway: { auth: { token: "x".repeat(20) }, nodes: settings } },
  });
  const device = createDevice();
  const token = randomBytes(32).toString("base64url");
  const record: DeviceRecord = {
    id: device.id,
    publicKey: device.publicKey,
    displayName: "Build box",
    platform: "linux",
    clientId: "node-host",
    clientMode: "node",
    roles: ["node"],
    tokens: [{ role: "node", scopes: [], value: token, createdAt: 1 }],
    createdAt: 1,
    approvedAt: 2,
    ...changes,
  };
  const { outcomes } = await scene.client.call(imports.take, { kind: "device", records: [record] });
  assert.deepEqual(outcomes, [{ id: device.id, action: "take" }]);
  const join = (commands: readonly string[], auth = token) => scene.byToken(device, auth, asNode(commands));
  return { scene, device, token, join };
}

function asNode(commands: readonly string[]): Attempt {
  return { role: "node", commands, client: { id: "node-host", mode: "node" } };
}

/** Invokes a command; the connected node answers with `{ ok: true }`. */
async function answered(scene: Scene, { id: nodeId }: KeptDevice, { socket }: Outcome, command: string) {
  const asked = scene.client.call(nodes.invoke, { nodeId, command, params: { command: ["ls"], bins: ["ls"] } });
  const { payload } = await socket.next((frame) => frame.payload?.["command"] === command);
  const params = { id: String(payload?.["id"]), nodeId, ok: true };
  socket.send({ type: "req", id: `result of ${params.id}`, method: "node.invoke.result", params });
  return (await asked).ok;
}

async function refusal(scene: Scene, { id: nodeId }: KeptDevice, command: string) {
  const error: unknown = await scene.client.call(nodes.invoke, { nodeId, command }).catch((thrown: unknown) => thrown);
  return (error as GatewayError).details as { reason?: string; requestId?: string } | undefined; // `call` throws no other
}

const view = async ({ client }: Scene, { id }: KeptDevice) => {
  const found = (await client.call(nodes.list, {})).nodes.find(({ nodeId }) => nodeId === id) ?? assert.fail();
  return [found.commands, found.pendingCommands];
};

describe("a node of another gateway", limited, () => {
  it("connects with its token and offers what it declares, without an approval; later commands wait for one", async (t) => {
    const { scene, device, token, join } = await importedNode(t);
    assert.equal((await scene.paired(device))?.importedCommands, "awaited");
    const first = await join(MARCH);
    const issued = first.auth?.deviceToken ?? assert.fail(JSON.stringify(first.frame));
    assert.ok(await answered(scene, device, first, "system.which"));
    const { commands, importedCommands } = (await scene.paired(device)) ?? assert.fail();
    assert.deepEqual([commands, importedCommands], [MARCH, "pinned"]);
    assert.deepEqual((await scene.list()).pending, []);

    const more = [...MARCH, "system.notify"];
    assert.ok((await join(more, issued)).ok);
    assert.deepEqual(await view(scene, device), [MARCH, ["system.notify"]]);
    assert.equal((await join(more, token)).ok, false, "the old token has ended");
    const { reason, requestId = "" } = (await refusal(scene, device, "system.notify")) ?? {};
    assert.equal(reason, "command waits for approval");
    await scene.client.call(devices.approve, { requestId });
    assert.deepEqual(await view(scene, device), [more.toSorted(), undefined]);
    assert.equal((await scene.paired(device))?.importedCommands, undefined, "the approval counts now");
  });

  it("offers only what it declared at the first of its connects", async (t) => {
    const { scene, device, join } = await importedNode(t);
    await join([]);
    await join(MARCH);
    assert.deepEqual(await view(scene, device), [[], MARCH]);
  });

  it("gets no denied command without an approval", async (t) => {
    const { scene, device, join } = await importedNode(t, {}, { denyCommands: ["system.run"] });
    const node = await join(MARCH);
    assert.deepEqual((await scene.paired(device))?.commands, ["browser.proxy", "system.which"]);
    assert.deepEqual(await view(scene, device), [["browser.proxy", "system.which"], ["system.run"]]);
    assert.equal((await refusal(scene, device, "system.run"))?.reason, "command not allowlisted");
    assert.ok(await answered(scene, device, node, "system.which"));
  });

  it("offers exactly the commands that were approved, if they are known", async (t) => {
    const { scene, device, join } = await importedNode(t, { node: { commands: ["system.which"], caps: ["system"] } });
    const { commands, importedCommands } = (await scene.paired(device)) ?? assert.fail();
    assert.deepEqual([commands, importedCommands], [["system.which"], undefined]);
    const node = await join(MARCH);
    assert.deepEqual(await view(scene, device), [["system.which"], ["browser.proxy", "system.run"]]);
    assert.ok(await answered(scene, device, node, "system.which"));
    assert.equal((await refusal(scene, device, "system.run"))?.reason, "command waits for approval");
  });

  it("that reports another platform is asked about, and gets what its approval shows", async (t) => {
    const { scene, device, token } = await importedNode(t);
    const moved = { ...asNode(["system.which"]), client: { id: "node-host", mode: "node", platform: "darwin" } };
    const requestId = requestOf(await scene.byToken(device, token, moved));
    await scene.client.call(devices.approve, { requestId });
    const { commands, importedCommands } = (await scene.paired(device)) ?? assert.fail();
    assert.deepEqual([commands, importedCommands], [["system.which"], undefined]);
    assert.ok((await scene.byToken(device, token, moved)).ok);
  });
});

describe("a node of the older store of another gateway", limited, () => {
  it("is verified by its token, of which only a digest is stored; taken twice it is taken once", async (t) => {
    const scene = await nodeScene(t, { plugins: ["import"] });
    const token = randomBytes(32).toString("base64url");
    const facts = { displayName: "Old", platform: "ios", version: "1", commands: ["x"], caps: ["c"] };
    const node: NodeRecord = { id: "n1", token, ...facts, createdAt: 5, approvedAt: 6 };
    const take = async (...records: NodeRecord[]) =>
      (await scene.client.call(imports.take, { kind: "node", records })).outcomes;
    assert.deepEqual(await take(node, { ...node, id: "n2", token: "other" }), [
      { id: "n1", action: "take" },
      { id: "n2", action: "take" },
    ]);
    assert.deepEqual(await take({ ...node, token: "changed", displayName: "Changed" }), [
      { id: "n1", action: "skip", reason: "the node is stored here" },
    ]);
    const verify = (given: string) => scene.client.call(nodes.pairVerify, { nodeId: "n1", token: given });
    const paired = { nodeId: "n1", ...facts, createdAtMs: 5, approvedAtMs: 6 };
    assert.deepEqual(await verify(token), { ok: true, node: paired });
    for (const wrong of ["changed", "other", ""]) {
      const verified = await verify(wrong).catch(() => ({ ok: false }));
      assert.deepEqual(verified, { ok: false });
    }
    const { kinds } = await scene.client.call(imports.kinds, {});
    const title = "nodes of the older store";
    assert.deepEqual(
      kinds.filter(({ kind }) => kind === "node"),
      [{ kind: "node", title, plugin: "nodes", count: 2, gives: false }],
    );
    const rows = await scene.storage.all("SELECT * FROM nodes_paired");
    assert.ok(!JSON.stringify(rows).includes(token));
  });
});
