/** Scheduled jobs. Spec: protocol/methods-cron.md, events.md §6, stores.md §3-4. */
import { defineContract, defineEvent } from "../contract.ts";
import { Origin } from "../origin.ts";
import { NonEmpty, type Static, Strict, type TSchema, Type } from "../schema.ts";

const Time = Type.Integer({ description: "epoch ms" });
const text = Type.Optional(Type.String());
const filled = Type.Optional(NonEmpty);
const flag = Type.Optional(Type.Boolean());
const Natural = Type.Integer({ minimum: 0 });
const natural = Type.Optional(Natural);
const clearable = Type.Optional(Type.Union([NonEmpty, Type.Null()]));

/** When a job is due. */
export const CronSchedule = Type.Union([
  Strict({
    kind: Type.Literal("at"),
    at: Type.String({ minLength: 1, description: "ISO 8601, or epoch milliseconds as digits" }),
  }),
  Strict({ kind: Type.Literal("every"), everyMs: Type.Integer({ minimum: 1 }), anchorMs: natural }),
  Strict({
    kind: Type.Literal("cron"),
    expr: Type.String({ minLength: 1, description: "5 or 6 fields" }),
    tz: Type.Optional(
      Type.String({ description: "IANA name; default: agents.defaults.userTimezone, else the zone of the gateway" }),
    ),
    staggerMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "milliseconds; delays each job by a fixed offset below this value, different per job",
      }),
    ),
  }),
]);
export type CronSchedule = Static<typeof CronSchedule>;

const AgentTurn = {
  kind: Type.Literal("agentTurn"),
  model: text,
  fallbacks: Type.Optional(Type.Array(Type.String())),
  thinking: text,
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 0, description: "seconds; 0: no limit" })),
  allowUnsafeExternalContent: flag,
  lightContext: flag,
  deliver: flag,
  channel: text,
  to: text,
  bestEffortDeliver: flag,
};

/** What a job does. */
export const CronPayload = Type.Union([
  Strict({ kind: Type.Literal("systemEvent"), text: NonEmpty }),
  Strict({ ...AgentTurn, message: NonEmpty }),
]);
export type CronPayload = Static<typeof CronPayload>;

const Mode = Type.Enum(["announce", "webhook"]);

const FailureDestination = Strict({ channel: text, to: text, accountId: text, mode: Type.Optional(Mode) });

/** Where the output of an isolated job is delivered. */
export const CronDelivery = Strict({
  mode: Type.Enum(["none", "announce", "webhook"]),
  channel: Type.Optional(
    Type.String({ minLength: 1, description: "`last`: the last chat of the agent's main session" }),
  ),
  to: text,
  threadId: Type.Optional(Type.String({ minLength: 1, description: "thread or topic of `to`" })),
  accountId: filled,
  bestEffort: flag,
  failureDestination: Type.Optional(FailureDestination),
});
export type CronDelivery = Static<typeof CronDelivery>;

/** Who is notified of jobs that fail repeatedly. */
export const CronFailureAlert = Type.Union([
  Type.Literal(false),
  Strict({
    after: Type.Optional(Type.Integer({ minimum: 1 })),
    channel: text,
    to: text,
    cooldownMs: natural,
    mode: Type.Optional(Mode),
    accountId: text,
  }),
]);
export type CronFailureAlert = Static<typeof CronFailureAlert>;

/**
 * What happens to scheduled runs missed while the gateway was down. Choice: specific to this gateway; default `last`.
 */
export const CronCatchUp = Strict({
  mode: Type.Enum(["none", "last", "all"], {
    description:
      "none: runs more than a minute late are missed; last: the newest missed run is made up; all: every missed run in the window is made up",
  }),
  windowMs: Type.Optional(
    Type.Integer({ minimum: 1, description: "milliseconds; applies to `all`; default 86400000" }),
  ),
});
export type CronCatchUp = Static<typeof CronCatchUp>;

/**
 * What happens to a scheduled run that is due while the job is still running. Choice: specific to this gateway; default
 * `skip`.
 */
export const CronOverlap = Type.Enum(["skip", "queue", "replace"], {
  description:
    "skip: drop the new run; queue: start it afterwards; replace: stop the current run and start the new one",
});
export type CronOverlap = Static<typeof CronOverlap>;

/** How a run ended. */
export const CronStatus = Type.Enum(["ok", "error", "skipped"]);
export type CronStatus = Static<typeof CronStatus>;
/** Delivery status of the output of a run. */
export const CronDeliveryStatus = Type.Enum(["delivered", "not-delivered", "unknown", "not-requested"]);
export type CronDeliveryStatus = Static<typeof CronDeliveryStatus>;

/** State of a job and of its last run. */
export const CronJobState = Type.Object({
  nextRunAtMs: Type.Optional(Time),
  runningAtMs: Type.Optional(Time),
  lastRunAtMs: Type.Optional(Time),
  lastRunStatus: Type.Optional(CronStatus),
  lastStatus: Type.Optional(CronStatus),
  lastError: text,
  lastDurationMs: natural,
  consecutiveErrors: natural,
  lastDelivered: flag,
  lastDeliveryStatus: Type.Optional(CronDeliveryStatus),
  lastDeliveryError: text,
  lastFailureAlertAtMs: Type.Optional(Time),
  scheduleErrorCount: natural,
});
export type CronJobState = Static<typeof CronJobState>;

const SessionTarget = Type.Enum(["main", "isolated"]);
const WakeMode = Type.Enum(["now", "next-heartbeat"]);

/** What a job does, when, and how its output is delivered. */
const what = {
  schedule: CronSchedule,
  sessionTarget: SessionTarget,
  wakeMode: WakeMode,
  payload: CronPayload,
  delivery: Type.Optional(CronDelivery),
  failureAlert: Type.Optional(CronFailureAlert),
  catchUp: Type.Optional(CronCatchUp),
  overlap: Type.Optional(CronOverlap),
};

/** A new job in normalized form. `cron.add` also accepts the fields of older clients. Spec: §2. */
export const CronJobDraft = Strict({
  name: NonEmpty,
  displayName: filled,
  agentId: clearable,
  sessionKey: clearable,
  description: text,
  enabled: Type.Boolean(),
  deleteAfterRun: flag,
  ...what,
});
export type CronJobDraft = Static<typeof CronJobDraft>;

/** A scheduled job. */
export const CronJob = Type.Object({
  id: NonEmpty,
  agentId: text,
  sessionKey: text,
  description: text,
  name: NonEmpty,
  displayName: Type.Optional(Type.String({ minLength: 1, description: "label for people, in place of `name`" })),
  enabled: Type.Boolean(),
  deleteAfterRun: flag,
  createdAtMs: Time,
  updatedAtMs: Time,
  ...what,
  origin: Type.Optional(Origin),
  state: CronJobState,
});
export type CronJob = Static<typeof CronJob>;

/** Changes to a job in normalized form. `cron.update` also accepts the fields of older clients. Spec: §3. */
export const CronJobPatch = Strict({
  name: filled,
  displayName: clearable,
  agentId: clearable,
  sessionKey: clearable,
  description: text,
  enabled: flag,
  deleteAfterRun: flag,
  schedule: Type.Optional(CronSchedule),
  sessionTarget: Type.Optional(SessionTarget),
  wakeMode: Type.Optional(WakeMode),
  payload: Type.Optional(
    Type.Union([
      Strict({ kind: Type.Literal("systemEvent"), text: filled }),
      Strict({ ...AgentTurn, message: filled }),
    ]),
  ),
  delivery: Type.Optional(
    Strict({
      mode: Type.Optional(Type.Enum(["none", "announce", "webhook"])),
      channel: text,
      to: text,
      threadId: text,
      accountId: text,
      bestEffort: flag,
      failureDestination: Type.Optional(Type.Union([FailureDestination, Type.Null()])),
    }),
  ),
  failureAlert: Type.Optional(
    Type.Union([CronFailureAlert, Type.Null()], { description: "null: the setting of the gateway" }),
  ),
  catchUp: Type.Optional(CronCatchUp),
  overlap: Type.Optional(CronOverlap),
  state: Type.Optional(Type.Partial(CronJobState)),
});
export type CronJobPatch = Static<typeof CronJobPatch>;

const RunUsage = Type.Object({
  input_tokens: natural,
  output_tokens: natural,
  total_tokens: natural,
  cache_read_tokens: natural,
  cache_write_tokens: natural,
});

/** Outcome of one scheduled or manual run. */
export const CronRunEntry = Type.Object({
  ts: Type.Integer({ description: "epoch ms of the record" }),
  jobId: NonEmpty,
  jobName: text,
  action: Type.Literal("finished"),
  status: Type.Optional(CronStatus),
  error: text,
  summary: text,
  delivered: flag,
  deliveryStatus: Type.Optional(CronDeliveryStatus),
  deliveryError: text,
  sessionId: text,
  sessionKey: text,
  runAtMs: Type.Optional(Time),
  durationMs: natural,
  nextRunAtMs: Type.Optional(Time),
  model: text,
  provider: text,
  usage: Type.Optional(RunUsage),
  record: Type.Optional(
    Type.Enum(["ran", "skipped", "missed"], {
      description: "outcome of the scheduled run; `status` says how a run ended",
    }),
  ),
  reason: Type.Optional(Type.String({ description: "why the run was skipped or missed" })),
  dueAtMs: Type.Optional(Time),
  throughAtMs: Type.Optional(
    Type.Integer({ description: "epoch ms; the record covers all scheduled runs up to this time" }),
  ),
  slots: Type.Optional(Type.Integer({ minimum: 1, description: "number of scheduled runs covered; absent: one" })),
  manual: Type.Optional(Type.Boolean({ description: "started manually" })),
});
export type CronRunEntry = Static<typeof CronRunEntry>;

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** What a list of jobs shows, without what the jobs do. */
export const CompactCronJob = Type.Object({
  id: NonEmpty,
  name: NonEmpty,
  displayName: filled,
  agentId: text,
  enabled: Type.Boolean(),
  updatedAtMs: Time,
  scheduleKind: Type.Enum(["at", "every", "cron"]),
  schedule: CronSchedule,
  nextRunAtMs: nullable(Time),
  lastRunAtMs: nullable(Time),
  lastRunStatus: nullable(CronStatus),
  lastRunError: nullable(Type.String()),
  runningAtMs: Type.Optional(Time),
  lastDelivered: flag,
  lastDeliveryStatus: Type.Optional(CronDeliveryStatus),
  lastDeliveryError: text,
});
export type CompactCronJob = Static<typeof CompactCronJob>;

/** Static type: a job, as for every caller that does not ask for `compact`. */
const ListedJob = Type.Unsafe<CronJob>(Type.Union([CronJob, CompactCronJob]));

/** Where the output of a job goes, for people. */
const DeliveryPreview = Type.Object({ label: Type.String(), detail: Type.String() });

/** Exactly one of the two; both or none are rejected. */
const ById = { id: filled, jobId: filled };
const Page = {
  total: Natural,
  offset: Natural,
  limit: Natural,
  hasMore: Type.Boolean(),
  nextOffset: Type.Union([Natural, Type.Null()]),
};
const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200 }));
const SortDir = Type.Optional(Type.Enum(["asc", "desc"]));
/** Input of older clients is normalized before validation. Spec: §2. */
const Loose = Type.Record(Type.String(), Type.Unknown());

/** Scheduled jobs and their runs. */
export const cron = defineContract("cron", {
  list: {
    summary: "List jobs, next due first",
    scope: "operator.read",
    params: Strict({
      id: Type.Optional(Type.String({ minLength: 1, description: "returns only this job; other filters are ignored" })),
      includeDisabled: flag,
      enabled: Type.Optional(Type.Enum(["all", "enabled", "disabled"])),
      limit: Limit,
      offset: natural,
      query: Type.Optional(Type.String({ description: "part of the name, the description, the agent or the id" })),
      agentId: Type.Optional(
        Type.String({ minLength: 1, description: "jobs without an agent are of the default agent" }),
      ),
      scheduleKind: Type.Optional(
        Type.Enum(["all", "at", "every", "cron", "on-exit", "stream"], {
          description: "on-exit, stream: no job is of these kinds",
        }),
      ),
      lastRunStatus: Type.Optional(
        Type.Enum(["all", "ok", "error", "skipped", "unknown"], { description: "unknown: it has not run" }),
      ),
      trigger: Type.Optional(
        Type.Enum(["all", "conditional", "unconditional"], { description: "conditional: no job has a condition" }),
      ),
      sortBy: Type.Optional(Type.Enum(["nextRunAtMs", "updatedAtMs", "name"])),
      sortDir: SortDir,
      compact: Type.Optional(Type.Boolean({ description: "true: jobs without their payload and settings" })),
      includeDeliveryPreviews: flag,
    }),
    result: Type.Object({
      jobs: Type.Array(ListedJob),
      ...Page,
      snapshotRevision: Type.String({
        minLength: 1,
        description: "changes whenever a job is added, changed or removed, or has run; equal on all pages of one state",
      }),
      deliveryPreviews: Type.Optional(
        Type.Record(Type.String(), DeliveryPreview, { description: "by id; with `includeDeliveryPreviews`" }),
      ),
    }),
  },
  get: {
    summary: "Get one job",
    scope: "operator.read",
    params: Strict(ById),
    result: CronJob,
  },
  status: {
    summary: "Get the scheduler state: whether it is enabled, number of jobs, next due time",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      enabled: Type.Boolean(),
      storePath: Type.String(),
      jobs: Natural,
      nextWakeAtMs: Type.Union([Time, Type.Null()]),
    }),
  },
  add: { summary: "Add a job", scope: "operator.admin", params: Loose, result: CronJob },
  update: { summary: "Change a job", scope: "operator.admin", params: Loose, result: CronJob },
  remove: {
    summary: "Remove a job; the records of its runs stay",
    scope: "operator.admin",
    params: Strict(ById),
    result: Type.Object({ ok: Type.Literal(true), removed: Type.Boolean() }),
  },
  run: {
    summary: "Run a job now; responds when the run has ended",
    scope: "operator.admin",
    params: Strict({ ...ById, mode: Type.Optional(Type.Enum(["due", "force"])) }),
    result: Type.Object({
      ok: Type.Literal(true),
      ran: Type.Boolean(),
      reason: Type.Optional(Type.Enum(["already-running", "not-due"])),
    }),
  },
  cancel: {
    summary: "Stop the current runs of a job and drop the waiting ones",
    scope: "operator.admin",
    advertised: false,
    params: Strict(ById),
    result: Type.Object({ ok: Type.Literal(true), cancelled: Natural }),
  },
  preview: {
    summary: "Get the next run times of a schedule that is not saved, or why it is refused",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      schedule: CronSchedule,
      id: Type.Optional(NonEmpty),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, description: "default 5" })),
    }),
    result: Type.Object({
      times: Type.Array(Time, { description: "epoch ms, ascending; empty: the schedule has no run time left" }),
      timeZone: Type.Optional(Type.String({ description: "IANA name; for expressions: the zone that applies" })),
      spreadMs: Type.Optional(
        Type.Integer({ description: "without `id`: each run is later by less than this, differently for each job" }),
      ),
    }),
  },
  runs: {
    summary: "List the outcomes of scheduled and manual runs",
    scope: "operator.read",
    params: Strict({
      scope: Type.Optional(Type.Enum(["job", "all"])),
      ...ById,
      agentId: Type.Optional(
        Type.String({ minLength: 1, description: "only runs of jobs that exist and are of this agent" }),
      ),
      limit: Limit,
      offset: natural,
      statuses: Type.Optional(Type.Array(CronStatus, { minItems: 1, maxItems: 3 })),
      status: Type.Optional(Type.Enum(["all", "ok", "error", "skipped"])),
      deliveryStatuses: Type.Optional(Type.Array(CronDeliveryStatus, { minItems: 1, maxItems: 4 })),
      deliveryStatus: Type.Optional(CronDeliveryStatus),
      query: text,
      sortDir: SortDir,
    }),
    result: Type.Object({ entries: Type.Array(CronRunEntry), ...Page }),
  },
});

/**
 * Changes of jobs and runs. Spec: events.md §6. Choice: `summary` is part of a conversation, so only readers of
 * conversations receive it.
 */
export const cronEvent = defineEvent({
  name: "cron",
  summary: "A job was added, changed, removed, started or finished",
  scope: "operator.read",
  formerlyForAll: true,
  droppable: true,
  payload: Type.Object({
    jobId: NonEmpty,
    action: Type.Enum(["added", "updated", "removed", "started", "finished"]),
    ...Type.Partial(Type.Omit(CronRunEntry, ["jobId", "action", "ts"])).properties,
  }),
});
export type CronEventPayload = Static<typeof cronEvent.payload>;
