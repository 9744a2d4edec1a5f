/**
 * Runs a webhook as an agent run: never lost, never repeated.
 *
 * Each attempt first checks the outcome of earlier ones. Delivery and summary have their own ids, so repeating them is
 * harmless.
 */
import { replySummary } from "@svc/kit/runs";
import { GatewayError, Turns, unavailable } from "@svc/sdk";
import type { WebhookJob, WebhookResult, WebhookRun } from "@svc/sdk/webhooks";
import type { Attempts } from "./attempts.ts";
import type { AgentParams } from "./fields.ts";
import type { DeliveryReport, Report, Summary } from "./report.ts";
import { type Ended, judge, type Verdict } from "./verdict.ts";
import { unlessStopping } from "./stopping.ts";

type RunAttempts = Pick<Attempts, "earlier" | "make" | "tools">;
type RunReport = Pick<Report, "deliver" | "tell">;

export class HookRuns {
  readonly #attempts: RunAttempts;
  readonly #report: RunReport;
  readonly #turns = new Turns();
  /** Summaries of webhooks in progress, in case they fail without another call. */
  readonly #open = new Map<string, Omit<Summary, "status">>();

  constructor(attempts: RunAttempts, report: RunReport) {
    this.#attempts = attempts;
    this.#report = report;
  }

  /** @throws GatewayError `UNAVAILABLE`: to be called again; any other code: it failed permanently, and the main session was notified */
  async run(job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<WebhookResult> {
    const { name, wakeMode } = params;
    this.#open.set(job.runId, { name, wakeMode, text: "" });
    return this.#turns.take(params.sessionKey, () => unlessStopping(signal, () => this.#run(job, params, signal)));
  }

  /** To be called when a webhook has failed permanently. */
  async failed({ runId, reason = "it failed" }: Pick<WebhookRun, "runId" | "reason">): Promise<void> {
    const known = this.#open.get(runId) ?? { name: "Hook", wakeMode: "now", text: "" };
    await this.#report.tell({ runId }, { ...known, status: "error", text: known.text || reason });
    this.#open.delete(runId);
  }

  async #run(job: WebhookJob, params: AgentParams, signal: AbortSignal): Promise<WebhookResult> {
    const known = await this.#attempts.earlier(job, signal);
    const before = known && { ended: known, verdict: await this.#verdict(job, params, known) };
    if (before && before.verdict.kind !== "again") return this.#finish(job, params, before.ended, before.verdict);
    const ended = await this.#attempts.make(job, params, signal);
    return this.#finish(job, params, ended, await this.#verdict(job, params, ended));
  }

  async #verdict(job: WebhookJob, { sessionKey }: AgentParams, ended: Ended): Promise<Verdict> {
    const { outcome, isInterrupted } = ended;
    const matters = outcome.status === "error" && (isInterrupted || outcome.retryable === true);
    return judge(ended, matters ? await this.#attempts.tools(job, sessionKey, outcome) : "none", job.runId);
  }

  async #finish(job: WebhookJob, params: AgentParams, ended: Ended, verdict: Verdict): Promise<WebhookResult> {
    const { name, wakeMode } = params;
    const { outcome } = ended;
    if (verdict.kind === "again") unavailable(verdict.reason);
    if (verdict.kind === "failed") {
      const { status, reason } = verdict;
      await this.#report.tell(job, { name, wakeMode, status, text: reason });
      this.#open.delete(job.runId);
      throw new GatewayError(status === "timeout" ? "AGENT_TIMEOUT" : "INVALID_REQUEST", reason, {
        details: { agentRunId: outcome.runId, sessionKey: params.sessionKey, status },
      });
    }
    this.#open.set(job.runId, { name, wakeMode, text: outcome.text });
    const delivery = await this.#report.deliver(job, params, outcome.text);
    await this.#report.tell(job, { name, wakeMode, status: "ok", text: outcome.text, ...deliveredTo(delivery) });
    this.#open.delete(job.runId);
    return {
      summary: replySummary(outcome.text) || "ok",
      details: {
        agentRunId: outcome.runId,
        sessionKey: params.sessionKey,
        status: "ok",
        ...(delivery && { delivery }),
      },
    };
  }
}

function deliveredTo(delivery: DeliveryReport): Pick<Summary, "deliveredTo"> {
  return delivery?.delivered ? { deliveredTo: delivery.channel } : {};
}
