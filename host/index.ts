/** Embedding: `createGateway` starts a gateway inside your own program. */
export { type AuthMode, type AuthSettings, StartupRefusal } from "./auth/mode.ts";
export { createGateway } from "./gateway.ts";
export type { Gateway, GatewayOptions, StopOptions } from "./options.ts";
export type { Restarter } from "./restarts.ts";
export { defineKind, type Kind, type KernelHooks, type SetupContext, type Shape, type Staged } from "./kernel/kind.ts";
export { watchStrayErrors } from "./kernel/blame.ts";

/** For commands of plugin authors: packages, as a start finds, reads and imports them. */
export { resolvePaths } from "./config/paths.ts";
export {
  createPluginFinder,
  importModule,
  importPlugin,
  isLoadable,
  type MissingPlugin,
  type PluginFinder,
  type PluginSource,
} from "./kernel/load.ts";
export { type Manifest, readManifest } from "./kernel/manifest.ts";
export { declarePlugin, staleDeclaration } from "./carriers/declare.ts";
export { importedPackages } from "./install/imports.ts";
export { idProblem } from "./plugin-id.ts";
export { plannedStart, type PlannedCode } from "./cli/plugins/planned-code.ts";
export { selectHere, type SelectedPlugin, type Wanted } from "./cli/plugins/selection.ts";
/** For commands of plugin authors: a gateway as `svc gateway run` runs it, and what plugins declared in it. */
export { runGateway, type RunFlags } from "./cli/gateway-run.ts";
export { RUN_OPTIONS } from "./cli/verbs/gateway.ts";
export { systemClock } from "./clock.ts";
export { type AnyKind, covers, type Problem, unlisted } from "./kernel/kind.ts";
export { contributions } from "./kernel/kinds/contributions.ts";
export { methods } from "./kernel/kinds/methods.ts";
export { loadKinds } from "./kernel/load-kinds.ts";
