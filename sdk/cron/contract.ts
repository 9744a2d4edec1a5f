/** Jobs that run by the clock. Spec: protocol/methods-cron.md, events.md §6, stores.md §3-4. */
import { defineContract, defineEvent } from "../contract.ts";
import { Origin } from "../origin.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

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
    at: Type.String({ minLength: 1, description: "ISO 8601, or epoch ms as digits" }),
  }),
  Strict({ kind: Type.Literal("every"), everyMs: Type.Integer({ minimum: 1 }), anchorMs: natural }),
  Strict({
    kind: Type.Literal("cron"),
    expr: Type.String({ minLength: 1, description: "5 or 6 fields" }),
    tz: Type.Optional(
      Type.String({ description: "IANA name; default: agents.defaults.userTimezone, else the zone of the gateway" }),
    ),
    staggerMs: Type.Optional(
      Type.Integer({ minimum: 0, description: "each time is put off by a part of it that is the job's own" }),
    ),
  }),
]);
export type CronSchedule = Static<typeof CronSchedule>;

const AgentTurn = {
  kind: Type.Literal("agentTurn"),
  model: text,
  fallbacks: Type.Optional(Type.Array(Type.String())),
  thinking: text,
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 0, description: "0: no limit" })),
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

/** Where the words of an isolated job go. */
export const CronDelivery = Strict({
  mode: Type.Enum(["none", "announce", "webhook"]),
  channel: Type.Optional(
    Type.String({ minLength: 1, description: "`last`: where the agent's main session was spoken to" }),
  ),
  to: text,
  accountId: filled,
  bestEffort: flag,
  failureDestination: Type.Optional(FailureDestination),
});
export type CronDelivery = Static<typeof CronDelivery>;

/** Who hears of jobs that fail again and again. */
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

/** What becomes of times that came while nobody could run the job. Choice: ours; default `last`. */
export const CronCatchUp = Strict({
  mode: Type.Enum(["none", "last", "all"], {
    description:
      "none: what is more than a minute late is missed. last: the newest is made up for. all: every one in the window",
  }),
  windowMs: Type.Optional(Type.Integer({ minimum: 1, description: "of `all`; default 86400000" })),
});
export type CronCatchUp = Static<typeof CronCatchUp>;

/** What becomes of a time that comes while the job still runs. Choice: ours; default `skip`. */
export const CronOverlap = Type.Enum(["skip", "queue", "replace"], {
  description: "skip: it is left out. queue: it runs afterwards. replace: what runs is stopped for it",
});
export type CronOverlap = Static<typeof CronOverlap>;

/** How a run ended. */
export const CronStatus = Type.Enum(["ok", "error", "skipped"]);
export type CronStatus = Static<typeof CronStatus>;
/** What became of what a run had to say. */
export const CronDeliveryStatus = Type.Enum(["delivered", "not-delivered", "unknown", "not-requested"]);
export type CronDeliveryStatus = Static<typeof CronDeliveryStatus>;

/** How a job is and how its last run was. */
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

/** What a job does, when, and what becomes of it. */
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

/** What a job is added as, once the words of older clients are put right: `cron.add` takes more. Spec: §2. */
export const CronJobDraft = Strict({
  name: NonEmpty,
  agentId: clearable,
  sessionKey: clearable,
  description: text,
  enabled: Type.Boolean(),
  deleteAfterRun: flag,
  ...what,
});
export type CronJobDraft = Static<typeof CronJobDraft>;

/** A job. */
export const CronJob = Type.Object({
  id: NonEmpty,
  agentId: text,
  sessionKey: text,
  description: text,
  name: NonEmpty,
  enabled: Type.Boolean(),
  deleteAfterRun: flag,
  createdAtMs: Time,
  updatedAtMs: Time,
  ...what,
  origin: Type.Optional(Origin),
  state: CronJobState,
});
export type CronJob = Static<typeof CronJob>;

/** What `cron.update` may change, once the words of older clients are put right. Spec: §3. */
export const CronJobPatch = Strict({
  name: filled,
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
      accountId: text,
      bestEffort: flag,
      failureDestination: Type.Optional(FailureDestination),
    }),
  ),
  failureAlert: Type.Optional(CronFailureAlert),
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

/** What became of one time a job was due, or was run by hand. */
export const CronRunEntry = Type.Object({
  ts: Type.Integer({ description: "epoch ms; when it was settled" }),
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
    Type.Enum(["ran", "skipped", "missed"], { description: "what became of this time; `status` says how a run ended" }),
  ),
  reason: Type.Optional(Type.String({ description: "why it was skipped or missed" })),
  dueAtMs: Type.Optional(Time),
  throughAtMs: Type.Optional(Type.Integer({ description: "epoch ms; the record stands for all times up to this one" })),
  slots: Type.Optional(Type.Integer({ minimum: 1, description: "how many times it stands for; absent: one" })),
  manual: Type.Optional(Type.Boolean({ description: "run by hand" })),
});
export type CronRunEntry = Static<typeof CronRunEntry>;

/** Exactly one of them; both or none are refused. */
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
/** Whatever older clients send is put right before it is checked. Spec: §2. */
const Loose = Type.Record(Type.String(), Type.Unknown());

/** Jobs and their runs. */
export const cron = defineContract("cron", {
  list: {
    summary: "Jobs, the next to run first",
    scope: "operator.read",
    params: Strict({
      includeDisabled: flag,
      enabled: Type.Optional(Type.Enum(["all", "enabled", "disabled"])),
      limit: Limit,
      offset: natural,
      query: text,
      sortBy: Type.Optional(Type.Enum(["nextRunAtMs", "updatedAtMs", "name"])),
      sortDir: SortDir,
    }),
    result: Type.Object({ jobs: Type.Array(CronJob), ...Page }),
  },
  status: {
    summary: "Whether jobs run, how many there are, and when the next one is due",
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
    summary: "Remove a job; the record of its runs stays",
    scope: "operator.admin",
    params: Strict(ById),
    result: Type.Object({ ok: Type.Literal(true), removed: Type.Boolean() }),
  },
  run: {
    summary: "Run a job now; answers when it has ended",
    scope: "operator.admin",
    params: Strict({ ...ById, mode: Type.Optional(Type.Enum(["due", "force"])) }),
    result: Type.Object({
      ok: Type.Literal(true),
      ran: Type.Boolean(),
      reason: Type.Optional(Type.Enum(["already-running", "not-due"])),
    }),
  },
  cancel: {
    summary: "Stop what a job is doing, and drop what waits",
    scope: "operator.admin",
    advertised: false,
    params: Strict(ById),
    result: Type.Object({ ok: Type.Literal(true), cancelled: Natural }),
  },
  runs: {
    summary: "What became of each time a job was due",
    scope: "operator.read",
    params: Strict({
      scope: Type.Optional(Type.Enum(["job", "all"])),
      ...ById,
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

/** What happens to jobs. Spec: events.md §6. Choice: `summary` is conversation, so it goes to who may read those. */
export const cronEvent = defineEvent({
  name: "cron",
  summary: "A job was added, changed, removed, started or has ended",
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
