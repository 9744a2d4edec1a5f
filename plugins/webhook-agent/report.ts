/** Reports the end of a run: to a channel if requested, and always to the main session. Spec: http/webhooks.md §5.6. */
import { deliverableReply, replySummary } from "@svc/kit/runs";
import { type Clock, type Logger, outsideOrigin } from "@svc/sdk";
import type { Delivery, DeliveryOutcome } from "@svc/sdk/channels";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import type { Sessions } from "@svc/sdk/sessions";
import type { WebhookJob } from "@svc/sdk/webhooks";
import type { AgentParams } from "./fields.ts";

/** Outcome of the delivery; `undefined`: not requested. */
export type DeliveryReport = DeliveryOutcome | undefined;

interface ReportSources {
  readonly sessions: Pick<Sessions, "canonicalKey" | "defaults">;
  readonly events: Pick<SystemEvents, "add">;
  readonly delivery: () => Delivery | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

/** Report about a webhook for the main session. */
export interface Summary {
  readonly name: string;
  readonly wakeMode: AgentParams["wakeMode"];
  /** `ok`, or the kind of failure. */
  readonly status: string;
  readonly text: string;
  /** Channel the reply was sent to. */
  readonly deliveredTo?: string;
}

export class Report {
  readonly #sources: ReportSources;

  constructor(sources: ReportSources) {
    this.#sources = sources;
  }

  /** Sends the reply; repeated calls send it once. @throws GatewayError `UNAVAILABLE` when a later attempt may succeed */
  async deliver({ runId }: WebhookJob, params: AgentParams, reply: string): Promise<DeliveryReport> {
    if (!params.deliver) return undefined;
    const text = deliverableReply(reply);
    if (text === undefined) return { delivered: false, reason: "the reply is silent" };
    const delivery = this.#sources.delivery();
    if (!delivery)
      return { delivered: false, reason: "no plugin delivers to channels; the reply stays in its session" };
    const { agentId, channel, to } = params;
    const outcome = await delivery.deliver({
      id: runId,
      channel,
      ...(to === undefined ? {} : { to }),
      // Spec: `last` is the address of the last message in the agent's main session.
      sessionKey: this.#sources.sessions.canonicalKey(`agent:${agentId}:main`),
      text,
    });
    if (!outcome.delivered)
      this.#sources.log.warn({ runId, reason: outcome.reason }, "the reply of a webhook run was not delivered");
    return outcome;
  }

  /** Adds an event to the global main session, once per webhook. @throws GatewayError `UNAVAILABLE` when a later attempt may succeed */
  async tell({ runId }: Pick<WebhookJob, "runId">, summary: Summary): Promise<void> {
    await this.#sources.events.add({
      id: `${runId}:summary`,
      sessionKey: this.#sources.sessions.defaults().mainSessionKey,
      text: summaryText(summary),
      origin: outsideOrigin("webhook", summary.name),
      wake: summary.wakeMode,
      reason: `hook:${runId}`,
      at: this.#sources.clock.now(),
    });
  }
}

/** Choice: marked as external content, since the agent answered external content. */
export function summaryText({ name, status, text, deliveredTo }: Summary): string {
  const how = status === "ok" ? "" : ` (${status})`;
  const where = deliveredTo === undefined ? "" : ` (delivered to ${deliveredTo})`;
  return `Hook ${name}${how}: ${replySummary(text) || status}${where}`;
}
