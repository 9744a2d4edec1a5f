import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import type { Attempts } from "../../../plugins/webhook-agent/attempts.ts";
import { HookRuns } from "../../../plugins/webhook-agent/hook-runs.ts";
import type { Report, Summary } from "../../../plugins/webhook-agent/report.ts";
import { hookJob as job, hookParams } from "./surroundings.ts";

const params = { ...hookParams, deliver: true };
const outcome: RunOutcome = { runId: "r1", sessionKey: "k", status: "ok", endedAt: 1, text: "All green" };

function open(ended: RunOutcome, deliver: () => Promise<undefined> = async () => undefined) {
  const told: [runId: string, summary: Summary][] = [];
  const attempts: Pick<Attempts, "earlier" | "make" | "tools"> = {
    earlier: async () => undefined,
    make: async () => ({ outcome: ended, isInterrupted: false }),
    tools: async () => "none",
  };
  const report: Pick<Report, "deliver" | "tell"> = {
    deliver,
    async tell({ runId }, summary) {
      told.push([runId, summary]);
    },
  };
  return { told, hookRuns: new HookRuns(attempts, report) };
}

const signal = new AbortController().signal;

describe("a webhook without attempts left", () => {
  it("is reported with the undelivered reply", async () => {
    const { told, hookRuns } = open(outcome, () => Promise.reject(new GatewayError("UNAVAILABLE", "no pigeons")));
    await assert.rejects(hookRuns.run(job, params, signal), { code: "UNAVAILABLE" });
    await hookRuns.failed({ runId: "r1", reason: "no pigeons" });
    const text = "All green";
    assert.deepEqual(told, [["r1", { name: "Build", wakeMode: "next-heartbeat", status: "error", text }]]);
  });

  it("is reported with the reason without a reply", async () => {
    const failed = { ...outcome, status: "error", errorMessage: "busy", retryable: true, text: "" } as const;
    const { told, hookRuns } = open(failed);
    await assert.rejects(hookRuns.run(job, params, signal), { code: "UNAVAILABLE", message: "busy" });
    await hookRuns.failed({ runId: "r1", reason: "tried 5 times: busy" });
    assert.deepEqual(told[0]?.[1].text, "tried 5 times: busy");
  });

  it("is reported with the default name if nothing else is known", async () => {
    const { told, hookRuns } = open(outcome);
    await hookRuns.failed({ runId: "r9" });
    assert.deepEqual(told, [["r9", { name: "Hook", wakeMode: "now", status: "error", text: "it failed" }]]);
  });
});

it("has the failed run and its session in the record", async () => {
  const { hookRuns } = open({ ...outcome, status: "error", errorMessage: "no" });
  await assert.rejects(hookRuns.run(job, params, signal), {
    code: "INVALID_REQUEST",
    message: "no",
    details: { agentRunId: "r1", sessionKey: "k", status: "error" },
  });
});
