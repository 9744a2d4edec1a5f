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
export { apiMismatch, type Manifest, ManifestError, parseManifest, readManifest } from "./kernel/manifest.ts";
export { declarePlugin, staleDeclaration } from "./carriers/declare.ts";
export { idProblem } from "./plugin-id.ts";
export { plannedStart, type PlannedCode } from "./cli/plugins/planned-code.ts";
export { selectHere, type SelectedPlugin, type Wanted, withUse } from "./cli/plugins/selection.ts";
/** For commands of plugin authors: a gateway as `svc gateway run` runs it, and what plugins declared in it. */
export { runGateway, type RunFlags } from "./cli/gateway-run.ts";
export { RUN_OPTIONS } from "./cli/verbs/gateway.ts";
export { systemClock } from "./clock.ts";
export { type AnyKind, covers, listed, type Problem, unlisted } from "./kernel/kind.ts";
export { contributions } from "./kernel/kinds/contributions.ts";
export { methods } from "./kernel/kinds/methods.ts";
export { loadKinds } from "./kernel/load-kinds.ts";

/** For the installer: what is installed, whether it is what was agreed to, and where it lies. */
export { addedItems, type Asking, itemsOf, summaryOf } from "./installed/agreed.ts";
export { inspectPackage, nativeFiles } from "./installed/package.ts";
export {
  extensionsOf,
  generationName,
  type Installed,
  type InstalledPlugin,
  type InstalledVersion,
  isPackageName,
  readRecord,
  recordPath,
  recordText,
} from "./installed/record.ts";
export { linkSdk, SDK_LINK, sdkDirectory } from "./installed/sdk-link.ts";
export { isInstalledSource } from "./installed/sources.ts";
export {
  generationTree,
  isOutside,
  sealOf,
  type TreeEntry,
  treeFault,
  treeHash,
  treeOf,
  withoutLinks,
} from "./installed/tree.ts";
export { verifyInstalled } from "./installed/verify.ts";
export { checkCode } from "./kernel/describe.ts";
export { appendAudit } from "./config/audit.ts";
export { claimProblem, isHostKey, sectionPath, valueAt } from "./config/section-keys.ts";
/** For commands that work on the files of this machine, whether a gateway runs or not. */
export { type PluginsHere, pluginsHere } from "./cli/planned-plugins.ts";
export { type Candidate, lacksOf, nextStep } from "./cli/plugins/explanation.ts";
export { bundleProfiles } from "./kernel/profiles.ts";
export { loadOwners } from "./cli/config/owners.ts";
export { changeConfig, openStore, setConfig } from "./cli/config/write.ts";
export { refuse, Unreachable, WrongUsage } from "./cli/output.ts";
export { lastStarted } from "./cli/target.ts";
