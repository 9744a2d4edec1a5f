/** Services that control and install plugins. */
import { defineService } from "../service.ts";
import type { PluginReport, ReloadReport } from "../plugin-report.ts";
import type { PluginFinding, PluginInspection, PluginInstallation, PluginRemoval, PluginStats } from "./contract.ts";

/** `PluginStats` with additional values for monitoring systems. */
export interface PluginMeasures extends PluginStats {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  /** Total duration of all finished calls in milliseconds. */
  readonly callsMs: number;
  /**
   * Histogram: calls that took less than `belowMs`, ascending and cumulative; slower calls are counted in `calls` only.
   */
  readonly answers: readonly { readonly belowMs: number; readonly calls: number }[];
  /** Outcomes of the calls of each method; at most 500 methods, the remaining ones are combined as `other`. */
  readonly methods: readonly {
    readonly name: string;
    readonly ok: number;
    /** Failed with a `GatewayError`. */
    readonly refused: number;
    /** Failed with another error. */
    readonly failed: number;
  }[];
}

/** Plugins required by the configuration and the record of installed plugins, running or not. */
export interface PlannedPlugins {
  /** Plugins that are required but cannot be loaded. */
  readonly missing: readonly { readonly origin: string; readonly reason: string }[];
  /** Ids disabled in the configuration. */
  readonly disabled: readonly string[];
  /** Ids below `plugins.entries`. */
  readonly configured: readonly string[];
  /** Owners of configuration sections, as far as known. */
  readonly sections: readonly { readonly section: string; readonly plugin: string }[];
  /** Describes who already uses this id: a bundled plugin, or one named in the configuration. `undefined`: neither. */
  holderOf(id: string): string | undefined;
}

/** Controls the plugins of this gateway. */
export interface PluginControl {
  reports(): readonly PluginReport[];
  /** @throws GatewayError `NOT_FOUND` for an unknown id */
  inspect(id: string): PluginInspection;
  /** Measures of every plugin, sorted by id. */
  measures(): readonly PluginMeasures[];
  /**
   * Loads the code of a plugin again and replaces the running one; calls to it are held meanwhile. Also restarts a
   * plugin that failed or is in quarantine.
   * @throws GatewayError `NOT_FOUND` for an unknown id
   */
  reload(id: string): Promise<ReloadReport>;
  /**
   * Applies the current installation record and plugin configuration: loads new plugins, stops removed or disabled
   * ones, and replaces those whose source changed.
   * @returns the outcome for each affected plugin
   */
  align(): Promise<readonly ReloadReport[]>;
  planned(): PlannedPlugins;
}

/** Token of the service. */
export const PluginControl = defineService<PluginControl>()("plugin.control", "1.0.0", {
  summary: "Inspects and reloads plugins. Provided by the host; used by the plugins `plugins` and `metrics`.",
});

/** Author of an installation, for the audit log, and the given agreement. */
export interface InstallAuthor {
  /** E.g. a principal id. */
  readonly actor: string;
  /** `details.agree` of the refusal that listed the requested permissions. */
  readonly agree?: string;
}

/**
 * Installs third-party plugins into this gateway. One operation at a time; a failure names its step and changes
 * nothing. Refusals are GatewayErrors with `details.step`; `details.code` is `AGREEMENT_NEEDED` (with `summary` and
 * `agree`) until the permissions are agreed to, otherwise `INSTALL_FAILED`; `UNAVAILABLE` while another install is
 * under way; `NOT_FOUND` for an id that is not installed.
 */
export interface PluginInstaller {
  /**
   * @param spec `<name>[@<version>]` in the registry, or an absolute path of an archive, directory or git repository
   */
  install(spec: string, author: InstallAuthor): Promise<PluginInstallation>;
  /** Installs the current version from the same source. Only permissions not yet agreed to need agreement. */
  update(id: string, author: InstallAuthor): Promise<PluginInstallation>;
  /** @param options.purge also delete its data and configuration */
  remove(id: string, author: InstallAuthor, options?: { readonly purge?: boolean }): Promise<PluginRemoval>;
  /** Reports problems of installed plugins; changes nothing. */
  doctor(): Promise<readonly PluginFinding[]>;
}

/** Token of the service. */
export const PluginInstaller = defineService<PluginInstaller>()("plugin.installer", "1.0.0", {
  summary: "Installs, updates and removes plugins. Provided by the plugin `plugins`.",
});
