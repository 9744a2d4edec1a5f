/** Work in progress of an ended connection is stopped or continues, as documented; and commands on another machine get an error. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { cron } from "@svc/sdk/cron";
import { keepDevice, keepDeviceToken, readDeviceToken } from "@svc/sdk/device";
import { nodeInvokeRequest } from "@svc/sdk/nodes";
import { ADMIN, createDevice, openScene, SECRET } from "../../plugins/devices/scene.ts";
import { home } from "../../host/cli/svc.ts";
import { APPROVALS } from "./revocation-scene.ts";
import { ask, probePlugin, until } from "./scene.ts";

const limited = { timeout: 120_000 };
const WORKS = ["operator.read", "operator.write", APPROVALS];

async function nodeAndOperator(t: Parameters<typeof openScene>[0]) {
  const scene = await openScene(t, { plugins: ["nodes", "approvals", probePlugin] });
  const [node, operator] = [createDevice(), createDevice()];
  const { deviceToken } = (await scene.pair(operator, { scopes: WORKS })).auth;
  const client = await scene.connect({ device: operator, token: deviceToken, scopes: WORKS });
  const asked: { id: string; nodeId: string }[] = [];
  const provider = await scene.connect({
    role: "node",
    device: node,
    client: { id: "node-host", mode: "node" },
    commands: ["system.notify"],
  });
  provider.on(nodeInvokeRequest, (request) => void asked.push(request));
  const invoke = { nodeId: node.id, command: "system.notify", idempotencyKey: "once", timeoutMs: 60_000 };
  return { scene, node, operator, client, provider, asked, invoke };
}

describe("what a device left behind", limited, () => {
  it("a question it asked stays until it is decided; the device can no longer decide it", async (t) => {
    const { scene, operator, client } = await nodeAndOperator(t);
    const approver = await scene.connect({ scopes: [ADMIN] });
    const request = { id: "question", command: "rm -r build", timeoutMs: 60_000, twoPhase: true };
    const lost = client.request("exec.approval.request", request, { expectFinal: true }).catch((error: Error) => error);
    await until(
      () => scene.events.some(({ event }) => event === "exec.approval.requested"),
      "the event of the question",
    );
    await scene.client.request("device.token.revoke", { deviceId: operator.id, role: "operator" });
    assert.ok((await lost) instanceof Error);
    await assert.rejects(client.request("exec.approval.resolve", { id: "question", decision: "allow-once" }));
    const denied = await approver.request("exec.approval.resolve", { id: "question", decision: "deny" });
    assert.deepEqual(denied, { ok: true });
  });

  it("its jobs and permanent approvals stay: they belong to the gateway", async (t) => {
    const further = ["agents", "approvals", "cron", "heartbeat", "models", "provider-offline", "sessions"];
    const scene = await openScene(t, { plugins: [...further, probePlugin] });
    const device = createDevice();
    const scopes = [ADMIN, APPROVALS];
    const { deviceToken } = (await scene.pair(device, { scopes })).auth;
    const client = await scene.connect({ device, token: deviceToken, scopes });
    const job = await client.call(cron.add, { name: "tea", text: "tea", schedule: { everyMs: 3_600_000 } });
    const question = { id: "question", command: "true", timeoutMs: 60_000, twoPhase: true };
    await client.request("exec.approval.request", question);
    await client.request("exec.approval.resolve", { id: question.id, decision: "allow-always" });
    await scene.client.request("device.pair.remove", { deviceId: device.id });
    await assert.rejects(client.request("cron.list", {}));

    const owner = await scene.connect({ scopes });
    await owner.call(cron.run, { id: job.id, mode: "force" });
    const statuses = async () => (await owner.call(cron.runs, { id: job.id })).entries.map(({ status }) => status);
    await until(async () => (await statuses()).includes("ok"), "the run of the job");
    const again = { id: "again", command: "true", timeoutMs: 60_000 };
    const { decision } = (await owner.request("exec.approval.request", again)) as { decision: unknown };
    assert.equal(decision, "allow-always");
  });

  it("it has no access between two acts: revoke, rotate, remove, and again", async (t) => {
    const scene = await openScene(t, { plugins: [probePlugin] });
    const device = createDevice();
    const old: string[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const { deviceToken } = (await scene.pair(device, { scopes: [ADMIN] })).auth;
      old.push(deviceToken);
      const { socket } = await scene.byToken(device, deviceToken, { scopes: [ADMIN] });
      const method = ["device.token.revoke", "device.token.rotate", "device.pair.remove"][turn % 3] ?? "";
      const which = { deviceId: device.id, ...(method === "device.pair.remove" ? {} : { role: "operator" }) };
      // It revokes itself: the response and the close race, but no call after the close is answered.
      void ask(socket, method, which).catch(() => undefined);
      await socket.closed;
      for (const token of old) assert.equal((await scene.byToken(device, token, { scopes: [] })).ok, false, method);
    }
    assert.equal(new Set(old).size, old.length);
  });
});

describe("a command on another machine", limited, () => {
  it("whose device token was revoked reports it with the command to run, and deletes the token", async (t) => {
    const scene = await openScene(t, { plugins: ["health"] });
    const there = home(t);
    const identity = join(there.stateDir, "identity");
    const device = keepDevice(identity);
    const client = { platform: process.platform };
    const { deviceToken, scopes } = (await scene.pair(device, { scopes: [ADMIN], client })).auth;
    keepDeviceToken(identity, scene.url, "operator", { token: deviceToken, scopes, updatedAtMs: Date.now() });
    const call = ["gateway", "call", "device.pair.list", "--url", scene.url];
    assert.equal((await there.svc(call)).code, 0);
    await scene.client.request("device.token.revoke", { deviceId: device.id, role: "operator" });
    const { code, stdout, stderr } = await there.svc(call);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^INVALID_REQUEST: unauthorized: device token mismatch[^\n]*\nNext: svc pairing join /);
    assert.doesNotMatch(stderr, new RegExp(`${deviceToken}|${SECRET}`));
    assert.equal(readDeviceToken(identity, scene.url, "operator"), undefined);
    const { code: still, stderr: said } = await there.svc(call);
    assert.equal(still, 1);
    assert.match(said, /^NOT_PAIRED: device identity required; no gateway was started on [^\n]*\nNext: /);
  });
});
