/** Webhooks namespace. Choice: defined here; the interface document covers only the HTTP side. Spec of that: §4.5, http/webhooks.md. */
import { defineContract } from "../contract.ts";
import { type DeepReadonly, NonEmpty, type Static, Strict, Type } from "../schema.ts";

const Fields = Type.Record(Type.String(), Type.Unknown());
const Time = (description: string) => Type.Integer({ description: `epoch ms; ${description}` });

/** A problem of the webhooks, and its place. */
export const WebhookProblem = Type.Object({
  path: Type.String({ description: "key of the configuration, or a file" }),
  message: Type.String(),
  severity: Type.Enum(["error", "warning"], { description: "warning: it works, but the operator should know" }),
});
export type WebhookProblem = DeepReadonly<Static<typeof WebhookProblem>>;

/** A transform in service. */
export const WebhookTransformInfo = Type.Object({
  module: Type.String(),
  export: Type.Optional(Type.String()),
  placement: Type.Enum(["host", "worker"]),
  timeoutMs: Type.Integer(),
  state: Type.Enum(["live", "stale", "missing", "broken"], {
    description:
      "stale: an older version serves, since the newest is broken; missing: the file does not exist; broken: no version works",
  }),
  version: Type.Optional(
    Type.String({ description: "short hash of the directory the serving version was loaded from" }),
  ),
  problem: Type.Optional(Type.String({ description: "problem of the newest version, or its last unhandled error" })),
  examples: Type.Optional(Type.Integer({ description: "examples run before it went live" })),
  strayErrors: Type.Optional(Type.Integer({ description: "unhandled errors of the serving version; absent: none" })),
});
export type WebhookTransformInfo = DeepReadonly<Static<typeof WebhookTransformInfo>>;

/** A mapping or a direct path, in the order they are tried. */
export const WebhookMappingInfo = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: "action (a direct path), config or preset:<id>" }),
  enabled: Type.Boolean(),
  path: Type.String({ description: "full path, or * for every path" }),
  match: Type.Optional(Type.Unknown()),
  action: Type.String(),
  actionOwner: Type.Optional(Type.String({ description: "plugin; absent: requests get 501" })),
  verify: Type.String(),
  transform: Type.Optional(WebhookTransformInfo),
  problems: Type.Array(WebhookProblem),
});
export type WebhookMappingInfo = DeepReadonly<Static<typeof WebhookMappingInfo>>;

/** A request to be tried without effect. */
export const WebhookTrial = Strict({
  mapping: Type.String({
    minLength: 1,
    description: "id of a mapping, or a path below the base, for which the mapping is selected as for a request",
  }),
  payload: Type.Unknown(),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  path: Type.Optional(Type.String({ description: "sub-path with its query; default: the path of the mapping" })),
});
export type WebhookTrial = DeepReadonly<Static<typeof WebhookTrial>>;

interface TrialPolicy {
  wrapped: boolean;
  verify: string;
  sessionKey?: string;
  principal: { id: string; scopes: readonly string[] };
  idempotencyKey?: string;
}

/** Report of a trial: what a request would become. */
export const WebhookTrialReport = Type.Object({
  matched: Type.Boolean(),
  mapping: Type.Optional(Type.String({ description: "id of the mapping that accepts the request" })),
  passed: Type.Array(Type.Object({ id: Type.String(), why: Type.String({ description: "why it did not match" }) })),
  rendered: Type.Optional(Fields),
  missing: Type.Optional(
    Type.Array(Type.String(), { description: "places in templates that have no value in the payload" }),
  ),
  transformed: Type.Optional(Type.Unknown()),
  action: Type.Optional(Type.String()),
  params: Type.Optional(Fields),
  policy: Type.Optional(Type.Unsafe<TrialPolicy>(Type.Unknown())),
  response: Type.Object(
    { status: Type.Integer(), body: Type.Optional(Type.Unknown()) },
    { description: "what the sender would get" },
  ),
  warnings: Type.Array(Type.String()),
});
export type WebhookTrialReport = DeepReadonly<Static<typeof WebhookTrialReport>>;

/** The record of an accepted webhook. Skipped webhooks have none. */
export const WebhookRun = Type.Object({
  runId: Type.String(),
  status: Type.Enum(["queued", "running", "done", "failed"]),
  mapping: Type.String(),
  action: Type.String(),
  sessionKey: Type.Optional(Type.String()),
  acceptedAt: Time("when it was stored"),
  startedAt: Type.Optional(Time("start of the last attempt")),
  endedAt: Type.Optional(Time("when it was done or failed")),
  attempts: Type.Integer(),
  nextAttemptAt: Type.Optional(Time("of the next attempt")),
  reason: Type.Optional(Type.String({ description: "why the run, or its last attempt, failed" })),
  summary: Type.Optional(Type.String()),
  details: Type.Optional(Fields),
  replayOf: Type.Optional(Type.String({ description: "the failed run this one repeats" })),
  replayedAs: Type.Optional(Type.String({ description: "the run that repeats this one" })),
});
export type WebhookRun = DeepReadonly<Static<typeof WebhookRun>>;

const Name = Strict({ id: NonEmpty });

/** Lists, tries, switches and replays webhooks. */
export const webhooks = defineContract("webhooks", {
  list: {
    summary: "Webhook paths and mappings, in the order they are tried",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      enabled: Type.Boolean(),
      path: Type.String({ description: "base path" }),
      transformsDir: Type.String(),
      mappings: Type.Array(WebhookMappingInfo),
    }),
  },
  check: {
    summary: "Problems of the webhooks, transforms included",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ ok: Type.Boolean(), problems: Type.Array(WebhookProblem) }),
  },
  try: {
    summary: "Show what a request would become, without effect",
    scope: "operator.write",
    params: WebhookTrial,
    result: WebhookTrialReport,
  },
  runs: {
    summary: "Accepted webhooks, newest first",
    scope: "operator.read",
    params: Strict({
      status: Type.Optional(Type.Enum(["queued", "running", "done", "failed"])),
      mapping: Type.Optional(NonEmpty),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "default 50" })),
    }),
    result: Type.Object({ runs: Type.Array(WebhookRun) }),
  },
  run: {
    summary: "One accepted webhook",
    scope: "operator.read",
    params: Strict({ runId: NonEmpty }),
    result: Type.Object({
      run: WebhookRun,
      params: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "what the action gets; kept until the run is done" }),
      ),
    }),
  },
  replay: {
    summary: "Accept a failed webhook again, as a new run",
    scope: "operator.admin",
    params: Strict({ runId: NonEmpty }),
    result: Type.Object({ run: WebhookRun }),
  },
  enable: {
    summary: "Enable a mapping or a direct path",
    scope: "operator.admin",
    params: Name,
    result: Type.Object({ id: Type.String(), enabled: Type.Boolean(), changed: Type.Boolean() }),
  },
  disable: {
    summary: "Disable a mapping or a direct path",
    scope: "operator.admin",
    params: Name,
    result: Type.Object({ id: Type.String(), enabled: Type.Boolean(), changed: Type.Boolean() }),
  },
  init: {
    summary: "Create the transforms directory, with types for an editor",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ directory: Type.String(), written: Type.Array(Type.String()) }),
  },
});
