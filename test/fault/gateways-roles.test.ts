/** A chat, a node and an approver, each at another gateway on one database. Spec: design/scaleout.md, S-11. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import { chat, chatEvent } from "@svc/sdk/chat";
import { startNodeProcess } from "../e2e/node-process.ts";
import { directory } from "../directory.ts";
import { withoutPostgres } from "../postgres.ts";
import { svc } from "../run-svc.ts";
import { startGateways } from "./gateways.ts";

const TOKEN = "token-of-all-gateways";

it(
  "a chat uses a node of another gateway with an approval from a third one",
  { timeout: 120_000, skip: withoutPostgres() },
  async (t) => {
    const config = directory(t);
    await writeFile(join(config, "svc.json"), JSON.stringify({ gateway: { auth: { token: TOKEN } } }));
    const gateways = await startGateways(t, 3, config, { token: TOKEN });
    const [one, two, three] = gateways.running;
    assert.ok(one && two && three);
    const node = startNodeProcess(t, directory(t), ["--url", two.url, "--name", "workshop", "--token", TOKEN]);
    const { nodeId } = await node.until("connected");
    const policy = ["approvals", "security", "allowlist", "--ask", "on-miss", "--node", String(nodeId)];
    const set = await svc(gateways.directories[0] ?? "", [...policy, "--url", one.url], { SVC_GATEWAY_TOKEN: TOKEN });
    assert.equal(set.code, 0, set.text);

    const approver = await three.connect();
    const asked: string[] = [];
    approver.on(execApprovalRequested, ({ id, request }) => {
      asked.push(request.command);
      void approver.call(execApproval.resolve, { id, decision: "allow-once" });
    });
    const person = await one.connect();
    t.after(() => Promise.all([approver.close(), person.close()]));
    const final = new Promise<string>((resolve) => {
      person.on(chatEvent, (event) => {
        if (event.state === "final") resolve(JSON.stringify(event.message));
      });
    });
    const call = { action: "run", node: "workshop", command: ["basename", "/one/of-three"] };
    await person.call(chat.send, {
      sessionKey: "main",
      message: `//tool nodes ${JSON.stringify(call)}`,
      idempotencyKey: "the-run",
    });
    assert.match(await final, /The tool `nodes`.*of-three/);
    assert.deepEqual(asked, ["basename /one/of-three"]);
    const history = await approver.call(chat.history, { sessionKey: "main" });
    assert.match(JSON.stringify(history.messages.at(-1)), /The tool `nodes`.*of-three/);
  },
);
