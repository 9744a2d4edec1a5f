/**
 * For commands and plugins that work on the files of this machine, with or without a running gateway. Not a stable API: it
 * changes with the host. Imports nothing that only a running gateway needs.
 */
import type { ConfigView } from "@svc/sdk";
import type { ConfigFile, Issue } from "./config/file.ts";
import type { ConfigStore, ConfigStoreOptions } from "./config/store.ts";
import type { PluginSource } from "./kernel/load.ts";
import type { StartCheck } from "./start-issue.ts";

/** The configuration: its values, its schema, and how it changes. */
export { appendAudit } from "./config/audit.ts";
export { withoutForeign } from "./config/foreign.ts";
export { type GatewaySection, PluginsSection } from "./config/host-schema.ts";
export { LOG_LEVELS, type LogLevel } from "./config/log-levels.ts";
export { parseJson5 } from "./config/parse.ts";
export { redact } from "./config/redact.ts";
export { createSecretPlaces } from "./config/secret-places.ts";
export { claimProblem, isHostKey, sectionPath, valueAt } from "./config/section-keys.ts";
export {
  composeSchema,
  configIssues,
  effectiveConfig,
  secretHintsOf,
  sectionOf,
  type SectionOwner,
  unownedKeys,
} from "./config/sections.ts";

/** Authentication and exposure of the gateway. */
export { environmentNames } from "./auth/aliases.ts";
export { isLoopback, reachesLoopback } from "./auth/locality.ts";
export { AUDIT_LEAST, weaknessOf } from "./auth/weak-secret.ts";

/** Options and output of `svc gateway run`. */
export { AUTH_MODES, type AuthMode, type AuthOverrides } from "./auth/settings.ts";
export { hideShapes } from "./config/secret-shapes.ts";

/** Plugins: found, read and imported as a start does. */
export { checkCode } from "./kernel/describe.ts";
export { serves, tokenOf } from "./kernel/graph.ts";
export {
  createPluginFinder,
  idOf,
  importModule,
  importPlugin,
  isLoadable,
  type MissingPlugin,
  type PluginFinder,
  type PluginSource,
} from "./kernel/load.ts";
export {
  apiMismatch,
  type Manifest,
  ManifestError,
  type PackageManifest,
  parseManifest,
  readManifest,
  readPackageManifest,
} from "./kernel/manifest.ts";
export { placementOf } from "./kernel/placement.ts";
export type { PluginPlan } from "./kernel/plan.ts";
export { bundleProfiles, type Profile } from "./kernel/profiles.ts";
export { idProblem } from "./plugin-id.ts";
export { plannedFacts, planPlugins } from "./plugin-plan.ts";

/** Installed plugins: their record, agreed permissions and directories. */
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
export { installedSources, isInstalledSource } from "./installed/sources.ts";
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

export { settled, systemClock } from "./clock.ts";
export { VERSION } from "./version.ts";

/** Imported on call, since only few commands need it; so are the functions below. */
export async function createConfigStore(options: ConfigStoreOptions): Promise<ConfigStore> {
  return (await import("./config/store.ts")).createConfigStore(options);
}

/** See `config/shared.ts`. */
export async function isCopy(stateDir: string): Promise<boolean> {
  return (await import("./config/shared.ts")).isCopy(stateDir);
}

/** See `known-contributions.ts`. */
export async function knownContributions(sources: readonly PluginSource[]): Promise<ConfigView["contributions"]> {
  return (await import("./known-contributions.ts")).knownContributions(sources);
}

/** See `start-issue.ts`. */
export async function startIssue(file: ConfigFile, check: StartCheck): Promise<Issue | undefined> {
  return (await import("./start-issue.ts")).startIssue(file, check);
}

/** Ids of the services that the host itself provides. */
export async function hostServices(): Promise<ReadonlySet<string>> {
  const { HOST_SERVICES } = await import("./host-service-tokens.ts");
  return new Set(Object.values(HOST_SERVICES).map(({ id }) => id));
}
