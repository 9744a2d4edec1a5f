/** What the rows of the tables mean. Pure. */
import type { CronDeliveryStatus, CronJob, CronJobState, CronRunEntry, CronStatus } from "@svc/sdk/cron";
import type { Row } from "@svc/sdk/storage";

/** What people set of a job. */
export type Definition = Omit<CronJob, "state">;
/** How its last run went, as far as that is stored with the job. */
export type Facts = Omit<CronJobState, "nextRunAtMs" | "runningAtMs">;

/** A job as it is stored. Times: epoch ms. */
export interface StoredJob {
  readonly definition: Definition;
  readonly facts: Facts;
  /** The first time that has no record yet. */
  readonly nextAt: number | undefined;
  /** 0: it is not held back. */
  readonly heldUntil: number;
  readonly runningAt: number | undefined;
  readonly revision: number;
}

export type FireStatus = "waiting" | "running" | "ran" | "skipped" | "missed";

/** One time of a job. Times: epoch ms. */
export interface Fire {
  readonly jobId: string;
  /** Of a run by hand: when it was asked for. */
  readonly dueAt: number;
  readonly throughAt: number;
  readonly status: FireStatus;
  readonly isManual: boolean;
  /** Of the run of the agent, and of all that follows from it. */
  readonly runId: string;
  readonly fence: number;
  readonly startedAt: number | undefined;
  readonly leaseUntil: number;
}

/** How a time was settled. */
export interface Settled {
  readonly status: "ran" | "skipped" | "missed";
  /** epoch ms */
  readonly at: number;
  readonly entry: Partial<CronRunEntry> & { readonly status: CronStatus };
  /** Session that has only this run. */
  readonly runKey?: string;
}

/** A time that is not run, and why. @param at epoch ms */
export function passedAs(status: "skipped" | "missed", reason: string, at: number): Settled {
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
  readonly lease_until: number | bigint | null;
  readonly started_at: number | bigint | null;
  readonly settled_at: number | bigint | null;
  readonly entry: string | null;
}

export function toJob(row: JobRow): StoredJob {
  return {
    definition: JSON.parse(row.job) as Definition, // written by this plugin, checked before
    facts: JSON.parse(row.facts) as Facts, // the same
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
    leaseUntil: Number(row.lease_until ?? 0),
  };
}

function maybe(value: number | bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

/** When the job is to be looked at; `undefined`: never by itself. */
export function wakeAtOf({ definition, nextAt, heldUntil }: Pick<StoredJob, "definition" | "nextAt" | "heldUntil">) {
  return definition.enabled && nextAt !== undefined ? Math.max(nextAt, heldUntil) : undefined;
}

/** The job as clients see it. */
export function shownJob(job: StoredJob): CronJob {
  const { definition, facts, runningAt } = job;
  const nextRunAtMs = wakeAtOf(job);
  return {
    ...definition,
    state: {
      ...facts,
      ...(nextRunAtMs === undefined ? {} : { nextRunAtMs }),
      ...(runningAt === undefined ? {} : { runningAtMs: runningAt }),
    },
  };
}

/** A settled time as clients see it. */
export function shownFire(row: FireRow & { readonly name?: string | null }): CronRunEntry {
  const fire = toFire(row);
  return {
    ts: Number(row.settled_at ?? 0),
    jobId: fire.jobId,
    ...(row.name ? { jobName: row.name } : {}),
    action: "finished",
    record: fire.status === "skipped" || fire.status === "missed" ? fire.status : "ran",
    dueAtMs: fire.dueAt,
    ...(fire.throughAt > fire.dueAt ? { throughAtMs: fire.throughAt } : {}),
    ...(fire.isManual ? { manual: true } : {}),
    ...(JSON.parse(row.entry ?? "{}") as Partial<CronRunEntry>), // written by this plugin
  };
}

/** Spec: a run whose delivery nobody asked for counts as `not-requested`. */
export function deliveryOf({ deliveryStatus }: Settled["entry"]): CronDeliveryStatus {
  return deliveryStatus ?? "not-requested";
}
