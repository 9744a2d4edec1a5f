/** Executes the payload of a job and delivers the result. Safe to repeat after a crash at any point. */
import { deliverableReply, isGatewayStopping, replySummary } from "@svc/kit/runs";
import { isGatewayError, type Logger } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import type { CronEventPayload, CronRunEntry } from "@svc/sdk/cron";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import { type AgentRunSources, homeKey, mainKey, runAgent, textOrigin } from "./agent-run.ts";
import type { CronConfig } from "../config.ts";
import { defined } from "../fields.ts";
import { primaryOf } from "./destinations.ts";
import type { Definition, Fire, Settled } from "../store/records.ts";
import { type Delivered, notify, type NotificationSources } from "./notifications.ts";
import { type Ended, endOf, withDelivery } from "./verdict.ts";

const NOT_REQUESTED: Delivered = { deliveryStatus: "not-requested" };

export interface ExecutionSources extends AgentRunSources {
  readonly notifications: NotificationSources;
  readonly config: CronConfig;
  readonly log: Logger;
}

/** The result of a run, before it is recorded. */
export interface Done {
  readonly ended: Ended;
  readonly delivered: Delivered;
  /** Further fields of the record. */
  readonly facts: Partial<Settled["entry"]>;
  /** Session that holds only this run. */
  readonly runKey?: string;
  /** Stored in the transaction of the record, so that there is exactly one event for each run. */
  readonly event?: SystemEvent;
}

/**
 * @param signal aborted when the next plugin generation takes the run over
 * @throws the signal's reason; GatewayError `UNAVAILABLE` (`isGatewayStopping`): the run begins after the restart
 */
export async function perform(
  job: Definition,
  fire: Fire,
  sources: ExecutionSources,
  signal: AbortSignal,
): Promise<Done> {
  try {
    return job.payload.kind === "systemEvent"
      ? await notifyMain(job, job.payload.text, fire, sources)
      : await askAgent(job, job.payload, fire, sources, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isGatewayStopping(error)) throw error;
    return { ended: refused(error, job.id, sources.log), delivered: NOT_REQUESTED, facts: {} };
  }
}

/** The end of a run that could not begin. */
function refused(error: unknown, jobId: string, log: Logger): Ended {
  if (isGatewayError(error))
    return { status: "error", error: error.message, isTransient: error.code === "UNAVAILABLE" };
  log.error({ err: error, jobId }, "a cron job failed because of a bug");
  return { status: "error", error: "internal error; see the log", isTransient: false };
}

async function notifyMain(job: Definition, text: string, { runId }: Fire, sources: ExecutionSources): Promise<Done> {
  const { clock } = sources;
  const sessionKey = homeKey(job, sources);
  const ended: Ended = { status: "ok", summary: replySummary(text), isTransient: false };
  const facts = { sessionKey };
  const delivered = await deliver(job, runId, text, { ended, facts }, sources);
  return {
    ended: withDelivery(ended, delivered, job.delivery),
    delivered,
    facts,
    event: {
      id: runId,
      sessionKey,
      text,
      wake: job.wakeMode,
      reason: `cron:${job.id}`,
      at: clock.now(),
      origin: textOrigin(job),
    },
  };
}

type AgentPayload = Extract<Definition["payload"], { kind: "agentTurn" }>;

async function askAgent(
  job: Definition,
  payload: AgentPayload,
  fire: Fire,
  sources: ExecutionSources,
  signal: AbortSignal,
): Promise<Done> {
  const { outcome, sessionKey, runKey } = await runAgent(job, payload, fire, sources, signal);
  const { sessionId } = outcome;
  const ended = endOf(outcome, sources.config.retry.retryOn, replySummary(outcome.text));
  const facts = defined<Done["facts"]>({ ...modelFacts(outcome), sessionKey, sessionId });
  const delivered = await deliver(job, fire.runId, outcome.text, { ended, facts }, sources);
  const event = undelivered(job, fire, ended, delivered, sources);
  return defined<Done>({ ended: withDelivery(ended, delivered, job.delivery), delivered, facts, runKey, event });
}

async function deliver(
  job: Definition,
  id: string,
  reply: string,
  { ended, facts }: Pick<Done, "ended" | "facts">,
  sources: ExecutionSources,
): Promise<Delivered> {
  const destination = primaryOf(job.delivery);
  if (!destination || ended.status !== "ok") return NOT_REQUESTED;
  const text = destination.mode === "webhook" ? ended.summary : deliverableReply(reply);
  if (text === undefined) return { delivered: false, deliveryStatus: "not-delivered" }; // the agent replied NO_REPLY or HEARTBEAT_OK
  const sessionKey = homeKey(job, sources);
  return notify({ id, sessionKey, text, payload: finished(job.id, ended, facts) }, destination, sources.notifications);
}

/** The `finished` event. @param facts further fields of the record */
export function finished(jobId: string, { status, summary, error }: Ended, facts: Done["facts"]): CronEventPayload {
  const known = { summary: summary ?? facts.summary, error: error ?? facts.error };
  return defined<CronEventPayload>({ ...facts, ...known, jobId, action: "finished", status });
}

/** Spec: protocol/methods-cron.md §10: the main session gets a report that could not be announced. */
function undelivered(
  job: Definition,
  { runId }: Fire,
  { status, summary }: Ended,
  { deliveryStatus, deliveryError }: Delivered,
  sources: ExecutionSources,
): SystemEvent | undefined {
  const isLost = job.delivery?.mode === "announce" && deliveryStatus === "not-delivered" && deliveryError !== undefined;
  if (!isLost || status !== "ok" || summary === undefined) return undefined;
  return {
    id: `${runId}:summary`,
    sessionKey: mainKey(job, sources),
    text: `Cron job "${job.name}" (its report could not be delivered): ${summary}`,
    wake: job.wakeMode,
    reason: `cron:${job.id}`,
    at: sources.clock.now(),
  };
}

/** Fields of the record about the model. */
function modelFacts({ model, provider, usage }: RunOutcome): Partial<CronRunEntry> {
  return defined<Partial<CronRunEntry>>({
    model,
    provider,
    usage: usage && {
      input_tokens: usage.input,
      output_tokens: usage.output,
      total_tokens: usage.totalTokens,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    },
  });
}
