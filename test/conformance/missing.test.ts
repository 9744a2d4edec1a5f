/**
 * Methods that name something that does not exist fail with `NOT_FOUND`. Spec: README.md, "a missing thing".
 *
 * Not here: methods that create what they name (`sessions.reset`, settings of `sessions.patch`), and those whose documented result reports
 * that nothing exists (`cron.remove`, `cron.runs`, `sessions.delete`, `sessions.compact`, `chat.history`, lists and usage).
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testGateway } from "@svc/sdk/testing";
import { methods } from "./samples.ts";

/** Params that are valid except for the thing they name. */
const named: readonly (readonly [method: string, params: object, message?: RegExp])[] = [
  ["agent", { message: "x", idempotencyKey: "k1", agentId: "nope" }],
  ["agent.identity.get", { agentId: "nope" }],
  ["agents.update", { agentId: "nope", name: "x" }],
  ["agents.delete", { agentId: "nope" }],
  ["agents.files.list", { agentId: "nope" }],
  ["agents.files.get", { agentId: "nope", name: "AGENTS.md" }],
  ["agents.files.set", { agentId: "nope", name: "AGENTS.md", content: "x" }],
  ["agents.files.log", { agentId: "nope" }],
  ["agents.files.diff", { agentId: "nope", name: "AGENTS.md" }],
  ["agents.files.diff", { name: "BOOTSTRAP.md" }],
  ["agents.files.diff", { name: "AGENTS.md", from: 1_000 }],
  ["agents.files.restore", { agentId: "nope", name: "AGENTS.md", version: 1 }],
  ["agents.files.restore", { name: "AGENTS.md", version: 1_000 }],
  ["chat.inject", { sessionKey: "agent:main:nope", message: "x" }],
  ["config.schema.lookup", { path: "agents.nope" }],
  ["cron.get", { id: "nope" }, /^Error: unknown cron job id: nope$/],
  ["cron.update", { id: "nope", patch: { enabled: false } }, /^Error: unknown cron job id: nope$/],
  ["cron.update", { jobId: "nope", patch: {} }, /^Error: unknown cron job id: nope$/],
  ["cron.run", { id: "nope" }, /^Error: unknown cron job id: nope$/],
  ["cron.run", { id: "nope", mode: "due" }, /^Error: unknown cron job id: nope$/],
  ["cron.cancel", { id: "nope" }],
  ["device.pair.approve", { requestId: "nope" }],
  ["device.pair.reject", { requestId: "nope" }],
  ["device.pair.remove", { deviceId: "nope" }],
  ["device.pair.rename", { deviceId: "nope", displayName: "Desk" }],
  ["device.token.rotate", { deviceId: "nope", role: "operator" }],
  ["device.token.revoke", { deviceId: "nope", role: "operator" }],
  ["exec.approval.waitDecision", { id: "nope" }, /^approval expired or not found$/],
  ["exec.approval.resolve", { id: "nope", decision: "deny" }],
  ["exec.approvals.node.get", { nodeId: "nope" }],
  ["exec.approvals.node.set", { nodeId: "nope", file: { version: 1 } }],
  ["exec.approvals.forget", { digest: "0".repeat(64) }],
  ["memory.status", { agentId: "nope" }],
  ["memory.search", { agentId: "nope", query: "x" }],
  ["memory.index", { agentId: "nope" }],
  ["models.status", { model: "nope/nope" }],
  ["models.test", { model: "nope/nope" }],
  ["models.scan", { provider: "nope" }],
  ["node.describe", { nodeId: "nope" }],
  ["node.invoke", { nodeId: "nope", command: "system.which", idempotencyKey: "k3" }],
  ["node.rename", { nodeId: "nope", displayName: "x" }],
  ["node.pair.approve", { requestId: "nope" }],
  ["node.pair.reject", { requestId: "nope" }],
  ["plugins.inspect", { id: "nope" }],
  ["plugins.reload", { id: "nope" }],
  ["plugins.update", { id: "nope" }],
  ["plugins.remove", { id: "nope" }],
  ["plugins.enable", { id: "nope" }],
  ["plugins.disable", { id: "nope" }],
  ["push.test", { nodeId: "nope" }],
  ["sessions.resolve", { key: "agent:main:nope" }],
  ["sessions.resolve", { sessionId: "nope" }],
  ["sessions.resolve", { shortId: "01234567" }],
  ["sessions.create", { agentId: "nope" }],
  ["sessions.patch", { key: "agent:main:nope", archived: true }],
  ["sessions.usage.timeseries", { key: "agent:main:nope" }],
  ["tools.catalog", { agentId: "nope" }],
  ["webhooks.try", { mapping: "nope", payload: {} }],
  ["webhooks.run", { runId: "nope" }],
  ["webhooks.replay", { runId: "nope" }],
  ["webhooks.enable", { id: "nope" }],
  ["webhooks.disable", { id: "nope" }],
];

describe("a thing that does not exist", () => {
  it("is NOT_FOUND on every method that names one", async (t) => {
    const { connect, client: shared } = await testGateway(t);
    const answers: string[] = [];
    for (const [name, params, message = /./] of named) {
      // A connection without a device has its own budget.
      const client = methods[name]?.limit ? await connect() : shared;
      const answer = await client.request(name, params).then(
        (result) => `a result: ${JSON.stringify(result).slice(0, 100)}`,
        (error: Error & { code?: string }) =>
          error.code === "NOT_FOUND" && message.test(error.message) ? undefined : `${error.code} ${error.message}`,
      );
      if (answer !== undefined) answers.push(`${name} ${JSON.stringify(params)}: ${answer}`);
    }
    assert.deepEqual(answers, []);
  });
});
