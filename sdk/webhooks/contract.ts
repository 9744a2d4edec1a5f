/** Webhooks namespace. Choice: ours; the interface document only has the HTTP side. Spec of that: §4.5, http/webhooks.md. */
import { defineContract } from "../contract.ts";
import { type DeepReadonly, NonEmpty, type Static, Strict, Type } from "../schema.ts";

const Fields = Type.Record(Type.String(), Type.Unknown());
const Time = (description: string) => Type.Integer({ description: `epoch ms; ${description}` });

/** Something wrong, and where. */
export const WebhookProblemRow = Type.Object({
  path: Type.String({ description: "key of the configuration, or a file" }),
  message: Type.String(),
  severity: Type.Enum(["error", "warning"]),
});

/** A mapping or a direct path, in the order they are tried. */
export const WebhookMappingRow = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: "action, config or preset:<id>" }),
  enabled: Type.Boolean(),
  path: Type.String({ description: "full path, or * for every path" }),
  match: Type.Optional(Type.Unknown()),
  action: Type.String(),
  actionOwner: Type.Optional(Type.String({ description: "plugin; absent: requests get 501" })),
  verify: Type.String(),
  transform: Type.Optional(
    Type.Object({
      module: Type.String(),
      export: Type.Optional(Type.String()),
      placement: Type.Enum(["host", "worker"]),
      timeoutMs: Type.Integer(),
      state: Type.Enum(["live", "stale", "missing", "broken"]),
      version: Type.Optional(Type.String()),
      problem: Type.Optional(Type.String()),
      examples: Type.Optional(Type.Integer()),
    }),
  ),
  problems: Type.Array(WebhookProblemRow),
});

/** An accepted webhook, as it is kept. `skipped` ones have no record. */
export const WebhookRun = Type.Object({
  runId: Type.String(),
  status: Type.Enum(["queued", "running", "done", "failed"]),
  mapping: Type.String(),
  action: Type.String(),
  sessionKey: Type.Optional(Type.String()),
  acceptedAt: Time("when it was on disk"),
  startedAt: Type.Optional(Time("of the last attempt")),
  endedAt: Type.Optional(Time("done or failed")),
  attempts: Type.Integer(),
  nextAttemptAt: Type.Optional(Time("of the next attempt")),
  reason: Type.Optional(Type.String({ description: "why it failed, or the last attempt did" })),
  summary: Type.Optional(Type.String()),
  details: Type.Optional(Fields),
  replayOf: Type.Optional(Type.String({ description: "the failed run this one repeats" })),
  replayedAs: Type.Optional(Type.String({ description: "the run that repeats this one" })),
});
export type WebhookRun = DeepReadonly<Static<typeof WebhookRun>>;

const Name = Strict({ id: NonEmpty });

/** See, try, switch and replay webhooks. */
export const webhooks = defineContract("webhooks", {
  list: {
    summary: "Webhook paths and mappings, in the order they are tried",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      enabled: Type.Boolean(),
      path: Type.String({ description: "base path" }),
      transformsDir: Type.String(),
      mappings: Type.Array(WebhookMappingRow),
    }),
  },
  check: {
    summary: "What is wrong with the webhooks, transforms included",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ ok: Type.Boolean(), problems: Type.Array(WebhookProblemRow) }),
  },
  try: {
    summary: "What a request would become, without doing it",
    scope: "operator.write",
    params: Strict({
      mapping: Type.String({ minLength: 1, description: "id of a mapping, or a path below the base" }),
      payload: Type.Unknown(),
      headers: Type.Optional(Type.Record(Type.String(), Type.String())),
      path: Type.Optional(Type.String({ description: "sub-path with its query" })),
    }),
    result: Type.Object({
      matched: Type.Boolean(),
      mapping: Type.Optional(Type.String()),
      passed: Type.Array(Type.Object({ id: Type.String(), why: Type.String() })),
      rendered: Type.Optional(Fields),
      missing: Type.Optional(Type.Array(Type.String())),
      transformed: Type.Optional(Type.Unknown()),
      action: Type.Optional(Type.String()),
      params: Type.Optional(Fields),
      policy: Type.Optional(Type.Unknown()),
      response: Type.Object({ status: Type.Integer(), body: Type.Optional(Type.Unknown()) }),
      warnings: Type.Array(Type.String()),
    }),
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
    result: Type.Object({ run: WebhookRun }),
  },
  replay: {
    summary: "Accept a failed webhook anew",
    scope: "operator.admin",
    params: Strict({ runId: NonEmpty }),
    result: Type.Object({ run: WebhookRun }),
  },
  enable: {
    summary: "Let a mapping or a direct path serve again",
    scope: "operator.admin",
    params: Name,
    result: Type.Object({ id: Type.String(), enabled: Type.Boolean(), changed: Type.Boolean() }),
  },
  disable: {
    summary: "Take a mapping or a direct path out of service",
    scope: "operator.admin",
    params: Name,
    result: Type.Object({ id: Type.String(), enabled: Type.Boolean(), changed: Type.Boolean() }),
  },
  init: {
    summary: "Make the transforms directory, with the types for an editor",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ directory: Type.String(), written: Type.Array(Type.String()) }),
  },
});
