/** What a job does at one of its times, and whom its words go to. May be repeated after a crash at any point. */
import { deliverableReply, replySummary } from "@svc/kit/runs";
import { isGatewayError, type Logger, unavailable } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { SystemEvent, SystemEvents } from "@svc/sdk/heartbeat";
import { agentOf, type AgentRunSources, runAgent } from "./agent-run.ts";
import type { CronConfig } from "./config.ts";
import { type Delivered, modelFacts, NOT_REQUESTED, withDelivery } from "./entries.ts";
import { primaryOf } from "./notices.ts";
import type { Definition, Fire, Settled } from "./records.ts";
import { tell, type TellingSources } from "./telling.ts";
import { type Ended, endOf } from "./verdict.ts";

export interface ExecutionSources extends AgentRunSources {
  readonly events: Pick<SystemEvents, "isFull">;
  readonly telling: TellingSources;
  readonly config: CronConfig;
  readonly log: Logger;
}

/** What it came to, before that is recorded. */
export interface Done {
  readonly ended: Ended;
  readonly delivered: Delivered;
  /** What the record says beside. */
  readonly facts: Partial<Settled["entry"]>;
  /** Session that has only this run. */
  readonly runKey?: string;
  /** To be stored together with the record, so that it is told exactly as often as the job ran. */
  readonly event?: SystemEvent;
}

/** @param signal aborts when it is left to who takes it over. @throws the signal's reason */
export async function perform(
  job: Definition,
  fire: Fire,
  sources: ExecutionSources,
  signal: AbortSignal,
): Promise<Done> {
  try {
    return job.payload.kind === "systemEvent"
      ? await tellMain(job, job.payload.text, fire, sources)
      : await askAgent(job, job.payload, fire, sources, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ended: refused(error, job.id, sources.log), delivered: NOT_REQUESTED, facts: {} };
  }
}

/** Why it could not even begin. */
function refused(error: unknown, jobId: string, log: Logger): Ended {
  if (isGatewayError(error))
    return { status: "error", error: error.message, isTransient: error.code === "UNAVAILABLE" };
  log.error({ err: error, jobId }, "a cron job failed by a bug");
  return { status: "error", error: "internal error; the log has it", isTransient: false };
}

async function tellMain(job: Definition, text: string, { runId }: Fire, sources: ExecutionSources): Promise<Done> {
  const { sessions, events, clock } = sources;
  const sessionKey = job.sessionKey ? sessions.canonicalKey(job.sessionKey) : mainKey(job, sources);
  if (await events.isFull(sessionKey)) unavailable(`too many events wait for session ${sessionKey}`);
  const ended: Ended = { status: "ok", summary: replySummary(text), isTransient: false };
  const facts = { sessionKey };
  const delivered = await deliver(job, runId, text, { ended, facts }, sources);
  return {
    ended: withDelivery(ended, delivered, job.delivery),
    delivered,
    facts,
    event: { id: runId, sessionKey, text, wake: job.wakeMode, reason: `cron:${job.id}`, at: clock.now() },
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
  const facts = { ...modelFacts(outcome), sessionKey, ...(sessionId === undefined ? {} : { sessionId }) };
  const delivered = await deliver(job, fire.runId, outcome.text, { ended, facts }, sources);
  const event = undelivered(job, fire, ended, delivered, sources);
  return {
    ended: withDelivery(ended, delivered, job.delivery),
    delivered,
    facts,
    ...(runKey === undefined ? {} : { runKey }),
    ...(event ? { event } : {}),
  };
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
  if (text === undefined) return { delivered: false, deliveryStatus: "not-delivered" }; // nobody needs to hear of it
  const words = { id, agentId: agentOf(job.agentId, sources.agents), text, payload: finished(job.id, ended, facts) };
  return tell(words, destination, sources.telling);
}

/** The `finished` event, as far as it is known. */
export function finished(jobId: string, { status, summary, error }: Ended, facts: Done["facts"]): CronEventPayload {
  return {
    ...facts,
    jobId,
    action: "finished",
    status,
    ...(summary === undefined ? {} : { summary }),
    ...(error === undefined ? {} : { error }),
  };
}

/** Spec: protocol/methods-cron.md §10: what was to be announced and got nowhere is told to the main session. */
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

function mainKey({ agentId }: Definition, { sessions, agents }: AgentRunSources): string {
  return sessions.canonicalKey(`agent:${agentOf(agentId, agents)}:main`);
}
