/** examples/ask-first, as its README says: an agent wants a tool, people are asked, and what they say holds. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { type ApprovalDecision, execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import { root } from "../checkout.ts";
import { startGatewayProcess } from "../gateway-process.ts";

async function start(t: TestContext) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-ask-"));
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  const gateway = await startGatewayProcess(stateDir, {
    SVC_CONFIG_PATH: join(root, "examples/ask-first/svc.json"),
    SVC_HOME: stateDir,
  });
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  t.after(() => client.close());
  const asked: string[] = [];
  let decision: ApprovalDecision = "deny";
  client.on(execApprovalRequested, ({ id, request }) => {
    asked.push(request.command);
    void client.call(execApproval.resolve, { id, decision });
  });
  let turn = 0;
  const reply = async () => {
    const params = { message: "status", sessionKey: "main", idempotencyKey: `turn-${turn++}` };
    return JSON.stringify(await client.call(agents.run, params, { expectFinal: true }));
  };
  return { asked, reply, say: (next: ApprovalDecision) => void (decision = next) };
}

describe("examples/ask-first", { timeout: 60_000 }, () => {
  it("uses the tool when somebody allows it, and not when somebody denies it", async (t) => {
    const { asked, reply, say } = await start(t);
    assert.match(await reply(), /not allowed: somebody denied it/);
    say("allow-once");
    assert.doesNotMatch(await reply(), /not allowed/);
    assert.deepEqual(asked, ["session_status {}", "session_status {}"]);
  });

  it("asks no more for exactly what was allowed for good", async (t) => {
    const { asked, reply, say } = await start(t);
    say("allow-always");
    assert.doesNotMatch(await reply(), /not allowed/);
    say("deny");
    assert.doesNotMatch(await reply(), /not allowed/);
    assert.equal(asked.length, 1);
  });
});
