/** Secrets sent between operators, devices and nodes, for the test that searches for them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { GatewayError } from "@svc/sdk";
import { execApproval } from "@svc/sdk/approvals";
import { connect } from "@svc/sdk/client";
import { createDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import { nodeInvokeRequest, nodes } from "@svc/sdk/nodes";
import { connectNode, type Place } from "./attendance.ts";

/** Planted secrets, by route. */
export interface Travelling {
  /** Value of a variable for a command. */
  readonly approvalEnv: string;
  /** Params of a call to a node, its answer, and its error. */
  readonly invokeParams: string;
  readonly runEnv: string;
  readonly nodeAnswer: string;
  readonly nodeError: string;
  /** Fields of events that no client reads. */
  readonly nodeEvent: string;
}

/**
 * Sends all of it. Responses to the caller are not collected: they are meant for the caller.
 * @returns tokens issued to devices and for them, by name
 */
export async function travel(place: Place, planted: Travelling): Promise<Record<string, string>> {
  const { url, token, client } = place;
  const operator = createDevice();
  const first = await connect({ url, ...(token === undefined ? {} : { token }), device: operator });
  const operatorToken = first.hello.auth?.deviceToken ?? "";
  await first.close();
  // It reconnects with its token, and once with an almost valid one.
  await (await connect({ url, device: operator, deviceToken: () => operatorToken })).close();
  await connect({ url, device: operator, deviceToken: () => `${operatorToken}x` }).catch(() => undefined);

  // A new device comes with an invitation, and another one with the same.
  const { token: invitation } = await client.call(devices.invite, {});
  const invited = await connect({ url, device: createDevice(), token: invitation });
  const invitedToken = invited.hello.auth?.deviceToken ?? "";
  await invited.close();
  await connect({ url, device: createDevice(), token: invitation }).catch(() => undefined);

  const identity = createDevice();
  const node = await connectNode(place, identity);
  const nodeToken = node.hello.auth?.deviceToken ?? "";
  node.on(nodeInvokeRequest, ({ id, command }) => {
    const error = { code: "FAILED", message: planted.nodeError };
    const answer = command === "location.get" ? { ok: true, payload: planted.nodeAnswer } : { ok: false, error };
    void node.call(nodes.invokeResult, { id, nodeId: identity.id, ...answer });
  });
  /** The caller's response must be `expected`: a secret that was never sent cannot be found. */
  const ask = async (command: string, params: unknown, expected: string) => {
    const told = await client.call(nodes.invoke, { nodeId: identity.id, command, params }).then(
      ({ payload }) => String(payload),
      (error: GatewayError) => `${error.message} ${JSON.stringify(error.details)}`,
    );
    if (!told.includes(expected)) throw new Error(`${command}: ${told}`);
  };
  await ask("location.get", { note: planted.invokeParams }, planted.nodeAnswer);
  await ask("system.notify", { note: planted.invokeParams }, planted.nodeError);
  const run = { command: ["/usr/bin/true"], env: { TOKEN: planted.runEnv } };
  await ask("system.run", run, planted.nodeError); // without a claim the node decides
  await ask("system.run", { ...run, approved: true, runId: "nobody" }, "UNKNOWN_APPROVAL_ID");

  const plan = { argv: ["/usr/bin/true"], cwd: null, rawCommand: null, agentId: null, sessionKey: null };
  const onNode = { host: "node", nodeId: identity.id, systemRunPlan: plan };
  for (const more of [{}, onNode]) {
    const env = { TOKEN: planted.approvalEnv };
    const id = `with-env-${Object.keys(more).length}`;
    const answer = client.call(execApproval.request, { id, command: "true", env, ...more }, { timeoutMs: 0 });
    while (!(await client.call(execApproval.list, {})).approvals.some((one) => one.id === id));
    await client.call(execApproval.resolve, { id, decision: "allow-always" });
    await answer;
  }
  const claimed = { command: plan.argv, approved: true, runId: "with-env-3" };
  await ask("system.run", { ...claimed, env: { TOKEN: planted.runEnv } }, "APPROVAL_ENV_MISMATCH");
  await ask("system.run", { ...claimed, env: { TOKEN: planted.approvalEnv } }, planted.nodeError);

  const payloads = [{ note: planted.nodeEvent }, { token: planted.nodeEvent, topic: "t", environment: "sandbox" }];
  for (const event of ["nobody.knows", "push.apns.register", "exec.finished", "notifications.changed"])
    for (const payload of payloads) await node.call(nodes.event, { event, payload });
  await node.close();
  return { operatorToken, nodeToken, invitation, invitedToken };
}

/** Contents of files that exist to store one secret, by path. */
export async function keptSecrets(stateDir: string): Promise<Record<string, string>> {
  const credentials = join(stateDir, "credentials");
  const paths = (await readdir(credentials)).map((name) => join(credentials, name));
  paths.push(join(stateDir, "plugins/devices/token-key"));
  const texts = await Promise.all(paths.map(async (path) => (await readFile(path, "utf8")).trim()));
  return Object.fromEntries(paths.map((path, index) => [path, texts[index] ?? ""]));
}
