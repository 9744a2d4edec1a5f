/** Plugins namespace. Choice: ours; the interface document has none for plugins. */
import { defineContract, type RateLimit } from "../contract.ts";
import { PluginReport, ReloadReport } from "../plugin-report.ts";
import { type DeepReadonly, NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** Budget of what installs, removes and switches plugins: each may start npm or replace code. */
const CHANGES: RateLimit = { bucket: "plugin-changes", calls: 20, windowMs: 60_000 };

const Agree = Type.Optional(
  Type.String({ minLength: 1, description: "`details.agree` of the refusal with `details.code` AGREEMENT_NEEDED" }),
);

/** The outcome of an install or update. */
export const PluginInstallation = Type.Object({
  id: Type.String(),
  name: Type.String({ description: "of its package" }),
  version: Type.String(),
  source: Type.Enum(["npm", "archive", "directory", "git", "link"]),
  spec: Type.String({ description: "what was asked for" }),
  generation: Type.Integer({ description: "rises with every install of this id" }),
  integrity: Type.String({ description: "sha512 of its archive" }),
  changed: Type.Boolean({ description: "false: that very package was installed already" }),
  previousVersion: Type.Optional(Type.String({ description: "the one that was replaced and is kept" })),
  state: Type.Optional(Type.String({ description: "in this gateway; absent when nothing changed here" })),
  reason: Type.Optional(Type.String({ description: "why it is not active" })),
});
export type PluginInstallation = DeepReadonly<Static<typeof PluginInstallation>>;

const Switched = Type.Object({
  id: Type.String(),
  enabled: Type.Boolean(),
  changed: Type.Boolean({ description: "false: it was so before" }),
  state: Type.String(),
  reason: Type.Optional(Type.String()),
});

const Id = Strict({ id: NonEmpty });

const Milliseconds = Type.Union([Type.Number(), Type.Null()], { description: "null: it has answered no call yet" });

/** What a plugin has cost since the gateway started, over all its generations. */
export const PluginStats = Type.Object({
  calls: Type.Integer({ description: "methods and routes it answered, refusals included" }),
  inFlight: Type.Integer({ description: "calls it has not answered yet" }),
  errors: Type.Integer({ description: "errors charged to it, those of hooks and of code nobody awaited included" }),
  p50Ms: Milliseconds,
  p99Ms: Milliseconds,
  maxMs: Milliseconds,
  hookRuns: Type.Integer({ description: "how often its taps were called" }),
  hookErrors: Type.Integer({ description: "how often they failed, or gave no answer in time" }),
  memoryBytes: Type.Union([Type.Integer(), Type.Null()], {
    description: "null where its code shares the memory of the gateway: in the placement host",
  }),
  blocks: Type.Integer({ description: "how often it blocked the event loop for a second or more" }),
  longestBlockMs: Type.Number(),
});
export type PluginStats = DeepReadonly<Static<typeof PluginStats>>;

/** Where a plugin comes from, as its package says. */
export const PluginPackage = Type.Object({
  origin: Type.String({ description: "what named it: a package, a path or inline" }),
  directory: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
});

/** One declaration: its name among its kind, and the facts of that kind. */
export const PluginDeclaration = Type.Unsafe<{ name: string; [fact: string]: unknown }>(
  Type.Object({ name: Type.String() }, { additionalProperties: true }),
);

/** Everything known about one plugin. */
export const PluginInspection = Type.Object({
  plugin: PluginReport,
  stats: PluginStats,
  package: PluginPackage,
  permissions: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "what its package asks for" })),
  placements: Type.Object({
    now: Type.Enum(["host", "worker", "process"]),
    supports: Type.Array(Type.Enum(["host", "worker", "process"])),
  }),
  declares: Type.Record(Type.String(), Type.Array(PluginDeclaration), {
    description: "what it declares, by kind, e.g. methods; of one that does not run, what is known without it",
  }),
});
export type PluginInspection = DeepReadonly<Static<typeof PluginInspection>>;

/** The outcome of a removal, and what is still there. */
export const PluginRemoval = Type.Object({
  id: Type.String(),
  version: Type.String(),
  kept: Type.Object({
    directory: Type.Optional(Type.String({ description: "what it kept for itself" })),
    keys: Type.Array(Type.String(), { description: "of the configuration" }),
  }),
});
export type PluginRemoval = DeepReadonly<Static<typeof PluginRemoval>>;

/** Something wrong with what is installed. */
export const PluginFinding = Type.Object({
  severity: Type.Enum(["error", "warning"]),
  about: Type.String({ description: "a plugin or a file" }),
  message: Type.String(),
  next: Type.String({ description: "what to type or do" }),
});
export type PluginFinding = DeepReadonly<Static<typeof PluginFinding>>;

/** See, install, switch and reload the plugins of the running gateway. */
export const plugins = defineContract("plugins", {
  list: {
    summary: "All plugins, their state and why one is not active",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ plugins: Type.Array(PluginReport) }),
  },
  inspect: {
    summary: "Everything about one plugin: what it declared, and what it costs",
    scope: "operator.read",
    params: Strict({ id: NonEmpty }),
    result: PluginInspection,
  },
  reload: {
    summary: "Load a plugin's code anew without a restart",
    scope: "operator.admin",
    params: Strict({ id: NonEmpty }),
    result: ReloadReport,
  },
  align: {
    summary: "Take over what was installed, removed or switched since, without a restart",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ changed: Type.Array(ReloadReport) }),
  },
  install: {
    summary: "Install a plugin from the registry or from this machine, once somebody agreed to what it asks for",
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
    summary: "Install the newest version of what a plugin was installed from",
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
      purge: Type.Optional(Type.Boolean({ description: "also what it keeps for itself, and its configuration" })),
    }),
    result: PluginRemoval,
  },
  enable: {
    summary: "Let a plugin run that was disabled",
    scope: "operator.admin",
    limit: CHANGES,
    params: Id,
    result: Switched,
  },
  disable: {
    summary: "Take a plugin out of service and keep it out",
    scope: "operator.admin",
    limit: CHANGES,
    params: Id,
    result: Switched,
  },
  doctor: {
    summary: "What is wrong with the installed plugins, and what to do",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      findings: Type.Array(PluginFinding),
    }),
  },
});
