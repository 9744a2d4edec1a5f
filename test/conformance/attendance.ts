/** Connected nodes and pending items, for methods about devices, nodes and people: a node that answers, requests, questions. */
import { execApproval, execApprovals } from "@svc/sdk/approvals";
import { type ClientOptions, connect, type GatewayClient } from "@svc/sdk/client";
import { cron } from "@svc/sdk/cron";
import { createDevice, type KeptDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { knock } from "../plugins/devices/scene.ts";
import { until } from "../until.ts";

/** Ids for params of methods; each is consumed by the one method that decides about it. */
export interface Attendance {
  /** A connected node: it answers every call except `system.which`. */
  readonly nodeId: string;
  readonly node: GatewayClient;
  /** The unanswered call of the node; an operator waits for it. */
  readonly invokeId: string;
  /** Settles when the node has answered that call. */
  readonly invoked: Promise<unknown>;
  /** A job that is never due. */
  readonly cronJobId: string;
  /** Requests of devices. */
  readonly approveDevice: string;
  readonly rejectDevice: string;
  /** A paired operator that is not connected. */
  readonly deviceId: string;
  /** Requests of the older node store. */
  readonly approveNode: string;
  readonly rejectNode: string;
  /** A node of the older store. */
  readonly olderNode: string;
  /** A pending question, and a decided one. */
  readonly questionId: string;
  readonly decidedId: string;
  /** Digest of a permanent approval. */
  readonly digest: string;
  /** Of the policy file. */
  readonly policyHash: string;
}

/** Where to be. */
export interface Place {
  readonly url: string;
  readonly token: string | undefined;
  /** An operator with all scopes. */
  readonly client: GatewayClient;
}

/** Content of the node's policy file; it never changes. */
const POLICY = { path: "/nowhere/exec-approvals.json", exists: true, hash: "0".repeat(64), file: { version: 1 } };

/** Commands of the node: those of its platform, and the policy file. */
const FILE = ["system.execApprovals.get", "system.execApprovals.set"];
const COMMANDS = ["location.get", "system.notify", "system.run", "system.which", ...FILE];

/** A node that is paired silently, as a program on this machine. The caller must close it. */
export function connectNode(
  { url, token }: Pick<Place, "url" | "token">,
  device: KeptDevice = createDevice(),
  more: Partial<ClientOptions> = {},
): Promise<GatewayClient> {
  return connect({
    url,
    ...(token === undefined ? {} : { token }),
    device,
    role: "node",
    scopes: [],
    commands: COMMANDS,
    client: { id: "node-host", mode: "node", platform: "macos", displayName: "Workshop" },
    ...more,
  });
}

/** Creates all of it. @param place its operator makes the decisions that are already made */
export async function attend(place: Place): Promise<Attendance> {
  const { client } = place;
  const identity = createDevice();
  const node = await connectNode(place, identity);
  const asked = new Promise<string>((resolve) => {
    node.on(nodeInvokeRequest, ({ id, command }) => {
      if (command === "system.which") return resolve(id);
      const payload = command.startsWith("system.execApprovals.") ? POLICY : { done: command };
      const answer = { id, nodeId: identity.id, ok: true, payloadJSON: JSON.stringify(payload) };
      node.call(nodes.invokeResult, answer).catch(() => undefined); // it may be closed before it learns that this arrived
    });
  });
  const invoked = client.call(nodes.invoke, { nodeId: identity.id, command: "system.which", timeoutMs: 600_000 });
  invoked.catch(() => undefined); // callers that need it await it
  const olderNode = "older-node";
  await client.call(nodes.pairApprove, { requestId: await waitingNode(client, olderNode) });
  return {
    nodeId: identity.id,
    node,
    invokeId: await asked,
    invoked,
    cronJobId: (await client.call(cron.add, JOB)).id,
    approveDevice: await waitingDevice(place),
    rejectDevice: await waitingDevice(place),
    deviceId: await pairedDevice(place),
    approveNode: await waitingNode(client, "approved-node"),
    rejectNode: await waitingNode(client, "rejected-node"),
    olderNode,
    ...(await questions(client)),
    policyHash: (await client.call(execApprovals.get, {})).hash,
  };
}

const JOB = { name: "sample", enabled: false, text: "sample", schedule: { everyMs: 3_600_000 } };

/** @returns the id of the request of a remote device, which is not approved silently */
async function waitingDevice({ url, token = "" }: Place): Promise<string> {
  const attempt = { device: createDevice(), auth: { token }, scopes: ["operator.read"], far: true };
  const { details, frame, socket } = await knock(url, attempt);
  socket.ws.close();
  const { requestId } = details;
  if (typeof requestId !== "string") throw new Error(`no request: ${JSON.stringify(frame)}`);
  return requestId;
}

async function pairedDevice({ url, token, client }: Place): Promise<string> {
  const device = createDevice();
  const own = await connect({ url, ...(token === undefined ? {} : { token }), device });
  await own.close();
  const { paired } = await client.call(devices.list, {});
  if (!paired.some(({ deviceId }) => deviceId === device.id)) throw new Error("the device was not paired");
  return device.id;
}

async function waitingNode(client: GatewayClient, nodeId: string): Promise<string> {
  return (await client.call(nodes.pairRequest, { nodeId })).request.requestId;
}

/** One pending question, one permanent approval. */
async function questions(client: GatewayClient) {
  const ask = (id: string, command: string) => {
    const answer = client.call(execApproval.request, { id, command, timeoutMs: 600_000 }, { timeoutMs: 0 });
    answer.catch(() => undefined); // it may still be pending when the test ends
  };
  ask("question-that-waits", "uname -a");
  ask("question-decided", "uptime");
  await until(async () => (await client.call(execApproval.list, {})).approvals.length >= 2, "two questions");
  await client.call(execApproval.resolve, { id: "question-decided", decision: "allow-always" });
  const { grants } = await client.call(execApprovals.grants, {});
  const [grant] = grants;
  if (!grant) throw new Error("nothing was allowed for good");
  return { questionId: "question-that-waits", decidedId: "question-decided", digest: grant.digest };
}
