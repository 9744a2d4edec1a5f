/** Questions of two gateways on one database: people decide at either, and the requester gets the answer where it waits. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { execApproval, execApprovalRequested } from "@svc/sdk/approvals";
import approvals from "../../../plugins/approvals/plugin.ts";
import { withoutPostgres } from "../../postgres.ts";
import { soon, twoGateways } from "../two-gateways.ts";
import { nodeRequest } from "./scene.ts";

describe("a question of another gateway", { skip: withoutPostgres() }, () => {
  it("is announced, listed, waited for and decided at this one; the requester is answered", async (t) => {
    const [one, other] = await twoGateways(t, { plugins: ["storage-sqlite", approvals] });
    const asker = await one.connect({ scopes: ["operator.admin"], client: { id: "asker" } });
    const approver = await other.connect({ scopes: ["operator.approvals"], client: { displayName: "Ada" } });
    const asked: string[] = [];
    approver.on(execApprovalRequested, ({ id }) => void asked.push(id));
    const answer = asker.call(execApproval.request, { ...nodeRequest, timeoutMs: 60_000 });
    await soon(() => asked.length === 1, "the announcement");
    const [id = ""] = asked;
    const waiting = approver.call(execApproval.waitDecision, { id });
    const { approvals: listed } = await approver.call(execApproval.list, {});
    assert.deepEqual(
      listed.map(({ status }) => status),
      ["pending"],
    );
    assert.deepEqual(await approver.call(execApproval.resolve, { id, decision: "allow-once" }), { ok: true });
    assert.deepEqual([(await answer).decision, (await waiting).decision], ["allow-once", "allow-once"]);
    await assert.rejects(
      asker.call(execApproval.resolve, { id, decision: "deny" }),
      /already decided: allow-once by Ada/,
    );
  });

  it("counts approvers at all gateways: without any, it expires at once", async (t) => {
    const [one, other] = await twoGateways(t, { plugins: ["storage-sqlite", approvals] });
    const asker = await one.connect({ scopes: ["operator.admin"] });
    const connected = async () => (await asker.call(execApproval.list, {})).approvers?.connected;
    const before = (await connected()) ?? 0;
    const approver = await other.connect({ scopes: ["operator.approvals"] });
    await soon(async () => (await connected()) === before + 1, "the approver");
    await approver.close();
    await soon(async () => (await connected()) === before, "its end");
  });

  it("stays open while another gateway starts, and ends with its own", async (t) => {
    const [one, other, another] = await twoGateways(t, { plugins: ["storage-sqlite", approvals] });
    const asker = await one.connect({ scopes: ["operator.admin"] });
    const approver = await other.connect({ scopes: ["operator.admin"] });
    const answer = asker.call(execApproval.request, { ...nodeRequest, timeoutMs: 60_000 });
    const failed = assert.rejects(answer, { code: "UNAVAILABLE" });
    const status = async () => (await approver.call(execApproval.list, {})).approvals[0]?.status;
    await soon(async () => (await status()) === "pending", "the question");
    await another();
    assert.equal(await status(), "pending");
    await one.gateway.stop();
    await failed;
    await soon(async () => (await status()) === "expired", "its end");
  });
});
