/** A gateway with devices that a test pairs in memory, and fake nodes that answer invocations. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { definePlugin, type Live, live, notFound, type ParamsOf, type PayloadOf, type Plugin } from "@svc/sdk";
import type { ClientOptions, GatewayClient } from "@svc/sdk/client";
import { createDevice, type KeptDevice } from "@svc/sdk/device";
import { Devices, type PairedDevice, type PendingDevice } from "@svc/sdk/devices";
import { Credentials } from "@svc/sdk/gateway";
import { nodeInvokeRequest, nodes, Nodes } from "@svc/sdk/nodes";
import { PluginControl } from "@svc/sdk/plugins";
import { Storage } from "@svc/sdk/storage";
import { testGateway } from "@svc/sdk/testing";
import nodesPlugin from "../../../plugins/nodes/plugin.ts";
import { directory } from "../../directory.ts";

export type InvokeRequest = PayloadOf<typeof nodeInvokeRequest>;
export type InvokeResult = Omit<ParamsOf<typeof nodes.invokeResult>, "id" | "nodeId">;

/** Devices in memory: a device without approved commands offers all commands that it declares. */
export class FakeDevices {
  readonly paired = new Map<string, PairedDevice>();
  readonly waiting = new Map<string, PendingDevice>();
  /** How often all devices were read. */
  reads = 0;
  /** When set, each lookup of a device fails with it. */
  broken: Error | undefined;
  revoke: (deviceId: string) => void = () => undefined;

  pair(device: KeptDevice, changes: Partial<PairedDevice> = {}): void {
    const { id: deviceId, publicKey } = device;
    const facts = { platform: "macos", role: "node", roles: ["node"], createdAtMs: 1, approvedAtMs: 2 };
    this.paired.set(deviceId, { deviceId, publicKey, ...facts, ...changes });
  }

  /** A request of a device to become a node. */
  request(requestId: string, changes: Partial<PendingDevice> = {}): PendingDevice {
    const { id: deviceId, publicKey } = createDevice();
    const pending = { requestId, deviceId, publicKey, role: "node", roles: ["node"], ts: Date.now(), ...changes };
    this.waiting.set(requestId, pending);
    return pending;
  }

  readonly service: Devices = {
    get: async (deviceId) => {
      if (this.broken) throw this.broken;
      return this.paired.get(deviceId);
    },
    list: async () => (this.reads++, [...this.paired.values()]),
    pending: async () => [...this.waiting.values()],
    approve: async (requestId) => {
      const { deviceId, publicKey, displayName } = this.waiting.get(requestId) ?? notFound("no such request");
      this.waiting.delete(requestId);
      this.pair({ id: deviceId, publicKey, sign: String }, displayName === undefined ? {} : { displayName });
      return { requestId, device: this.paired.get(deviceId) ?? assert.fail() };
    },
    reject: async (requestId) => {
      const { deviceId } = this.waiting.get(requestId) ?? notFound("no such request");
      this.waiting.delete(requestId);
      return { requestId, deviceId };
    },
    rename: async (deviceId, displayName) => {
      const device = this.paired.get(deviceId);
      if (device) this.paired.set(deviceId, { ...device, displayName });
      return device !== undefined;
    },
    offer: async ({ device = "", connect: { commands = [] } }) => {
      if (this.broken) throw this.broken;
      const pinned = this.paired.get(device)?.commands ?? commands;
      const [offered, withheld] = [true, false].map((is) => commands.filter((name) => pinned.includes(name) === is));
      return { commands: offered ?? [], withheld: withheld ?? [] };
    },
  };

  plugin(): Plugin {
    return definePlugin({
      id: "devices",
      api: "^1.0.0",
      requires: { credentials: Credentials },
      provides: [Devices],
      setup: (gateway) => {
        gateway.provide(Devices, this.service);
        this.revoke = (deviceId) => gateway.services.credentials.revokeDevice(deviceId, "device removed");
        gateway.hooks.authenticate.tap(({ deviceId }) =>
          deviceId !== undefined && this.paired.has(deviceId)
            ? { id: `device:${deviceId}`, scopes: ["operator.admin", "operator.read", "operator.write"] }
            : undefined,
        );
      },
    });
  }
}

export interface SceneOptions {
  /** Section `gateway.nodes`. */
  readonly nodes?: object;
  /** Further plugins. */
  readonly plugins?: readonly (Plugin | string)[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly gateway?: Readonly<Record<string, unknown>>;
}

export interface NodeOptions extends Partial<ClientOptions> {
  /** Default: a new device, paired. */
  readonly identity?: KeptDevice;
  /** Of the device record it is paired with, unless it is paired already. */
  readonly record?: Partial<PairedDevice>;
  /** Its answer to an invocation; default: the params. `undefined`: no answer. */
  readonly answer?: (request: InvokeRequest) => InvokeResult | undefined;
}

export type NodeScene = Awaited<ReturnType<typeof nodeScene>>;
export type FakeNode = Awaited<ReturnType<NodeScene["node"]>>;

/** @param state of an earlier scene of the same test, for restarts */
export async function nodeScene(
  t: TestContext,
  options: SceneOptions = {},
  state: { readonly devices?: FakeDevices; readonly stateDir?: string } = {},
) {
  const devices = state.devices ?? new FakeDevices();
  const stateDir = state.stateDir ?? directory(t, "svc-nodes-");
  const seen: { nodes?: Live<Nodes>; storage?: Storage; control?: PluginControl } = {};
  const reader = definePlugin({
    id: "reader",
    api: "^1.0.0",
    requires: { nodes: live(Nodes), storage: Storage, control: PluginControl },
    setup({ services }) {
      Object.assign(seen, services);
    },
  });
  const scene = await testGateway(t, {
    stateDir,
    plugins: ["storage-sqlite", devices.plugin(), nodesPlugin, reader, ...(options.plugins ?? [])],
    config: { ...options.config, ...(options.nodes && { gateway: { nodes: options.nodes } }) },
    ...(options.gateway && { gateway: options.gateway }),
  });
  const { client, connect } = scene;

  /** A node that is connected and answers. */
  async function node({ identity = createDevice(), record, answer = echo, ...more }: NodeOptions = {}) {
    if (!devices.paired.has(identity.id)) devices.pair(identity, record);
    const asked: InvokeRequest[] = [];
    const own = await connect({
      role: "node",
      scopes: [],
      device: identity,
      commands: ["system.notify", "system.run", "location.get"],
      ...more,
      client: { id: "node-host", mode: "node", platform: "macos", version: "9", ...more.client },
    });
    own.on(nodeInvokeRequest, (request) => {
      asked.push(request);
      const result = answer(request);
      if (!result) return;
      const sent = own.call(nodes.invokeResult, { id: request.id, nodeId: identity.id, ...result });
      sent.catch(() => undefined); // a test may close the node before it hears that this arrived
    });
    const event = (name: string, payload?: unknown) => own.call(nodes.event, { event: name, payload });
    return { id: identity.id, identity, client: own, asked, event };
  }

  const invoke = (nodeId: string, command: string, params?: unknown, more: object = {}) =>
    client.call(nodes.invoke, { nodeId, command, ...(params === undefined ? {} : { params }), ...more });
  const view = async (nodeId: string) => (await client.call(nodes.list, {})).nodes.find((one) => one.nodeId === nodeId);
  return {
    ...scene,
    client: client as GatewayClient,
    devices,
    service: seen.nodes?.get() ?? assert.fail(JSON.stringify(scene.gateway.plugins())),
    reload: (id: string) => seen.control?.reload(id) ?? assert.fail(),
    storage: seen.storage ?? assert.fail(),
    node,
    invoke,
    view,
  };
}

export function echo({ paramsJSON }: InvokeRequest): InvokeResult {
  return { ok: true, payloadJSON: paramsJSON ?? "null" };
}
