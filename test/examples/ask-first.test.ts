// long: starts whole programs
/** examples/ask-first, as its README says: an agent requests a tool, people are asked, and their answer applies. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { type ApprovalDecision, execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import { root } from "../checkout.ts";
import { cleanEnvironment, startGatewayProcess } from "../gateway-process.ts";
import { CTRL_C, inTerminal } from "../host/cli/pseudo-terminal.ts";
import { directory } from "../directory.ts";

async function startGateway(t: TestContext) {
  const stateDir = directory(t);
  const gateway = await startGatewayProcess(stateDir, {
    SVC_CONFIG_PATH: join(root, "examples/ask-first/svc.json"),
    SVC_HOME: stateDir,
  });
  t.after(() => gateway.kill());
  return { stateDir, gateway };
}

async function start(t: TestContext) {
  const { gateway } = await startGateway(t);
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

describe("examples/ask-first", { timeout: 120_000 }, () => {
  it("uses the tool after an approval, and not after a denial", async (t) => {
    const { asked, reply, say } = await start(t);
    assert.match(await reply(), /not allowed: a person denied it/);
    say("allow-once");
    assert.doesNotMatch(await reply(), /not allowed/);
    assert.deepEqual(asked, ["session_status {}", "session_status {}"]);
  });

  it("does not ask again for the same call after allow-always", async (t) => {
    const { asked, reply, say } = await start(t);
    say("allow-always");
    assert.doesNotMatch(await reply(), /not allowed/);
    say("deny");
    assert.doesNotMatch(await reply(), /not allowed/);
    assert.equal(asked.length, 1);
  });

  it("asks in svc chat, and obeys y and n", async (t) => {
    const { stateDir } = await startGateway(t);
    const chat = inTerminal(t, ["chat"], cleanEnvironment(stateDir));
    await chat.shows(/agent main, model offline\/\S+, session main\n\/help lists[^]*Examples:[^]*> /);
    chat.types("status\r");
    await chat.shows(/A decision is needed:\n {2}command {6}session_status \{\}[^]*Allow\? y/);
    chat.types("y\r");
    await chat.shows(/allowed once by cli: session_status \{\}[^]*agent:main:main/);
    chat.types("status\r");
    await chat.shows(/allowed once[^]*A decision is needed/);
    chat.types("n\r");
    await chat.shows(/denied by cli[^]*not allowed: .*denied it/);
    chat.types("/quit\r");
    assert.equal(await chat.ended, 0);
  });

  it("asks in svc approvals watch when the message came without a terminal", async (t) => {
    const { stateDir } = await startGateway(t);
    const svc = (...args: string[]) => inTerminal(t, args, cleanEnvironment(stateDir));
    const alone = svc("chat", "--message", "status");
    await alone.shows(/not allowed: no approver is connected\. Next: svc approvals watch/);
    const watch = svc("approvals", "watch");
    await watch.shows(/Waiting for questions/);
    const asking = svc("chat", "--message", "status");
    await watch.shows(/session_status \{\}[^]*Allow\?/);
    watch.types("always\r");
    await asking.shows(/agent:main:main/);
    watch.types(CTRL_C);
    assert.notEqual(await watch.ended, null);
  });
});
