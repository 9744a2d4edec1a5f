/** Questions of gates, passed to the service `Approver`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import { createQuestions } from "../../../host/hooks/questions.ts";

const question = {
  plugin: "careful",
  ask: { allow: "ask", title: "rm -rf build", subject: { tool: "exec" }, agentId: "main", timeoutMs: 5 } as const,
  hook: "toolBefore",
  key: "exec",
  signal: undefined,
};

const answered = (answer: Partial<ApprovalAnswer>): Approver => ({
  ask: () => Promise.resolve({ id: "q1", decision: null, ...answer }),
});

describe("a gate's question", () => {
  const rows: [string, Partial<ApprovalAnswer>, RegExp | undefined][] = [
    ["allow-once", { decision: "allow-once" }, undefined],
    ["allow-always", { decision: "allow-always" }, undefined],
    ["deny", { decision: "deny" }, /^a person denied it \(approval q1\)$/],
    ["no answer", { decision: null }, /^it was not approved in time/],
    ["a reason", { decision: null, reason: "nobody could be asked" }, /^nobody could be asked/],
    ["an unknown decision", { decision: "yes" as never }, /^it was not approved in time/],
    ["no decision", { decision: undefined as never }, /^it was not approved in time/],
  ];
  for (const [what, answer, reason] of rows) {
    it(`answered with ${what} ${reason ? "denies" : "passes"}`, async () => {
      const denial = await createQuestions(() => answered(answer), assert.fail)(question);
      if (reason === undefined) assert.equal(denial, undefined);
      else assert.match(denial?.reason ?? "", reason);
    });
  }

  it("is passed on with all its fields, and a kind made of hook and key", async () => {
    const seen: unknown[] = [];
    const approver: Approver = {
      ask: (asked) => {
        seen.push(asked);
        return Promise.resolve({ id: "q1", decision: "deny" });
      },
    };
    await createQuestions(() => approver, assert.fail)(question);
    await createQuestions(() => approver, assert.fail)({ ...question, hook: "runBefore", key: undefined });
    const common = { title: "rm -rf build", subject: { tool: "exec" }, askedBy: "careful", agentId: "main" };
    const rest = { sessionKey: undefined, timeoutMs: 5, signal: undefined };
    assert.deepEqual(seen, [
      { ...common, kind: "toolBefore:exec", ...rest },
      { ...common, kind: "runBefore", ...rest },
    ]);
  });

  it("denies if no plugin asks people, naming the plugin with the question", async () => {
    assert.match((await createQuestions(() => undefined, assert.fail)(question))?.reason ?? "", /plugin careful/);
  });

  it("denies when asking fails, and reports the failure", async () => {
    const failures: unknown[] = [];
    const broken: Approver = { ask: () => Promise.reject(new Error("disk")) };
    const denial = await createQuestions(
      () => broken,
      (error, plugin) => failures.push([(error as Error).message, plugin]),
    )(question);
    assert.match(denial?.reason ?? "", /the request for it failed; see the log/);
    assert.deepEqual(failures, [["disk", "careful"]]);
  });
});
