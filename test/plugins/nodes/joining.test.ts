/** Nodes that connect and disconnect, event by event. Spec: protocol/methods-node.md §6. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Admission, ConnectionInfo, PluginGateway } from "@svc/sdk";
import type { PairedDevice } from "@svc/sdk/devices";
import { createFakeClock } from "@svc/sdk/testing";
import { Invocations } from "../../../plugins/nodes/invocations.ts";
import { followConnections } from "../../../plugins/nodes/joining.ts";
import { NodeRegistry } from "../../../plugins/nodes/registry.ts";

const client = { id: "node-host", version: "1", platform: "macos", mode: "node" };
const record: PairedDevice = {
  deviceId: "n1",
  publicKey: "k",
  platform: "macos",
  commands: ["system.notify"],
  createdAtMs: 1,
  approvedAtMs: 1,
};

const connection = (id: string, role: "node" | "operator" = "node"): ConnectionInfo => ({
  id,
  remoteAddress: "::1",
  local: true,
  client,
  caps: [],
  device: "n1",
  principal: { id: "device:n1", role, scopes: [], provenance: "device", epoch: 1, device: "n1" },
});

type Heard = (input: unknown) => unknown;

/** The taps without a gateway; `say` is a hook that fires. */
function follow({
  connections = [] as ConnectionInfo[],
  offer = async () => ({ commands: ["a"], withheld: [] }),
} = {}) {
  const taps = new Map<string, Heard>();
  const hook = (name: string) => ({ tap: (handler: Heard) => void taps.set(name, handler) });
  const hooks = Object.fromEntries(["deviceToken", "connectionReady", "connectionClosed"].map((n) => [n, hook(n)]));
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const clock = createFakeClock();
  const registry = new NodeRegistry();
  const joined: string[] = [];
  const gone: string[] = [];
  const gateway = { hooks, clock, log: silent } as unknown as PluginGateway; // the parts that are used
  followConnections(gateway, {
    registry,
    devices: { offer, get: async () => record },
    host: { connections: () => connections },
    invocations: new Invocations({ clock, send: () => undefined, newId: () => "i" }),
    denied: () => [],
    connected: (nodeId) => void joined.push(nodeId),
    disconnected: () => undefined,
    gone: (id) => void gone.push(id),
  });
  const say = async (name: string, input: unknown) => (taps.get(name) ?? assert.fail(name))(input);
  const admission = (id: string): Admission => {
    const { principal, ...info } = connection(id);
    const connect = { minProtocol: 3, maxProtocol: 3, client, commands: ["a", "b"] };
    return { ...info, connect, clientId: "node-host", principal: principal ?? assert.fail(), fromPage: false };
  };
  return { registry, say, admission, joined, gone };
}

describe("a connection of a node", () => {
  it("is registered from its hello to its close [W11.18]", async () => {
    const { registry, say, admission, gone } = follow();
    assert.equal(await say("deviceToken", admission("c1")), undefined, "the token is somebody else's to give");
    assert.equal(registry.get("n1"), undefined);
    await say("connectionReady", connection("c1"));
    assert.deepEqual([registry.get("n1")?.offered, registry.get("n1")?.declared], [["a"], ["a", "b"]]);
    await say("connectionClosed", { ...connection("c1"), code: 1000 });
    assert.deepEqual([registry.get("n1"), gone], [undefined, ["c1"]]);
  });

  it("leaves nothing behind when it closes during the lookup", async () => {
    let found: (() => void) | undefined;
    const offer = () =>
      new Promise<{ commands: string[]; withheld: [] }>((resolve) => {
        found = () => resolve({ commands: ["a"], withheld: [] });
      });
    const { registry, say, admission } = follow({ offer });
    const asked = say("deviceToken", admission("c1"));
    await say("connectionClosed", { ...connection("c1"), code: 1006 });
    found?.();
    await asked;
    await say("connectionReady", connection("c1"));
    assert.equal(registry.get("n1"), undefined);
  });

  it("that was not tracked offers its approved commands, if it is still connected and a node", async () => {
    const offered = async (one: ConnectionInfo, connections = [one]) => {
      const { registry, say } = follow({ connections });
      await say("connectionReady", one);
      return registry.get("n1")?.offered;
    };
    assert.deepEqual(await offered(connection("c1")), ["system.notify"]);
    assert.equal(await offered(connection("c1"), []), undefined, "it has closed");
    assert.equal(await offered(connection("c1", "operator")), undefined);
  });
});
