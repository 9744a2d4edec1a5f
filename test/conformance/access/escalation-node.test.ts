/** Nodes that try to exceed their approval: other commands, another platform, another node's answers, an operator's methods. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { nodes } from "@svc/sdk/nodes";
import { createDevice, type KeptDevice, openScene, requestOf, type Scene } from "../../plugins/devices/scene.ts";
import { probePlugin } from "./scene.ts";

const limited = { timeout: 120_000 };

const open = (t: TestContext, localApproval = "ask") =>
  openScene(t, { plugins: ["nodes", "approvals", probePlugin], config: { devices: { localApproval } } });

/** Pairs a node by an approval. @returns its token */
async function approved(scene: Scene, device: KeptDevice, platform: string, commands: readonly string[]) {
  const attempt = { role: "node" as const, commands, client: { platform } };
  await scene.client.request("device.pair.approve", { requestId: requestOf(await scene.shared(device, attempt)) });
  return (await scene.pair(device, attempt)).auth.deviceToken;
}

async function commandsOf({ client }: Scene, nodeId: string): Promise<string[]> {
  const { nodes: all } = await client.call(nodes.list, {});
  return all.find((node) => node.nodeId === nodeId)?.commands ?? [];
}

describe("a node", limited, () => {
  const offersWhatWasApproved = async (t: TestContext, localApproval: "ask" | "silent") => {
    const scene = await open(t, localApproval);
    const device = createDevice();
    const token =
      localApproval === "ask"
        ? await approved(scene, device, "linux", ["system.notify"])
        : (await scene.pair(device, { role: "node", commands: ["system.notify"] })).auth.deviceToken;
    const wish = { role: "node" as const, commands: ["system.notify", "system.run", "system.execApprovals.set"] };
    const call = { nodeId: device.id, params: { command: ["ls"] }, idempotencyKey: "1" };
    for (const far of [false, true]) {
      for (const come of [
        () => scene.byToken(device, token, { ...wish, far }),
        () => scene.shared(device, { ...wish, far }),
      ]) {
        assert.ok((await come()).ok);
        assert.deepEqual(await commandsOf(scene, device.id), ["system.notify"]);
        for (const command of ["system.run", "system.execApprovals.set", "system.Notify", " system.run"])
          await assert.rejects(scene.client.call(nodes.invoke, { ...call, command }), { code: "INVALID_REQUEST" });
      }
    }
  };
  for (const localApproval of ["ask", "silent"] as const)
    it(`offers the approved commands (${localApproval}), regardless of later declarations, by token or secret, local or remote`, (t) =>
      offersWhatWasApproved(t, localApproval));

  it("has the commands of its approved platform, not of the one it claims now", async (t) => {
    const scene = await open(t);
    const everything = ["system.run", "camera.list", "contacts.search", "notifications.list", "system.notify"];
    const blank = createDevice();
    const token = await approved(scene, blank, " ", everything);
    const claims = ["ios", "android", "darwin", "linux", "win32", "iOS 18.1", "unknown"];
    const first = await commandsOf(scene, blank.id);
    assert.deepEqual(first, ["camera.list", "system.notify"], "of no platform that is known");
    for (const platform of claims) {
      const { ok } = await scene.byToken(blank, token, { role: "node", commands: everything, client: { platform } });
      if (ok) assert.deepEqual(await commandsOf(scene, blank.id), first, `it says it is ${platform}`);
    }
    const linux = createDevice();
    const other = await approved(scene, linux, "linux", everything);
    for (const platform of claims.filter((claim) => claim !== "linux")) {
      const { ok } = await scene.byToken(linux, other, { role: "node", commands: everything, client: { platform } });
      assert.equal(ok, false, platform);
    }
    const family = { platform: "linux", deviceFamily: "iPhone" };
    await scene.byToken(linux, other, { role: "node", commands: everything, client: family });
    assert.deepEqual(await commandsOf(scene, linux.id), ["system.notify", "system.run"]);
  });

  it("that is also an operator needs a separate approval for each role", async (t) => {
    const scene = await open(t);
    const device = createDevice();
    await approved(scene, device, "linux", []);
    const asked = await scene.shared(device, { scopes: ["operator.admin"] });
    assert.equal(asked.details["reason"], "role-upgrade");
    const pairing = await scene.connect({ scopes: ["operator.pairing"] });
    const requestId = requestOf(asked);
    await assert.rejects(pairing.request("device.pair.approve", { requestId }), /missing scope: operator\.admin/);
    await assert.rejects(pairing.request("node.pair.approve", { requestId }));
    assert.equal((await scene.shared(device, { scopes: [] })).ok, false, "not even for nothing");
  });
});
