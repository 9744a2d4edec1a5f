/** Who is listed, as what; names; configuration. Spec: protocol/methods-node.md §1, §4, §5. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDevice } from "@svc/sdk/device";
import { nodes, Nodes } from "@svc/sdk/nodes";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../webhook-scene.ts";
import { nodeScene } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("node.list and node.describe", limited, () => {
  it("show the facts and commands of a node [W4.8]", async (t) => {
    const { node, view, client } = await nodeScene(t, { nodes: { allowCommands: ["camera.snap"] } });
    const { id } = await node({
      caps: ["system", "browser", "system"],
      commands: ["system.run", "camera.snap", "camera.clip", "system.run", "system.notify", "location.get"],
      permissions: { screen: true, camera: false },
      pathEnv: "/bin:/usr/bin",
      record: { displayName: "Mac", commands: ["system.run", "camera.snap", "camera.clip", "location.get"] },
      client: { displayName: "claimed", version: "9", deviceFamily: "Mac", modelIdentifier: "Mac15,1" },
    });
    const { connectedAtMs, remoteIp, caps, ...seen } = (await view(id)) ?? assert.fail();
    assert.ok(connectedAtMs && connectedAtMs > 0 && remoteIp);
    assert.deepEqual(caps.toSorted(), ["browser", "resume", "system"]);
    assert.deepEqual(seen, {
      nodeId: id,
      displayName: "Mac",
      platform: "macos",
      version: "9",
      deviceFamily: "Mac",
      modelIdentifier: "Mac15,1",
      commands: ["camera.snap", "location.get", "system.run"],
      pendingCommands: ["system.notify"],
      pathEnv: "/bin:/usr/bin",
      permissions: { camera: false, screen: true },
      paired: true,
      connected: true,
    });
    const { ts, ...described } = await client.call(nodes.describe, { nodeId: id });
    assert.ok(ts > 0);
    assert.deepEqual(described, await view(id));
    await assert.rejects(client.call(nodes.describe, { nodeId: "nobody" }), { code: "NOT_FOUND" });
  });

  it("are ordered: connected first, then by name, then by id; with one read of the devices, and without operators", async (t) => {
    const { node, client, connect, devices } = await nodeScene(t);
    for (const name of ["beta", "Alpha", undefined]) {
      devices.pair(createDevice(), name === undefined ? {} : { displayName: name });
    }
    await node({ record: { displayName: "zed" } });
    await node({ record: { displayName: "Yak" } });
    const before = devices.reads;
    const { nodes: listed } = await client.call(nodes.list, {});
    assert.equal(devices.reads, before + 1);
    const seen = listed.map(({ connected, displayName }) => `${displayName} ${connected ? "connected" : "offline"}`);
    const named = seen.filter((one) => !one.startsWith("undefined"));
    assert.deepEqual(named, ["Yak connected", "zed connected", "Alpha offline", "beta offline"]);
    assert.equal(seen.length, 5);
    assert.deepEqual(listed.at(-1)?.commands, []);

    const device = createDevice();
    devices.pair(device, { role: "operator", roles: ["operator"] });
    const operator = await connect({ device });
    assert.equal((await client.call(nodes.list, {})).nodes.length, 5, "an operator with a device is no node");
    await assert.rejects(operator.call(nodes.event, { event: "x" }), { code: "INVALID_REQUEST" });
  });

  it("escape hostile declarations, and withhold declared commands while the lookup fails [W5.13]", async (t) => {
    const { node, view, invoke, devices } = await nodeScene(t);
    const identity = createDevice();
    devices.pair(identity, { displayName: "a\u001b[2Jb\u202ec" });
    const commands = Array.from({ length: 900 }, (_, n) => `c${String(n).padStart(4, "0")}`);
    const { id } = await node({
      identity,
      commands: [...commands, "x".repeat(300), "with\u0007bell"],
      permissions: { ["p".repeat(300)]: true, ok: true },
      pathEnv: "p".repeat(20_000),
      client: { version: "v".repeat(1_000), displayName: "n" },
    });
    const seen = (await view(id)) ?? assert.fail();
    assert.equal(seen.displayName, "a [2Jb c");
    assert.deepEqual([seen.version?.length, seen.pathEnv?.length, seen.permissions], [200, 8_192, { ok: true }]);
    assert.deepEqual(seen.commands, []);

    const few = ["system.notify", "system.run"];
    devices.broken = new Error("disk");
    const { id: other } = await node({ commands: few, record: { commands: ["system.run"], platform: "linux" } });
    await assert.rejects(invoke(other, "system.run", { command: ["ls"] }), { code: "INTERNAL" });
    devices.broken = undefined;
    assert.equal((await invoke(other, "system.run", { command: ["ls"] })).ok, true);
    const { commands: usable, pendingCommands } = (await view(other)) ?? assert.fail();
    assert.deepEqual([usable, pendingCommands], [["system.run"], ["system.notify"]]);
  });
});

describe("node.rename", limited, () => {
  it("shows at once, connected or not; invalid names, and ids that are no nodes, are refused", async (t) => {
    const { node, view, client, devices } = await nodeScene(t);
    const { id, client: own } = await node({ client: { displayName: "claimed" } });
    const renamed = await client.call(nodes.rename, { nodeId: id, displayName: "  Kitchen " });
    assert.deepEqual(renamed, { nodeId: id, displayName: "Kitchen" });
    assert.equal((await view(id))?.displayName, "Kitchen");
    await own.close();
    await until(async () => (await view(id))?.connected === false, "the node to go");
    assert.equal((await view(id))?.displayName, "Kitchen");

    for (const displayName of [" ", "a\u001bb", "x".repeat(201)]) {
      await assert.rejects(client.call(nodes.rename, { nodeId: id, displayName }), { code: "INVALID_REQUEST" });
    }
    await assert.rejects(client.call(nodes.rename, { nodeId: "nobody", displayName: "x" }), { code: "NOT_FOUND" });
    const phone = createDevice();
    devices.pair(phone, { role: "operator", roles: ["operator"], displayName: "phone" });
    await assert.rejects(client.call(nodes.rename, { nodeId: phone.id, displayName: "x" }), { code: "NOT_FOUND" });
    assert.equal(devices.paired.get(phone.id)?.displayName, "phone");
  });
});

describe("the section gateway.nodes", limited, () => {
  it("refuses a blank command, and a browser mode that does not exist", async (t) => {
    await assert.rejects(nodeScene(t, { nodes: { allowCommands: [""] } }), /allowCommands/);
    await assert.rejects(nodeScene(t, { nodes: { browser: { mode: "on" } } }), /gateway\.nodes\.browser/);
  });

  const routings: [section: object, routing: object][] = [
    [{}, { mode: "auto" }],
    [{ browser: { node: "n1" } }, { mode: "auto", node: "n1" }],
    [{ browser: { mode: "manual", node: "n1" } }, { mode: "manual", node: "n1" }],
    [{ browser: { mode: "off" } }, { mode: "off" }],
  ];
  for (const [section, routing] of routings)
    it(`tells the plugin browser: ${JSON.stringify(routing)}`, async (t) => {
      let found: unknown;
      const reader = pluginOf("browser-reader", { requires: { nodes: Nodes } }, (gateway) =>
        gateway.start(async () => void (found = await gateway.services.nodes.browserRouting())),
      );
      await nodeScene(t, { nodes: section, plugins: [reader] });
      assert.deepEqual(found, routing);
    });
});
