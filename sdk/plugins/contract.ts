/** Plugins namespace. Choice: specific to this gateway; the interface document defines no methods for plugins. */
import { defineContract, type RateLimit } from "../contract.ts";
import { PluginReport, ReloadReport } from "../plugin-report.ts";
import { type DeepReadonly, NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** Rate limit of methods that install, remove and switch plugins: each may start npm or replace code. */
const CHANGES: RateLimit = { bucket: "plugin-changes", calls: 20, windowMs: 60_000 };

const Agree = Type.Optional(
  Type.String({ minLength: 1, description: "`details.agree` of a refusal with `details.code` AGREEMENT_NEEDED" }),
);

/** Outcome of an install or update. */
export const PluginInstallation = Type.Object({
  id: Type.String(),
  name: Type.String({ description: "name of its package" }),
  version: Type.String(),
  source: Type.Enum(["npm", "archive", "directory", "git", "link"]),
  spec: Type.String({ description: "the requested spec" }),
  generation: Type.Integer({ description: "incremented with every install of this id" }),
  integrity: Type.String({ description: "SHA-512 of its archive" }),
  changed: Type.Boolean({ description: "false: the same package was already installed" }),
  previousVersion: Type.Optional(Type.String({ description: "the replaced version, which is kept" })),
  state: Type.Optional(Type.String({ description: "state in this gateway; absent if nothing changed" })),
  reason: Type.Optional(Type.String({ description: "why the plugin is not active" })),
});
export type PluginInstallation = DeepReadonly<Static<typeof PluginInstallation>>;

const Switched = Type.Object({
  id: Type.String(),
  enabled: Type.Boolean(),
  changed: Type.Boolean({ description: "false: it was already in this state" }),
  state: Type.String(),
  reason: Type.Optional(Type.String()),
});

const Id = Strict({ id: NonEmpty });

const Milliseconds = Type.Union([Type.Number(), Type.Null()], { description: "null: no finished call yet" });

/** Resource usage of a plugin since the gateway started, over all its generations. */
export const PluginStats = Type.Object({
  calls: Type.Integer({ description: "finished calls of methods and routes, including refused ones" }),
  inFlight: Type.Integer({ description: "pending calls" }),
  errors: Type.Integer({
    description: "errors attributed to the plugin, including those of hooks and unhandled rejections",
  }),
  p50Ms: Milliseconds,
  p99Ms: Milliseconds,
  maxMs: Milliseconds,
  hookRuns: Type.Integer({ description: "calls of its hook handlers" }),
  hookErrors: Type.Integer({ description: "hook handlers that failed or missed their deadline" }),
  memoryBytes: Type.Union([Type.Integer(), Type.Null()], {
    description: "null if its code shares the memory of the gateway: in the placement host",
  }),
  blocks: Type.Integer({ description: "number of event loop blocks of one second or more" }),
  longestBlockMs: Type.Number(),
});
export type PluginStats = DeepReadonly<Static<typeof PluginStats>>;

/** Where a plugin comes from, according to its package. */
export const PluginPackage = Type.Object({
  origin: Type.String({ description: "how the plugin was specified: a package, a path or inline" }),
  directory: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
});

/** One declaration: its name, and the facts of its kind. */
export const PluginDeclaration = Type.Unsafe<{ name: string; [fact: string]: unknown }>(
  Type.Object({ name: Type.String() }, { additionalProperties: true }),
);

/** Everything known about one plugin. */
export const PluginInspection = Type.Object({
  plugin: PluginReport,
  stats: PluginStats,
  package: PluginPackage,
  permissions: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: "permissions requested by its package" }),
  ),
  placements: Type.Object({
    now: Type.Enum(["host", "worker", "process"]),
    supports: Type.Array(Type.Enum(["host", "worker", "process"])),
  }),
  declares: Type.Record(Type.String(), Type.Array(PluginDeclaration), {
    description: "declarations by kind, e.g. methods; for a plugin that is not running, what is known without it",
  }),
});
export type PluginInspection = DeepReadonly<Static<typeof PluginInspection>>;

/** Outcome of a removal, and what was kept. */
export const PluginRemoval = Type.Object({
  id: Type.String(),
  version: Type.String(),
  kept: Type.Object({
    directory: Type.Optional(Type.String({ description: "data directory of the plugin" })),
    keys: Type.Array(Type.String(), { description: "configuration keys" }),
  }),
});
export type PluginRemoval = DeepReadonly<Static<typeof PluginRemoval>>;

/** A problem with the installed plugins. */
export const PluginFinding = Type.Object({
  severity: Type.Enum(["error", "warning"]),
  about: Type.String({ description: "the affected plugin or file" }),
  message: Type.String(),
  next: Type.String({ description: "command or action that fixes it" }),
});
export type PluginFinding = DeepReadonly<Static<typeof PluginFinding>>;

/** Listing, installing, switching and reloading plugins of the running gateway. */
export const plugins = defineContract("plugins", {
  list: {
    summary: "List all plugins with their state and the reason if not active",
    scope: "operator.read",
    params: Strict({
      includeStats: Type.Optional(Type.Boolean({ description: "also return `stats`; default false" })),
    }),
    result: Type.Object({
      plugins: Type.Array(PluginReport),
      stats: Type.Optional(Type.Record(Type.String(), PluginStats, { description: "by plugin id" })),
    }),
  },
  inspect: {
    summary: "Get everything about one plugin: its declarations and resource usage",
    scope: "operator.read",
    params: Strict({ id: NonEmpty }),
    result: PluginInspection,
  },
  reload: {
    summary: "Reload the code of a plugin without a restart",
    scope: "operator.admin",
    params: Strict({ id: NonEmpty }),
    result: ReloadReport,
  },
  align: {
    summary: "Apply installed, removed and switched plugins without a restart",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ changed: Type.Array(ReloadReport) }),
  },
  install: {
    summary: "Install a plugin from the registry or this machine; its requested permissions must be agreed to",
    scope: "operator.admin",
    limit: CHANGES,
    params: Strict({
      spec: Type.String({
        minLength: 1,
        description: "<name>[@<version>], or an absolute path of an archive, directory or git repository",
      }),
      agree: Agree,
    }),
    result: PluginInstallation,
  },
  update: {
    summary: "Update a plugin to the newest version from its source",
    scope: "operator.admin",
    limit: CHANGES,
    params: Strict({ id: NonEmpty, agree: Agree }),
    result: PluginInstallation,
  },
  remove: {
    summary: "Remove an installed plugin",
    scope: "operator.admin",
    limit: CHANGES,
    params: Strict({
      id: NonEmpty,
      purge: Type.Optional(Type.Boolean({ description: "also delete its data and configuration" })),
    }),
    result: PluginRemoval,
  },
  enable: {
    summary: "Enable a disabled plugin",
    scope: "operator.admin",
    limit: CHANGES,
    params: Id,
    result: Switched,
  },
  disable: {
    summary: "Disable a plugin; it stays disabled",
    scope: "operator.admin",
    limit: CHANGES,
    params: Id,
    result: Switched,
  },
  doctor: {
    summary: "Report problems of installed plugins and how to fix them",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      findings: Type.Array(PluginFinding),
    }),
  },
});
