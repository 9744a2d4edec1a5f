/** Converts table rows to objects. Pure. */
import type {
  CompactCronJob,
  CronDeliveryStatus,
  CronJob,
  CronJobState,
  CronRunEntry,
  CronStatus,
} from "@svc/sdk/cron";
import type { Row } from "@svc/sdk/storage";
import { defined } from "../fields.ts";

/** The settings of a job. */
export type Definition = Omit<CronJob, "state">;
/** The state of a job after its last run. */
export type Facts = Omit<CronJobState, "nextRunAtMs" | "runningAtMs">;

/** A job as it is stored. Times: epoch ms. */
export interface StoredJob {
  readonly definition: Definition;
  readonly facts: Facts;
  /** The first scheduled run without a record. */
  readonly nextAt: number | undefined;
  /** End of the back-off after errors; 0: none. */
  readonly heldUntil: number;
  readonly runningAt: number | undefined;
  readonly revision: number;
}

export type FireStatus = "waiting" | "running" | "ran" | "skipped" | "missed";

/** A scheduled run, or a run by hand. Times: epoch ms. */
export interface Fire {
  readonly jobId: string;
  /** For a run by hand: when it was requested. */
  readonly dueAt: number;
  readonly throughAt: number;
  readonly status: FireStatus;
  readonly isManual: boolean;
  /** Id of the agent run; ids of its notifications and events begin with it. */
  readonly runId: string;
  readonly fence: number;
  readonly startedAt: number | undefined;
  readonly settledAt: number | undefined;
  /** The fields of the record; empty before the run has ended. */
  readonly entry: Partial<CronRunEntry>;
}

/** The final record of a run. */
export interface Settled {
  readonly status: "ran" | "skipped" | "missed";
  /** epoch ms */
  readonly at: number;
  readonly entry: Partial<CronRunEntry> & { readonly status: CronStatus };
  /** Session that holds only this run. */
  readonly runKey?: string;
}

/** The record of a scheduled run that does not take place. @param at epoch ms */
export function notRun(status: "skipped" | "missed", reason: string, at: number): Settled {
  return { status, at, entry: { status: "skipped", error: `${status}: ${reason}`, reason } };
}

export interface JobRow extends Row {
  readonly id: string;
  readonly job: string;
  readonly facts: string;
  readonly next_at: number | bigint | null;
  readonly held_until: number | bigint;
  readonly revision: number | bigint;
  readonly running_at: number | bigint | null;
}

export interface FireRow extends Row {
  readonly job_id: string;
  readonly due_at: number | bigint;
  readonly through_at: number | bigint;
  readonly status: FireStatus;
  readonly is_manual: number | bigint;
  readonly run_id: string;
  readonly fence: number | bigint;
  readonly started_at: number | bigint | null;
  readonly settled_at: number | bigint | null;
  readonly entry: string | null;
}

export function toJob(row: JobRow): StoredJob {
  return {
    definition: JSON.parse(row.job) as Definition, // written by this plugin, from checked input
    facts: JSON.parse(row.facts) as Facts, // written by this plugin
    nextAt: maybe(row.next_at),
    heldUntil: Number(row.held_until),
    runningAt: maybe(row.running_at),
    revision: Number(row.revision),
  };
}

export function toFire(row: FireRow): Fire {
  return {
    jobId: row.job_id,
    dueAt: Number(row.due_at),
    throughAt: Number(row.through_at),
    status: row.status,
    isManual: Number(row.is_manual) === 1,
    runId: row.run_id,
    fence: Number(row.fence),
    startedAt: maybe(row.started_at),
    settledAt: maybe(row.settled_at),
    entry: JSON.parse(row.entry ?? "{}") as Fire["entry"], // written by this plugin
  };
}

function maybe(value: number | bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

/** When the job is due, epoch ms; `undefined`: never by itself. */
export function wakeAtOf({ definition, nextAt, heldUntil }: Pick<StoredJob, "definition" | "nextAt" | "heldUntil">) {
  return definition.enabled && nextAt !== undefined ? Math.max(nextAt, heldUntil) : undefined;
}

/** The job as clients see it. */
export function shownJob(job: StoredJob): CronJob {
  const { definition, facts, runningAt } = job;
  const nextRunAtMs = wakeAtOf(job);
  return {
    ...definition,
    state: defined<CronJobState>({ ...facts, nextRunAtMs, runningAtMs: runningAt }),
  };
}

/** The job without its payload and settings. */
export function compactJob(job: CronJob): CompactCronJob {
  const { id, name, displayName, agentId, enabled, updatedAtMs, schedule, state } = job;
  const { runningAtMs, lastDelivered, lastDeliveryStatus, lastDeliveryError } = state;
  return defined<CompactCronJob>({
    id,
    name,
    displayName,
    agentId,
    enabled,
    updatedAtMs,
    scheduleKind: schedule.kind,
    schedule,
    nextRunAtMs: state.nextRunAtMs ?? null,
    lastRunAtMs: state.lastRunAtMs ?? null,
    lastRunStatus: state.lastRunStatus ?? null,
    lastRunError: state.lastError ?? null,
    runningAtMs,
    lastDelivered,
    lastDeliveryStatus,
    lastDeliveryError,
  });
}

/** Where the output of a job goes, for people. The address of a webhook may hold a secret, so it is not repeated. */
export function deliveryPreview({ delivery, sessionTarget }: CronJob): { label: string; detail: string } {
  if (!delivery || delivery.mode === "none") {
    const detail = sessionTarget === "main" ? "the event is read in the main session" : "the reply is not delivered";
    return { label: "none", detail };
  }
  if (delivery.mode === "webhook") return { label: "webhook", detail: "posted to the address in delivery.to" };
  const { channel = "last", to, threadId, accountId } = delivery;
  const where = to === undefined ? channel : `${channel}:${to}`;
  const details = [
    channel === "last" ? "last chat of the agent's main session" : "configured in the job",
    ...(threadId === undefined ? [] : [`thread ${threadId}`]),
    ...(accountId === undefined ? [] : [`account ${accountId}`]),
  ];
  return { label: where, detail: details.join(", ") };
}

/** A settled run as clients see it. */
export function shownFire(row: FireRow & { readonly name?: string | null }): CronRunEntry {
  const fire = toFire(row);
  return {
    ts: fire.settledAt ?? 0,
    jobId: fire.jobId,
    ...(row.name ? { jobName: row.name } : {}),
    action: "finished",
    record: fire.status === "skipped" || fire.status === "missed" ? fire.status : "ran",
    dueAtMs: fire.dueAt,
    ...(fire.throughAt > fire.dueAt ? { throughAtMs: fire.throughAt } : {}),
    ...(fire.isManual ? { manual: true } : {}),
    ...fire.entry,
  };
}

/** Spec: without a requested delivery it is `not-requested`. */
export function deliveryOf({ deliveryStatus }: Pick<Settled["entry"], "deliveryStatus">): CronDeliveryStatus {
  return deliveryStatus ?? "not-requested";
}
