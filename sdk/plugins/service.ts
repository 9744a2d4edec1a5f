/** Services that control and install plugins. */
import { defineService } from "../service.ts";
import type { PluginReport, ReloadReport } from "../plugin-report.ts";
import type { PluginFinding, PluginInspection, PluginInstallation, PluginRemoval, PluginStats } from "./contract.ts";

/** `PluginStats`, with what only a monitoring system wants. */
export interface PluginMeasures extends PluginStats {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  /** Milliseconds all its answers took together. */
  readonly callsMs: number;
  /** Answers that took less than `belowMs`, ascending, each including the ones before it; slower ones are in `calls` only. */
  readonly answers: readonly { readonly belowMs: number; readonly calls: number }[];
  /** What became of the calls of each method; at most 500 methods, further ones together as `other`. */
  readonly methods: readonly {
    readonly name: string;
    readonly ok: number;
    /** Answered with a `GatewayError`. */
    readonly refused: number;
    /** Threw something else. */
    readonly failed: number;
  }[];
}

/** Plugins as the configuration and the record of installed plugins want them, running or not. */
export interface PlannedPlugins {
  /** What is asked for and cannot be loaded. */
  readonly missing: readonly { readonly origin: string; readonly reason: string }[];
  /** Ids that the configuration disables. */
  readonly disabled: readonly string[];
  /** Ids below `plugins.entries`. */
  readonly configured: readonly string[];
  /** Owners of sections of the configuration, as far as they are known. */
  readonly sections: readonly { readonly section: string; readonly plugin: string }[];
  /** In words what has this id: a plugin of the bundle, or one that the configuration names. `undefined`: neither. */
  holderOf(id: string): string | undefined;
}

/** Controls the plugins of this gateway. */
export interface PluginControl {
  reports(): readonly PluginReport[];
  /** @throws GatewayError `NOT_FOUND` for an id that is not here */
  inspect(id: string): PluginInspection;
  /** Of every plugin, by id. */
  measures(): readonly PluginMeasures[];
  /**
   * Loads a plugin's code anew and puts it in the place of the running one, with calls to it held meanwhile.
   * Also brings back a plugin that failed or is in quarantine.
   * @throws GatewayError `NOT_FOUND` for an id that is not here
   */
  reload(id: string): Promise<ReloadReport>;
  /**
   * Looks anew at what is installed and what the configuration says of plugins: loads what is new, takes down what is gone
   * or disabled, replaces what comes from another place now.
   * @returns what became of each plugin that was concerned
   */
  align(): Promise<readonly ReloadReport[]>;
  planned(): PlannedPlugins;
}

/** Reloading plugins. Provided by the host. */
export const PluginControl = defineService<PluginControl>()("plugin.control", "1.0.0");

/** Who installs, for the log of changes, and what was agreed to. */
export interface InstallAuthor {
  /** E.g. a principal id. */
  readonly actor: string;
  /** `details.agree` of the refusal that showed what the plugin asks for. */
  readonly agree?: string;
}

/**
 * Installs plugins of other people into this gateway. One at a time; a failure names its step and leaves all as it was.
 * Refusals: GatewayError, with `details.step`; `details.code` is `AGREEMENT_NEEDED` (with `summary` and `agree`) while nobody
 * agreed, `INSTALL_FAILED` else; `UNAVAILABLE` while another install is under way; `NOT_FOUND` for an id that is not installed.
 */
export interface PluginInstaller {
  /** @param spec `<name>[@<version>]` of the registry, or an absolute path of an archive, directory or git repository */
  install(spec: string, author: InstallAuthor): Promise<PluginInstallation>;
  /** Installs what it was installed from, as that is now. Asks only for what was not agreed to before. */
  update(id: string, author: InstallAuthor): Promise<PluginInstallation>;
  /** @param options.purge also what it keeps for itself, and its configuration */
  remove(id: string, author: InstallAuthor, options?: { readonly purge?: boolean }): Promise<PluginRemoval>;
  /** What is wrong with what is installed; changes nothing. */
  doctor(): Promise<readonly PluginFinding[]>;
}

/** Installing plugins. Provided by the plugin `plugins`. */
export const PluginInstaller = defineService<PluginInstaller>()("plugin.installer", "1.0.0");
