/** Config namespace. Spec: §4.1 row "Config"; params and results: protocol/methods-config.md. */
import { CONTROL_PLANE_WRITES, defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";
import { KeptNote, PlannedRestart, restartDelay } from "../gateway/restart.ts";

const Issue = Type.Object({ path: Type.String(), message: Type.String() });

/** What the gateway uses, which may differ from what the file says now. */
const Running = Type.Object({
  hash: Type.String({ description: "of the text in use" }),
  restart: Type.Optional(
    Type.Object(
      {
        paths: Type.Array(Type.String()),
        delayMs: Type.Optional(Type.Integer({ description: "milliseconds until it; absent: nobody has scheduled it" })),
      },
      { description: "dotted paths that take effect with the next restart" },
    ),
  ),
  refused: Type.Optional(
    Type.Object({ hash: Type.String(), reason: Type.String() }, { description: "the file that is not used, and why" }),
  ),
});

const Written = {
  ok: Type.Literal(true),
  path: Type.String(),
  config: Type.Unknown({ description: "with defaults, secrets hidden" }),
  hash: Type.String({ description: "of the file as it stands now; the next `baseHash`" }),
  changed: Type.Array(Type.String(), { description: "dotted paths that differ from before" }),
};

const writeParams = {
  raw: NonEmpty,
  baseHash: Type.Optional(NonEmpty),
};

const restartParams = {
  ...writeParams,
  sessionKey: Type.Optional(Type.String({ description: "session to tell `note`" })),
  note: Type.Optional(Type.String()),
  restartDelayMs: restartDelay,
};

/** Read and change the configuration. */
export const config = defineContract("config", {
  get: {
    summary: "The configuration file as read, redacted",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      path: Type.String(),
      exists: Type.Boolean(),
      raw: Type.Union([Type.String(), Type.Null()]),
      parsed: Type.Unknown(),
      resolved: Type.Unknown(),
      valid: Type.Boolean(),
      config: Type.Unknown(),
      hash: Type.String({ description: "SHA-256 of the file's text, hex; of the empty string when there is no file" }),
      issues: Type.Array(Issue),
      warnings: Type.Array(Issue),
      legacyIssues: Type.Array(Issue),
      running: Type.Optional(Running),
    }),
  },
  set: {
    summary: "Replace the configuration file",
    scope: "operator.admin",
    params: Strict(writeParams),
    result: Type.Object(Written),
  },
  patch: {
    summary: "Merge a patch into the configuration file; restarts where a changed key needs it",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict(restartParams),
    result: Type.Object({ ...Written, restart: PlannedRestart, sentinel: KeptNote }),
  },
  apply: {
    summary: "Replace the configuration file; restarts where a changed key needs it",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict(restartParams),
    result: Type.Object({ ...Written, restart: PlannedRestart, sentinel: KeptNote }),
  },
  schema: {
    summary: "JSON Schema of the whole configuration, plugins included",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      schema: Type.Unknown(),
      uiHints: Type.Record(Type.String(), Type.Unknown()),
      version: Type.String(),
      generatedAt: Type.String({ description: "ISO time" }),
    }),
  },
});
