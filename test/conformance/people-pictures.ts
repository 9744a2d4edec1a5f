/** The visible effects of the sections about devices, nodes, approvals and secrets, over the wire. */
import { execApproval } from "@svc/sdk/approvals";
import type { GatewayClient } from "@svc/sdk/client";
import { createDevice } from "@svc/sdk/device";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { secrets } from "@svc/sdk/secrets";
import type { TestGateway } from "@svc/sdk/testing";
import { connectNode } from "./attendance.ts";

type Running = Pick<TestGateway, "gateway" | "connect">;
const told = (error: Error) => error.message;

let serial = 0;

/** Whether a program on this machine must wait for an approval. */
export async function devicesPicture({ gateway, connect }: Running): Promise<string> {
  return connect({ token: String(gateway.auth.token), device: createDevice() }).then(async (client) => {
    await client.close();
    return "paired";
  }, told);
}

/** Commands that a node on this machine may be called with. */
export async function nodesPicture({ gateway }: Running, client: GatewayClient): Promise<unknown> {
  const device = createDevice();
  const commands = ["camera.snap", "location.get"];
  const node = await connectNode({ url: gateway.url, token: String(gateway.auth.token) }, device, { commands });
  node.on(nodeInvokeRequest, ({ id, nodeId }) => void node.call(nodes.invokeResult, { id, nodeId, ok: true }));
  const view = await client.call(nodes.describe, { nodeId: device.id });
  const asked = await Promise.all(
    commands.map((command) => client.call(nodes.invoke, { nodeId: device.id, command }).then(() => "answered", told)),
  );
  await node.close();
  return { commands: view.commands, asked: asked.map((text) => text.replaceAll(device.id, "node")) };
}

/** Whether the operator of the test may decide. */
export async function approvalsPicture(client: GatewayClient): Promise<unknown> {
  const id = `picture-${++serial}`;
  const asked = client.call(execApproval.request, { id, command: "true", twoPhase: true }, { expectFinal: true });
  while (!(await client.call(execApproval.list, {})).approvals.some((one) => one.id === id));
  const resolved = await client.call(execApproval.resolve, { id, decision: "deny" }).then(() => "decided", told);
  return { resolved, decision: (await asked).decision };
}

/** Outcome of the references in the configuration. */
export async function secretsPicture(client: GatewayClient): Promise<unknown> {
  const params = { commandName: "picture", targetIds: ["models.providers.*.apiKey"] };
  return {
    reload: await client.call(secrets.reload, {}).catch(told),
    list: await client.call(secrets.list, {}),
    resolved: await client.call(secrets.resolve, params).catch(told),
  };
}
