/** How the end of a run changes its job, and which notifications are sent. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import { CronConfig } from "../../../../plugins/cron/config.ts";
import { alertDestination, failureDestination, failureText } from "../../../../plugins/cron/runs/destinations.ts";
import type { Definition, Facts } from "../../../../plugins/cron/store/records.ts";
import { afterRun, BACKOFF_MS, type Ended, endOf, TIMED_OUT } from "../../../../plugins/cron/runs/verdict.ts";

const config = withDefaults(CronConfig, {});
const NOW = Date.UTC(2026, 0, 1);
const outcome = (more: Partial<RunOutcome>): RunOutcome => ({
  runId: "r",
  sessionKey: "k",
  status: "error",
  endedAt: NOW,
  text: "",
  errorMessage: "no",
  ...more,
});

const definition: Definition = {
  id: "job",
  name: "job",
  enabled: true,
  createdAtMs: 0,
  updatedAtMs: 0,
  schedule: { kind: "every", everyMs: 60_000, anchorMs: 0 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "go" },
};
const once: Definition = {
  ...definition,
  schedule: { kind: "at", at: "2026-01-01T00:00:00.000Z" },
  deleteAfterRun: true,
};
const ok: Ended = { status: "ok", isTransient: false };
const failed: Ended = { status: "error", error: "no", isTransient: false };

describe("the end of a run", () => {
  const cases: [what: string, more: Partial<RunOutcome>, expected: Partial<Ended>][] = [
    ["is ok", { status: "ok" }, { status: "ok", isTransient: false }],
    ["is too late", { status: "aborted", abortReason: "timeout" }, { status: "error", error: TIMED_OUT }],
    ["was wanted", { status: "aborted", abortReason: "rpc" }, { error: "the run was stopped (rpc)" }],
    ["may pass", { retryable: true, failure: "rate_limit" }, { error: "no", isTransient: true }],
    ["stays", { failure: "auth" }, { isTransient: false }],
    ["is a restart, before anything was done", { calledTools: false }, { isTransient: true }],
    ["is a restart, after tools were called", { calledTools: true }, { isTransient: false }],
  ];
  for (const [what, more, expected] of cases) {
    it(what, () => {
      const ended = endOf(outcome(more), config.retry.retryOn, "");
      assert.deepEqual({ ...ended, ...expected }, ended);
    });
  }

  it("is not retried for failures that retryOn leaves out", () => {
    const limited = outcome({ retryable: true, failure: "rate_limit" });
    assert.equal(endOf(limited, ["network"], "").isTransient, false);
  });
});

describe("after a run", () => {
  const after = (job: Definition, ended: Ended, facts: Facts = {}) =>
    afterRun({ definition: job, facts }, ended, {}, { startedAt: NOW - 5, now: NOW }, config.retry);

  it("errors in a row prolong the back-off", () => {
    const held = [0, 1, 2, 3, 4, 5, 99].map(
      (consecutiveErrors) => after(definition, failed, { consecutiveErrors }).heldUntil - NOW,
    );
    assert.deepEqual(held, [...BACKOFF_MS, 3_600_000, 3_600_000]);
    const { heldUntil, facts } = after(definition, ok, { consecutiveErrors: 3, lastError: "old" });
    assert.deepEqual([heldUntil, facts.consecutiveErrors, facts.lastError, facts.lastDurationMs], [0, 0, undefined, 5]);
  });

  it("a job that runs once is removed, disabled or retried", () => {
    assert.equal(after(once, ok).remove, true);
    assert.equal(after({ ...once, deleteAfterRun: false }, ok).enabled, false);
    assert.equal(after(once, failed).enabled, false);
    const transient = { ...failed, isTransient: true };
    assert.deepEqual(
      [0, 1, 2].map((consecutiveErrors) => (after(once, transient, { consecutiveErrors }).retryAt ?? 0) - NOW),
      config.retry.backoffMs,
    );
    assert.deepEqual(
      [after(once, transient, { consecutiveErrors: 3 }).enabled, after(once, transient).enabled],
      [false, true],
    );
  });
});

describe("failures are notified", () => {
  const alert = (job: Partial<Definition>, facts: Facts, more: object = {}) =>
    alertDestination({ ...definition, ...job }, facts, withDefaults(CronConfig, more), NOW);
  const twice = { consecutiveErrors: 2 };

  it("only where an alert is configured", () => {
    assert.equal(alert({}, twice), undefined);
    assert.equal(alert({ failureAlert: {} }, { consecutiveErrors: 1 }), undefined);
    assert.deepEqual(alert({ failureAlert: {} }, twice), { mode: "announce" });
    assert.deepEqual(alert({}, twice, { failureAlert: { enabled: true } }), { mode: "announce" });
    assert.equal(alert({ failureAlert: false }, twice, { failureAlert: { enabled: true } }), undefined);
    assert.equal(alert({ failureAlert: {}, delivery: { mode: "announce", bestEffort: true } }, twice), undefined);
  });

  it("at most once per cooldown, also when the clock was set back", () => {
    assert.equal(alert({ failureAlert: {} }, { ...twice, lastFailureAlertAtMs: NOW - 60_000 }), undefined);
    assert.ok(alert({ failureAlert: { cooldownMs: 60_000 } }, { ...twice, lastFailureAlertAtMs: NOW - 60_000 }));
    assert.ok(alert({ failureAlert: {} }, { ...twice, lastFailureAlertAtMs: NOW + 60_000 }));
  });

  it("at the destination of the job's result, unless the job sets another", () => {
    const delivery = { mode: "announce", channel: "irc", to: "#home" } as const;
    assert.deepEqual(alert({ failureAlert: {}, delivery }, twice), delivery);
    assert.deepEqual(alert({ failureAlert: { to: "#ops" }, delivery }, twice), { ...delivery, to: "#ops" });
    assert.deepEqual(alert({ failureAlert: { mode: "webhook", to: "https://x.example" }, delivery }, twice), {
      mode: "webhook",
      to: "https://x.example",
    });
  });

  it("at the failure destination, unless the result is sent there anyway", () => {
    const delivery = { mode: "announce", channel: "irc", to: "#home" } as const;
    const failureDestinationOf = (given: object, settings: object) =>
      failureDestination({ ...definition, delivery: { ...delivery, ...given } }, withDefaults(CronConfig, settings));
    const ops = { channel: "irc", to: "#ops" };
    const home = { channel: "irc", to: "#home" };
    const elsewhere = { failureDestination: ops };
    assert.deepEqual(failureDestinationOf({}, elsewhere), { mode: "announce", ...ops });
    assert.equal(failureDestinationOf({ failureDestination: home }, elsewhere), undefined);
    assert.equal(failureDestinationOf({}, {}), undefined);
    assert.match(failureText(definition, 3, "no"), /"job" failed 3 times in a row.\nLast error: no/);
  });
});
