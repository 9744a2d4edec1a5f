/** Config namespace. Spec: §4.1 row "Config"; params and results: protocol/methods-config.md. */
import { CONTROL_PLANE_WRITES, defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";
import { KeptNote, PlannedRestart, restartDelay } from "../gateway/restart.ts";

const Issue = Type.Object({ path: Type.String(), message: Type.String() });

/** Configuration in use, which may differ from the file. */
const Running = Type.Object({
  hash: Type.String({ description: "hash of the text in use" }),
  restart: Type.Optional(
    Type.Object(
      {
        paths: Type.Array(Type.String()),
        delayMs: Type.Optional(Type.Integer({ description: "milliseconds until the restart; absent: not scheduled" })),
      },
      { description: "dotted paths that take effect at the next restart" },
    ),
  ),
  refused: Type.Optional(
    Type.Object({ hash: Type.String(), reason: Type.String() }, { description: "the rejected file, and why" }),
  ),
  isShared: Type.Optional(Type.Boolean({ description: "it is in the database of all gateways; the file is a copy" })),
});

/** Display facts about a key. Spec: http/config.md §3.2. */
export const ConfigHint = Type.Object({
  label: Type.Optional(Type.String()),
  help: Type.Optional(Type.String()),
  group: Type.Optional(Type.String({ description: "heading of the key; default: the heading of its section" })),
  order: Type.Optional(
    Type.Number({
      description: "sort order; default: the number in the spec for a section, the position in the schema for a key",
    }),
  ),
  advanced: Type.Optional(Type.Boolean()),
  sensitive: Type.Optional(Type.Boolean()),
  placeholder: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
});
export type ConfigHint = Static<typeof ConfigHint>;

const Effect = Type.Enum(["restart", "hot"], {
  description:
    "how a change takes effect: at once (perhaps the plugin that owns the key is loaded again), or by a restart",
});

/** What a key of the configuration may hold. */
const SchemaNode = {
  path: Type.String({ description: "dotted; `*` is any key of a map or any item of a list; `.` is the whole" }),
  reloadKind: Type.Optional(Effect),
  hint: Type.Optional(ConfigHint),
  hintPath: Type.Optional(Type.String({ description: "key of the hint in `uiHints` of config.schema" })),
};

const Written = {
  ok: Type.Literal(true),
  path: Type.String(),
  config: Type.Unknown({ description: "with defaults, secrets redacted" }),
  hash: Type.String({ description: "hash of the current file; use it as the next `baseHash`" }),
  changed: Type.Array(Type.String(), { description: "dotted paths whose value changed" }),
};

const writeParams = {
  raw: NonEmpty,
  baseHash: Type.Optional(NonEmpty),
};

const restartParams = {
  ...writeParams,
  sessionKey: Type.Optional(Type.String({ description: "session that receives `note`" })),
  note: Type.Optional(Type.String()),
  restartDelayMs: restartDelay,
};

/** Reading and changing the configuration. */
export const config = defineContract("config", {
  get: {
    summary: "Get the configuration file, redacted",
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
      hash: Type.String({
        description: "SHA-256 of the text of the file, hex; of the empty string if there is no file",
      }),
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
    summary: "Merge a patch into the configuration file; restarts the gateway if a changed key needs it",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict({
      ...restartParams,
      replaceLists: Type.Optional(
        Type.Boolean({
          description: "a list replaces the current one also if its entries have ids; default false: they merge by id",
        }),
      ),
    }),
    result: Type.Object({ ...Written, restart: PlannedRestart, sentinel: KeptNote }),
  },
  apply: {
    summary: "Replace the configuration file; restarts the gateway if a changed key needs it",
    scope: "operator.admin",
    limit: CONTROL_PLANE_WRITES,
    params: Strict(restartParams),
    result: Type.Object({ ...Written, restart: PlannedRestart, sentinel: KeptNote }),
  },
  move: {
    summary: "Move the configuration to the database that several gateways share, or back to the file of each",
    scope: "operator.admin",
    params: Strict({ to: Type.Union([Type.Literal("database"), Type.Literal("file")]) }),
    result: Type.Object({
      ok: Type.Literal(true),
      isMoved: Type.Boolean({ description: "false: it was there already" }),
    }),
  },
  schemaLookup: {
    name: "config.schema.lookup",
    summary: "Get the JSON Schema of one key of the configuration, and which keys are below it",
    scope: "operator.read",
    params: Strict({
      path: Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: "e.g. `agents.list[].model`, `agents.list.0.model`; `.`: the top",
      }),
    }),
    result: Type.Object({
      ...SchemaNode,
      schema: Type.Unknown({ description: "without the keys below it, which are in `children`" }),
      children: Type.Array(
        Type.Object({
          ...SchemaNode,
          key: Type.String(),
          type: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
          required: Type.Boolean(),
          hasChildren: Type.Boolean(),
        }),
      ),
    }),
  },
  schema: {
    summary: "Get the JSON Schema of the whole configuration, including plugins",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      schema: Type.Unknown(),
      uiHints: Type.Record(Type.String(), ConfigHint, {
        description: "by dotted path: `*` is a map entry, `[]` an item of a list",
      }),
      version: Type.String(),
      generatedAt: Type.String({ description: "ISO time" }),
    }),
  },
});
