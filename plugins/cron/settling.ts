/** Records what became of a time, together with what becomes of the job, and tells those who want to know. */
import { persist } from "@svc/kit/persist";
import type { Clock, Logger } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import { agentOf } from "./agent-run.ts";
import type { Done, ExecutionSources } from "./execution.ts";
import { finished } from "./execution.ts";
import type { JobChanges } from "./job-changes.ts";
import { alertDestination, type Destination, failureDestination, failureText } from "./notices.ts";
import { type Definition, type Fire, type Settled, type StoredJob, wakeAtOf } from "./records.ts";
import type { CronStore, JobChange } from "./store.ts";
import { tell } from "./telling.ts";
import { afterRun, type Aftermath } from "./verdict.ts";

export interface SettlingSources extends Pick<ExecutionSources, "agents" | "telling" | "config"> {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly events: Pick<SystemEvents, "statements" | "stored">;
  readonly clock: Clock;
  readonly log: Logger;
  publish(payload: CronEventPayload): void;
  /** Told when the job is to be looked at next, epoch ms. */
  noticed(wakeAt: number | undefined): void;
}

/** What is told once the record is on disk. */
interface Told {
  readonly payload: CronEventPayload;
  readonly isRemoved: boolean;
  readonly errors: number;
  readonly alert: Destination | undefined;
}

/**
 * @param fire one's own
 * @param signal gives up repeating a write that storage refuses; nothing is recorded then. @throws its reason
 */
export async function settle(
  job: Definition,
  fire: Fire,
  done: Done,
  sources: SettlingSources,
  signal: AbortSignal,
): Promise<void> {
  const { changes, store, events, clock, log, publish, config } = sources;
  let told: Told | undefined;
  const write = async () => {
    told = await changes.change(job.id, async (stored) => {
      if (!(await store.owns(fire))) return { result: undefined };
      const { change, settled, ...result } = decide(job, fire, done, stored, sources);
      const beside = [...(done.event ? events.statements(done.event) : []), store.settle(fire, job.name, settled)];
      return { ...(change ? { job: change } : {}), beside, result };
    });
  };
  await persist(write, { clock, signal });
  if (!told) return log.warn({ jobId: job.id, dueAt: fire.dueAt }, "a time of a cron job was settled by somebody else");
  if (done.event) events.stored(done.event);
  sources.noticed(told.payload.nextRunAtMs);
  publish(told.payload);
  if (told.isRemoved) publish({ jobId: job.id, action: "removed" });
  if (done.ended.status === "error") await tellFailure(job, fire, done, told, sources);
  await store.prune(job.id, config.runLog.keepLines).catch((error: unknown) => {
    log.debug({ err: error, jobId: job.id }, "old records of a cron job could not be forgotten now");
  });
}

function decide(
  job: Definition,
  fire: Fire,
  { ended, delivered, facts, runKey }: Done,
  stored: StoredJob | undefined,
  { clock, config }: SettlingSources,
): Told & { readonly change: JobChange | "remove" | undefined; readonly settled: Settled } {
  const now = clock.now();
  const startedAt = fire.startedAt ?? now;
  const after = stored && afterRun(stored, ended, delivered, { startedAt, now }, config.retry);
  const alert = after && alertDestination(job, after.facts, config, now);
  const change = stored && after && changeOf(stored, after, alert !== undefined, now);
  const nextRunAtMs = stored && change && change !== "remove" ? wakeAtOf({ ...stored, ...change }) : undefined;
  const entry: Settled["entry"] = {
    status: ended.status,
    runAtMs: startedAt,
    durationMs: Math.max(0, now - startedAt),
    ...(ended.error === undefined ? {} : { error: ended.error }),
    ...(ended.summary === undefined ? {} : { summary: ended.summary }),
    ...delivered,
    ...facts,
    ...(nextRunAtMs === undefined ? {} : { nextRunAtMs }),
  };
  return {
    change,
    settled: { status: "ran", at: now, entry, ...(runKey === undefined ? {} : { runKey }) },
    payload: {
      ...finished(job.id, ended, entry),
      record: "ran",
      dueAtMs: fire.dueAt,
      ...(fire.isManual ? { manual: true } : {}),
    },
    isRemoved: change === "remove",
    errors: after?.facts.consecutiveErrors ?? 1,
    alert,
  };
}

function changeOf({ definition }: StoredJob, after: Aftermath, isAlerted: boolean, now: number): JobChange | "remove" {
  if (after.remove) return "remove";
  const { enabled, facts, heldUntil, retryAt } = after;
  return {
    definition: enabled === definition.enabled ? definition : { ...definition, enabled, updatedAtMs: now },
    facts: isAlerted ? { ...facts, lastFailureAlertAtMs: now } : facts,
    heldUntil,
    ...(retryAt === undefined ? {} : { nextAt: retryAt }),
  };
}

/** Never rejects. */
async function tellFailure(
  job: Definition,
  { runId }: Fire,
  { ended }: Done,
  { payload, errors, alert }: Told,
  { config, agents, telling, log }: SettlingSources,
): Promise<void> {
  const text = failureText(job, errors, ended.error ?? "no reason given");
  const words = { agentId: agentOf(job.agentId, agents), text, payload };
  for (const [kind, destination] of [
    ["alert", alert],
    ["failure", failureDestination(job, config)],
  ] as const) {
    if (!destination) continue;
    const { deliveryError: reason } = await tell({ ...words, id: `${runId}:${kind}` }, destination, telling);
    if (reason !== undefined) log.warn({ jobId: job.id, reason }, "that a cron job failed could not be told");
  }
}
