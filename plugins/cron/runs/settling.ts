/** Records the result of a run and the change of its job in one transaction, then sends the notifications. */
import { persist } from "@svc/kit/persist";
import type { Clock, Logger } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import { defined } from "../fields.ts";
import { homeKey } from "./agent-run.ts";
import { type Done, type ExecutionSources, finished } from "./execution.ts";
import type { JobChanges } from "../store/job-changes.ts";
import { alertDestination, type Destination, failureDestination, failureText } from "./destinations.ts";
import { type Definition, type Fire, type Settled, type StoredJob, wakeAtOf } from "../store/records.ts";
import type { CronStore, JobChange } from "../store/store.ts";
import { notify } from "./notifications.ts";
import { afterRun, type Aftermath } from "./verdict.ts";

export interface SettlingSources extends Pick<ExecutionSources, "agents" | "sessions" | "notifications" | "config"> {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly events: Pick<SystemEvents, "statements" | "stored">;
  readonly clock: Clock;
  readonly log: Logger;
  publish(payload: CronEventPayload): void;
  /** Called with the time when the job is due next, epoch ms. */
  wakeBy(wakeAt: number | undefined): void;
}

/** Data to publish once the record is on disk. */
interface Recorded {
  readonly payload: CronEventPayload;
  readonly isRemoved: boolean;
  readonly errors: number;
  readonly alert: Destination | undefined;
}

/**
 * @param fire must be claimed by this owner
 * @param signal ends the retries of a failing write; nothing is recorded then. @throws the signal's reason
 */
export async function settle(
  job: Definition,
  fire: Fire,
  done: Done,
  sources: SettlingSources,
  signal: AbortSignal,
): Promise<void> {
  const { changes, store, events, clock, log, publish, config } = sources;
  let recorded: Recorded | undefined;
  const write = async () => {
    recorded = await changes.change(job.id, async (stored) => {
      if (!(await store.owns(fire))) return { result: undefined };
      const { change, settled, ...result } = decide(job, fire, done, stored, sources);
      const beside = [...(done.event ? events.statements(done.event) : []), store.settle(fire, job.name, settled)];
      return { ...(change ? { job: change } : {}), beside, result };
    });
  };
  await persist(write, { clock, signal });
  if (!recorded)
    return log.warn({ jobId: job.id, dueAt: fire.dueAt }, "another gateway already recorded this run of a cron job");
  if (done.event) events.stored(done.event);
  sources.wakeBy(recorded.payload.nextRunAtMs);
  publish(recorded.payload);
  if (recorded.isRemoved) publish({ jobId: job.id, action: "removed" });
  if (done.ended.status === "error") await notifyOfFailure(job, fire, done, recorded, sources);
  await store.prune(job.id, config.runLog.keepLines).catch((error: unknown) => {
    log.debug({ err: error, jobId: job.id }, "old records of a cron job could not be deleted now");
  });
}

function decide(
  job: Definition,
  fire: Fire,
  { ended, delivered, facts, runKey }: Done,
  stored: StoredJob | undefined,
  { clock, config }: SettlingSources,
): Recorded & { readonly change: JobChange | "remove" | undefined; readonly settled: Settled } {
  const now = clock.now();
  const startedAt = fire.startedAt ?? now;
  const after = stored && afterRun(stored, ended, delivered, { startedAt, now }, config.retry);
  const alert = after && alertDestination(job, after.facts, config, now);
  const change = stored && after && changeOf(stored, after, alert !== undefined, now);
  const nextRunAtMs = stored && change && change !== "remove" ? wakeAtOf({ ...stored, ...change }) : undefined;
  const entry = defined<Settled["entry"]>({
    status: ended.status,
    runAtMs: startedAt,
    durationMs: Math.max(0, now - startedAt),
    error: ended.error,
    summary: ended.summary,
    ...delivered,
    ...facts,
    nextRunAtMs,
  });
  return {
    change,
    settled: defined<Settled>({ status: "ran", at: now, entry, runKey }),
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
async function notifyOfFailure(
  job: Definition,
  { runId }: Fire,
  { ended }: Done,
  { payload, errors, alert }: Recorded,
  { config, agents, sessions, notifications, log }: SettlingSources,
): Promise<void> {
  const text = failureText(job, errors, ended.error ?? "no reason given");
  const notification = { sessionKey: homeKey(job, { sessions, agents }), text, payload };
  for (const [kind, destination] of [
    ["alert", alert],
    ["failure", failureDestination(job, config)],
  ] as const) {
    if (!destination) continue;
    const { deliveryError: reason } = await notify(
      { ...notification, id: `${runId}:${kind}` },
      destination,
      notifications,
    );
    if (reason !== undefined)
      log.warn({ jobId: job.id, reason }, "the notification of a failed cron job could not be sent");
  }
}
