/** Which params of `system.run` reach a node, and which must match an approval. Spec: protocol/methods-node.md §4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin, GatewayError } from "@svc/sdk";
import { type AllowedExec, ExecApprovals, type ExecClaim } from "@svc/sdk/approvals";
import { approvedRun, readRun } from "../../../plugins/nodes/run-params.ts";
import { nodeScene } from "./scene.ts";

const command = ["ls", "-l"];

describe("params of system.run", () => {
  const every = {
    command,
    rawCommand: "ls -l",
    cwd: "/tmp",
    env: { A: "1" },
    timeoutMs: 5_000,
    needsScreenRecording: true,
    agentId: "main",
    sessionKey: "main",
    runId: "r1",
  };
  const shell = { command: ["sh", "-c", "a | b"], rawCommand: "a | b" };
  const forwarded: [what: string, params: object, sent: object][] = [
    ["the command alone", { command }, { command }],
    ["every known key", { ...every, timeoutMs: 5_000.7 }, every],
    ["null as absent", { command, cwd: null, env: null, agentId: null, rawCommand: null }, { command }],
    ["an empty text as absent", { command, cwd: "", runId: "" }, { command }],
    ["nothing unknown", { command, shell: true, host: "gateway", nested: { command: ["rm"] } }, { command }],
    ["no claim that is a text", { command, approved: "true" }, { command }],
    ["no decision to deny", { command, approvalDecision: "deny" }, { command }],
    ["a claim of false", { command, approved: false, approvalDecision: null }, { command }],
    ["raw text of a shell", shell, shell],
    ["empty arguments", { command: ["echo", ""] }, { command: ["echo", ""] }],
    ["an empty environment", { command, env: {} }, { command, env: {} }],
  ];
  it("are forwarded by known keys, and never with a claim", () => {
    for (const [what, params, sent] of forwarded)
      assert.deepEqual(readRun(params), { forwarded: sent, claims: undefined }, what);
  });

  const claims: [params: object, decision: string | undefined][] = [
    [{ approved: true }, undefined],
    [{ approved: true, approvalDecision: "allow-once" }, "allow-once"],
    [{ approvalDecision: "allow-always" }, "allow-always"],
    [{ approved: false, approvalDecision: "allow-once" }, "allow-once"],
    [{ approved: true, approvalDecision: "deny" }, undefined],
  ];
  it("claim an approval by approved or a decision to allow, which is not forwarded", () => {
    for (const [params, decision] of claims)
      assert.deepEqual(readRun({ command, ...params }), { forwarded: { command }, claims: { decision } });
  });

  const refused: [what: string, params: unknown, code: string][] = [
    ["no params", undefined, "MISSING_COMMAND"],
    ["no command", {}, "MISSING_COMMAND"],
    ["raw text alone", { rawCommand: "ls" }, "MISSING_COMMAND"],
    ["a command that is a text", { command: "ls" }, "MISSING_COMMAND"],
    ["an empty command", { command: [] }, "MISSING_COMMAND"],
    ["a command without a program", { command: ["", "x"] }, "MISSING_COMMAND"],
    ["a command with a number", { command: ["ls", 1] }, "MISSING_COMMAND"],
    ["a command that looks like a list", { command: { 0: "ls", length: 1 } }, "MISSING_COMMAND"],
    ["a command of a prototype", Object.create({ command }), "MISSING_COMMAND"],
    ["a command behind __proto__", JSON.parse('{"__proto__":{"command":["ls"]}}'), "MISSING_COMMAND"],
    ["another raw text", { command, rawCommand: "rm -rf /" }, "RAW_COMMAND_MISMATCH"],
    ["a raw text that is none", { command, rawCommand: 1 }, "INVALID_PARAM"],
    ["an environment that is a list", { command, env: ["A=1"] }, "INVALID_PARAM"],
    ["an environment with a number", { command, env: { A: 1 } }, "INVALID_PARAM"],
    ["an environment with a prototype", { command, env: JSON.parse('{"__proto__":"x"}') }, "INVALID_PARAM"],
    ["an environment with = in a name", { command, env: { "A=B": "1" } }, "INVALID_PARAM"],
    ["an environment with a nameless entry", { command, env: { "": "1" } }, "INVALID_PARAM"],
    ["an environment with a zero byte", { command, env: { A: "\0" } }, "INVALID_PARAM"],
    ["a time that is a text", { command, timeoutMs: "5" }, "INVALID_PARAM"],
    ["an endless time", { command, timeoutMs: Infinity }, "INVALID_PARAM"],
    ["a flag that is a text", { command, needsScreenRecording: "yes" }, "INVALID_PARAM"],
    ["an id that is an object", { command, runId: {} }, "INVALID_PARAM"],
  ];
  it("are refused without a command or with values of other types", () => {
    for (const [what, params, code] of refused) {
      const isExpected = (error: GatewayError) =>
        error.code === "INVALID_REQUEST" && (error.details as { code: string }).code === code;
      assert.throws(() => readRun(params), isExpected, what);
    }
  });

  it("names the expected raw text", () => {
    assert.throws(() => readRun({ command: ["echo", "a b"], rawCommand: "x" }), {
      details: { code: "RAW_COMMAND_MISMATCH", rawCommand: "x", inferred: "echo 'a b'" },
    });
  });

  it("uses the plan of the approval", () => {
    const { forwarded } = readRun({ command, cwd: "/tmp", env: { A: "1" }, runId: "r1", sessionKey: "mine" });
    const plan = { argv: ["pwd"], cwd: "/home", rawCommand: null, agentId: "main", sessionKey: null };
    const planned = { command: ["pwd"], cwd: "/home", env: { A: "1" }, agentId: "main", runId: "r1" };
    const allowed = { approved: true, approvalDecision: "allow-once" };
    assert.deepEqual(approvedRun(forwarded, { decision: "allow-once", plan }), { ...planned, ...allowed });
    const files = [{ path: "/home/x", sha256: "0".repeat(64), bytes: 1 }];
    assert.deepEqual(approvedRun(forwarded, { decision: "allow-once", plan, files }).files, files);
    const own = readRun({ command, files, approved: true }).forwarded;
    assert.ok(!("files" in own) && !("files" in approvedRun(own, { decision: "allow-once", plan })));
  });
});

describe("system.run", { timeout: 120_000 }, () => {
  const plan = { argv: ["ls", "-l"], cwd: "/tmp", rawCommand: null, agentId: null, sessionKey: null };

  function approvals(claim: (claim: ExecClaim) => AllowedExec) {
    const claims: ExecClaim[] = [];
    const plugin = definePlugin({
      id: "approvals",
      api: "^1.0.0",
      provides: [ExecApprovals],
      setup: (gateway) =>
        gateway.provide(ExecApprovals, { claim: async (asked) => (claims.push(asked), claim(asked)) }),
    });
    return { claims, plugin };
  }

  it("checks a claim with the approvals, and sends what they allow", async (t) => {
    const { claims, plugin } = approvals(() => ({ decision: "allow-always", plan }));
    const { node, invoke, client } = await nodeScene(t, { plugins: [plugin] });
    const one = await node();
    const asked = { command, runId: "r1", env: { A: "1" }, approved: true, approvalDecision: "allow-once" };
    const { payload } = await invoke(one.id, "system.run", asked);
    const allowed = { approved: true, approvalDecision: "allow-always" };
    assert.deepEqual(payload, { command: ["ls", "-l"], cwd: "/tmp", env: { A: "1" }, runId: "r1", ...allowed });
    const [claim] = claims;
    assert.ok(claim);
    const { approvalId, nodeId, claimed, env, deviceId } = claim;
    assert.deepEqual([approvalId, nodeId, claimed, env, deviceId], ["r1", one.id, "allow-once", { A: "1" }, undefined]);
    assert.deepEqual(claim.plan, { argv: command, cwd: null, rawCommand: null, agentId: null, sessionKey: null });
    assert.equal(claim.connectionId, client.hello.server.connId);
    assert.equal(claim.principal.role, "operator");
  });

  it("returns the refusal of the approvals, and sends nothing", async (t) => {
    const refusal = { code: "INVALID_REQUEST", details: { code: "APPROVAL_REQUIRED" } } as const;
    const { plugin } = approvals(() => {
      throw new GatewayError(refusal.code, "used up", refusal);
    });
    const { node, invoke } = await nodeScene(t, { plugins: [plugin] });
    const one = await node();
    await assert.rejects(invoke(one.id, "system.run", { command, runId: "r1", approved: true }), refusal);
    assert.deepEqual(one.asked, []);
  });

  it("refuses a claim without a plugin for approvals, or without an id; without a claim it runs as it was sent", async (t) => {
    const { node, invoke } = await nodeScene(t);
    const one = await node();
    await assert.rejects(invoke(one.id, "system.run", { command, runId: "r1", approvalDecision: "allow-once" }), {
      code: "INVALID_REQUEST",
      details: { code: "APPROVALS_UNAVAILABLE" },
    });
    await assert.rejects(invoke(one.id, "system.run", { command, approved: true }), {
      details: { code: "MISSING_RUN_ID" },
    });
    assert.deepEqual(one.asked, []);

    const { payload } = await invoke(one.id, "system.run", { command, runId: "r0", approved: "yes", other: 1 });
    assert.deepEqual(payload, { command, runId: "r0" });
  });

  it("uses no approval for a node that cannot be invoked", async (t) => {
    const { claims, plugin } = approvals(() => ({ decision: "allow-once", plan }));
    const { node, invoke } = await nodeScene(t, { plugins: [plugin], nodes: { denyCommands: ["system.run"] } });
    const one = await node();
    await assert.rejects(invoke(one.id, "system.run", { command, runId: "r1", approved: true }), {
      details: { reason: "command not allowlisted", command: "system.run", platform: "macos" },
    });
    assert.deepEqual(claims, []);
  });

  it("sends policy file commands past the allowlist, only to nodes that declared them", async (t) => {
    const { node, service, view } = await nodeScene(t);
    const commands = ["system.execApprovals.get", "system.execApprovals.set", "system.notify"];
    const keeper = await node({ commands, client: { displayName: "keeper" } });
    const other = await node({ client: { displayName: "other" } });
    assert.deepEqual((await view(keeper.id))?.commands, ["system.notify"]);
    assert.deepEqual((await service.policyFile(keeper.id)).payload, {});
    const change = { file: { version: 1 }, baseHash: "h" };
    assert.deepEqual((await service.policyFile(keeper.id, change)).payload, change);
    const asked = keeper.asked.map(({ command: name }) => name);
    assert.deepEqual(asked, commands.slice(0, 2));
    await assert.rejects(service.policyFile(other.id), { code: "UNAVAILABLE" });
    await assert.rejects(service.policyFile("nobody"), { code: "NOT_FOUND" });
    await keeper.client.close();
    await assert.rejects(service.policyFile(keeper.id), { code: "UNAVAILABLE" });
  });
});
