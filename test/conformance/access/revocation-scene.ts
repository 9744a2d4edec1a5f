/** One device connected in every way, other devices, and a gateway that records the outcome of their calls. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { defineContract, defineEvent, definePlugin, type Plugin, Type } from "@svc/sdk";
import {
  ADMIN,
  createDevice,
  type KeptDevice,
  openScene,
  type Outcome,
  READ,
  type Scene,
  SECRET,
} from "../../plugins/devices/scene.ts";
import { connectRaw, type RawSocket } from "../../raw-socket.ts";
import { ask, probePlugin } from "./scene.ts";

export const APPROVALS = "operator.approvals";

const Loose = Type.Object({});
const anybody = { summary: "-", scope: "none", role: "any" } as const;
const hold = defineContract("hold", { call: { ...anybody, params: Loose, result: Type.Unknown() } });
export const secretEvent = defineEvent({ name: "hold.secret", summary: "-", payload: Type.Unknown(), scope: READ });
export const publicEvent = defineEvent({ name: "hold.public", summary: "-", payload: Type.Unknown() });

/** Holds calls and connects, and publishes. */
export interface Holder {
  readonly plugin: Plugin;
  /** Calls in progress, by connection; a call is removed when its caller disconnects. */
  readonly calls: Set<string>;
  publish(text: string): void;
  /** The next connect waits behind all gates until the returned function is called. `there` resolves when it does. */
  holdConnect(): { readonly there: Promise<void>; go(): void };
}

export function holder(): Holder {
  const calls = new Set<string>();
  let publish: (text: string) => void = assert.fail;
  let gate: { arrived: () => void; opened: Promise<void> } | undefined;
  const plugin = definePlugin({
    id: "hold",
    api: "^1.0.0",
    setup(gateway) {
      const [guarded, open] = [gateway.event(secretEvent), gateway.event(publicEvent)];
      publish = (text) => (guarded({ text }), open({ text }));
      gateway.serve(hold, {
        call: ({ connection, signal }) =>
          new Promise((_, reject) => {
            const id = connection?.id ?? assert.fail();
            calls.add(id);
            signal.addEventListener("abort", () => (calls.delete(id), reject(new Error("gone"))));
          }),
      });
      gateway.hooks.admit.tap(
        async () => {
          const waiting = gate;
          gate = undefined;
          waiting?.arrived();
          await waiting?.opened;
          return undefined;
        },
        { phase: "first" },
      );
      gateway.route({
        method: "POST",
        path: "/plugins/hold/closed",
        auth: "gateway",
        scope: READ,
        summary: "-",
        body: Loose,
        maxBodyBytes: 1_024,
        handler: () => ({ body: { done: true } }),
      });
    },
  });
  return {
    plugin,
    calls,
    publish: (text) => publish(text),
    holdConnect() {
      let [arrived, go]: [() => void, () => void] = [assert.fail, assert.fail];
      const there = new Promise<void>((resolve) => (arrived = resolve));
      gate = { arrived, opened: new Promise<void>((resolve) => (go = resolve)) };
      return { there, go };
    },
  };
}

/** Ways of being connected. All but the last three are of one device. */
export const WAYS = ["opToken", "opSecret", "nodeToken", "nodeSecret", "otherOp", "otherNode", "noDevice"] as const;
export type Way = (typeof WAYS)[number];

export interface Crowd {
  readonly scene: Scene;
  readonly holds: Holder;
  readonly device: KeptDevice;
  readonly other: KeptDevice;
  /** Tokens of the device by role. */
  readonly tokens: { readonly operator: string; readonly node: string };
  readonly sockets: Readonly<Record<Way, RawSocket>>;
  /** A connect of the device by one of its tokens. */
  byToken(role: "operator" | "node"): Promise<Outcome>;
  /** The configuration is written by a client that outlives the change. */
  patch(patch: object): Promise<void>;
  readonly stateDir: string;
}

/** @param stateDir of an earlier start */
export async function start(t: TestContext, holds: Holder, stateDir: string): Promise<Scene> {
  const plugins = ["nodes", "approvals", "config", "health", probePlugin, holds.plugin];
  return openScene(t, { stateDir, plugins, gateway: { config: undefined } });
}

export async function crowd(t: TestContext): Promise<Crowd> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-revoke-"));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ gateway: { auth: { token: SECRET } } }));
  const holds = holder();
  const scene = await start(t, holds, stateDir);
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  const [device, other] = [createDevice(), createDevice()];
  const scopes = [READ, APPROVALS, "operator.write"];
  const both = async (one: KeptDevice) => {
    const operator = (await scene.pair(one, { scopes })).auth.deviceToken;
    const { details } = await scene.shared(one, { role: "node" });
    await scene.client.request("device.pair.approve", { requestId: String(details["requestId"]) });
    return { operator, node: (await scene.pair(one, { role: "node" })).auth.deviceToken };
  };
  const tokens = await both(device);
  const others = await both(other);
  const joined = async (outcome: Promise<Outcome>) => {
    const { ok, socket, frame } = await outcome;
    assert.ok(ok, JSON.stringify(frame));
    socket.send({ type: "req", id: "held", method: "hold.call", params: {} });
    return socket;
  };
  const noDevice = await connectRaw(scene.url, SECRET);
  t.after(() => noDevice.ws.terminate());
  noDevice.send({ type: "req", id: "held", method: "hold.call", params: {} });
  const byToken = (role: "operator" | "node") =>
    scene.byToken(device, tokens[role], role === "node" ? { role } : { scopes });
  const sockets = {
    opToken: await joined(byToken("operator")),
    opSecret: await joined(scene.shared(device, { scopes })),
    nodeSecret: await joined(scene.shared(device, { role: "node" })),
    nodeToken: await joined(byToken("node")),
    otherOp: await joined(scene.byToken(other, others.operator, { scopes })),
    otherNode: await joined(scene.byToken(other, others.node, { role: "node" })),
    noDevice,
  };
  for (const socket of Object.values(sockets)) await ask(socket, "health"); // its held call has arrived
  const patch = async (change: object) => {
    const { hash } = (await scene.client.request("config.get", {})) as { hash: string };
    // The response may be lost with the credential of its connection.
    await scene.client
      .request("config.patch", { raw: JSON.stringify(change), baseHash: hash })
      .catch(({ message }: Error) => assert.match(message, /connection lost/));
  };
  return { scene, holds, device, other, tokens, sockets, byToken, patch, stateDir };
}

export { ADMIN };
