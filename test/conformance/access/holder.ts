/** A device that may read and is also a node: the starting point of attacks. */
import type { TestContext } from "node:test";
import { createDevice, type KeptDevice, openScene, READ, requestOf, type Scene } from "../../plugins/devices/scene.ts";
import { probePlugin } from "./scene.ts";

export interface Held {
  readonly scene: Scene;
  readonly device: KeptDevice;
  /** Token of the operator role, for reading. */
  readonly token: string;
  readonly nodeToken: string;
}

/** One device with both roles: an operator that may read, and a node. */
export async function holder(t: TestContext): Promise<Held> {
  const scene = await openScene(t, { plugins: [probePlugin] });
  const device = createDevice();
  const { deviceToken: token } = (await scene.pair(device, { scopes: [READ] })).auth;
  const requestId = requestOf(await scene.shared(device, { role: "node" }));
  await scene.client.request("device.pair.approve", { requestId });
  const { deviceToken: nodeToken } = (await scene.pair(device, { role: "node" })).auth;
  return { scene, device, token, nodeToken };
}
