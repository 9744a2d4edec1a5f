/** Names that resemble a method, a device, a node or a question: no decision by name accepts them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import { execApproval, execApprovals } from "@svc/sdk/approvals";
import { devices } from "@svc/sdk/devices";
import { nodes } from "@svc/sdk/nodes";
import { testGateway } from "@svc/sdk/testing";
import { attend, connectNode } from "./attendance.ts";
import { NODE_METHODS } from "./authority-table.ts";
import { methods } from "./samples.ts";

const limited = { timeout: 120_000 };

/** Texts different from `name` that loose matching (case folding, trimming, cutting) would accept as `name`. */
function spellingsOf(name: string): string[] {
  const wide = (char: string) => String.fromCodePoint(char.charCodeAt(0) + 0xfee0);
  const all = [
    name.toUpperCase(),
    `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
    ` ${name}`,
    `${name} `,
    `${name}\n`,
    `${name}\u0000`,
    `${name}\u00ad`,
    `\ufeff${name}`,
    `${name.slice(0, 1)}\u200b${name.slice(1)}`,
    wide(name.slice(0, 1)) + name.slice(1),
    name.replaceAll(".", "\u2024"),
    name.replaceAll(".", "/"),
    name.slice(0, -1),
    `${name}x`,
    `${name}.`,
    `.${name}`,
    "*",
    "__proto__",
    "constructor",
  ];
  return [...new Set(all)].filter((text) => text !== name && !Object.hasOwn(methods, text));
}

const told = (error: GatewayError) => `${error.code} ${error.message}`;

describe("spellings of a method", limited, () => {
  for (const scopes of [["operator.admin"], ["operator.read"], []]) {
    it(`are not a method, with [${scopes.join()}]`, async (t) => {
      const { client } = await testGateway(t, { scopes });
      for (const name of Object.keys(methods)) {
        for (const spelling of spellingsOf(name)) {
          const outcome = await client.request(spelling).then(String, told);
          assert.match(outcome, /^INVALID_REQUEST unknown method/, JSON.stringify(spelling));
        }
      }
    });
  }

  it("are not a method for a node", async (t) => {
    const { gateway } = await testGateway(t);
    const node = await connectNode({ url: gateway.url, token: gateway.auth.token });
    t.after(() => node.close());
    for (const name of NODE_METHODS) {
      for (const spelling of spellingsOf(name)) {
        const outcome = await node.request(spelling).then(String, told);
        assert.match(outcome, /^INVALID_REQUEST unknown method/, JSON.stringify(spelling));
      }
    }
  });
});

describe("spellings of an id", limited, () => {
  it("match nothing, and change nothing", async (t) => {
    const { client, gateway } = await testGateway(t);
    const there = await attend({ url: gateway.url, token: gateway.auth.token, client });
    t.after(() => there.node.close());
    const { nodeId, deviceId, approveDevice, approveNode, questionId, digest } = there;
    const calls: [what: string, id: string, call: (id: string) => Promise<unknown>][] = [
      ["device.pair.remove", deviceId, (id) => client.call(devices.remove, { deviceId: id })],
      ["device.token.rotate", deviceId, (id) => client.call(devices.rotate, { deviceId: id, role: "operator" })],
      ["device.token.revoke", deviceId, (id) => client.call(devices.revoke, { deviceId: id, role: "operator" })],
      ["device.pair.approve", approveDevice, (requestId) => client.call(devices.approve, { requestId })],
      ["device.pair.reject", approveDevice, (requestId) => client.call(devices.reject, { requestId })],
      ["node.describe", nodeId, (id) => client.call(nodes.describe, { nodeId: id })],
      ["node.rename", nodeId, (id) => client.call(nodes.rename, { nodeId: id, displayName: "Other" })],
      ["node.pair.approve", approveNode, (requestId) => client.call(nodes.pairApprove, { requestId })],
      ["node.pair.reject", approveNode, (requestId) => client.call(nodes.pairReject, { requestId })],
      ["exec.approval.resolve", questionId, (id) => client.call(execApproval.resolve, { id, decision: "deny" })],
      ["exec.approvals.forget", digest, (id) => client.call(execApprovals.forget, { digest: id })],
    ];
    const before = await everything();
    const taken: string[] = [];
    for (const [what, id, call] of calls) {
      for (const spelling of spellingsOf(id)) {
        const outcome = await call(spelling).then(JSON.stringify, told);
        if (!/^(NOT_FOUND|INVALID_REQUEST) /.test(outcome))
          taken.push(`${what} ${JSON.stringify(spelling)}: ${outcome}`);
      }
    }
    assert.deepEqual(await everything(), before);
    assert.deepEqual(taken, []);

    async function everything() {
      return [
        await client.call(devices.list, {}),
        await client.call(nodes.pairList, {}),
        (await client.call(nodes.list, {})).nodes,
        await client.call(execApproval.list, {}),
        await client.call(execApprovals.grants, {}),
      ];
    }
  });

  it("of a command are not on the list of a node's platform", async (t) => {
    const { client, gateway } = await testGateway(t);
    const { nodeId, node } = await attend({ url: gateway.url, token: gateway.auth.token, client });
    t.after(() => node.close());
    for (const name of ["location.get", "system.run", "system.execApprovals.get"]) {
      for (const command of spellingsOf(name)) {
        if (command.trim() === name) continue; // surrounding blanks of a command are ignored, also by the policy
        const outcome = await client.call(nodes.invoke, { nodeId, command }).then(JSON.stringify, told);
        assert.match(outcome, /^INVALID_REQUEST /, JSON.stringify(command));
      }
    }
  });
});
