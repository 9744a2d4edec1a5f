/** Services the host itself provides. */
import type { ConnectionInfo } from "../hook-catalogue.ts";
import { defineService } from "../service.ts";

/** A snapshot of the configuration, secrets replaced by a sentinel. Spec: protocol/methods-config.md §1. */
export interface ConfigSnapshot {
  readonly path: string;
  readonly exists: boolean;
  readonly raw: string | null;
  readonly parsed: unknown;
  readonly resolved: unknown;
  readonly valid: boolean;
  readonly config: unknown;
  readonly hash: string;
  readonly issues: readonly { path: string; message: string }[];
  readonly warnings: readonly { path: string; message: string }[];
  readonly legacyIssues: readonly { path: string; message: string }[];
}

/** How a change takes effect: at once, by a reload of the plugin that owns the key, or by a restart of the gateway. */
export type ReloadKind = "hot" | "plugin" | "restart";

/** Who changes the configuration, for the audit line. */
export interface ConfigAuthor {
  /** E.g. a principal id, `cli`. */
  readonly actor: string;
  /** E.g. `config.patch`. */
  readonly action: string;
}

/** A change written as text. */
export interface ConfigChange extends ConfigAuthor {
  /** `replace`: `raw` is the whole file. `patch`: `raw` is a merge patch (RFC 7396). */
  readonly mode: "replace" | "patch";
  /** JSON5. The redaction sentinel stands for the value that is there. */
  readonly raw: string;
  /** Hash of the file the change was made from; required when there is a file. */
  readonly baseHash?: string;
}

/** One value put at a path, or taken away (`value` absent or `undefined`). Numbers are places in arrays. */
export interface ConfigEdit {
  readonly path: readonly (string | number)[];
  readonly value?: unknown;
}

/** What became of a change. */
export interface ConfigWritten {
  readonly path: string;
  /** Of the file as it stands now. */
  readonly hash: string;
  /** With defaults, secrets hidden. */
  readonly config: unknown;
  /** Dotted paths that differ from before. */
  readonly changed: readonly string[];
  /** What the changed keys need, the strongest of them; `undefined` when nothing changed. */
  readonly reload: ReloadKind | undefined;
}

/** Reads and changes the configuration. */
export interface ConfigStore {
  /** Reads the file anew. */
  snapshot(): Promise<ConfigSnapshot>;
  /** The composed JSON Schema, with hints for forms. */
  schema(): { schema: unknown; uiHints: Record<string, unknown>; version: string };
  /**
   * Writes a change to the file, durably, and brings the running gateway in line with it (a restart is left to `Restarts`).
   * Order of checks: base hash, syntax, sentinels, schema, the hook `configValidate`.
   * @throws GatewayError `INVALID_REQUEST` naming what is wrong, `details.issues` for schema violations; `UNAVAILABLE` when the file cannot be written
   */
  write(change: ConfigChange): Promise<ConfigWritten>;
  /**
   * As `write`, for single values: `decide` gets the file as parsed (no defaults, placeholders unresolved) and runs
   * under the lock all writers share. No edits: nothing is written. @throws GatewayError as `write`, and whatever `decide` throws
   */
  edit(
    author: ConfigAuthor,
    decide: (parsed: Readonly<Record<string, unknown>>) => readonly ConfigEdit[],
  ): Promise<ConfigWritten>;
}

/** The configuration file. Provided by the host. */
export const ConfigStore = defineService<ConfigStore>()("config.store", "1.0.0");

/** State of a plugin as reports show it. */
export interface PluginReport {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  /** Why it is not active, or what an operator should know about it. */
  readonly reason?: string;
  /** epoch ms of the next attempt of the gateway itself */
  readonly retryAt?: number;
  readonly generation: number;
  /** Where its code runs. Default `host`. */
  readonly placement?: "host" | "worker" | "process";
  /** The last failure that was charged to it: where, and what. */
  readonly blame?: { readonly at: number; readonly where: string; readonly message: string };
  /** Milliseconds each step took. */
  readonly importMs?: number;
  readonly setupMs?: number;
  readonly startMs?: number;
  /** Errors charged to it since the start. */
  readonly errors: number;
  /** What it declared that does nothing now, e.g. a contribution without an owner. */
  readonly inert: readonly string[];
  /** Parts of the plugin API it uses that will go away: each with its last version and what to use instead. */
  readonly deprecated?: readonly string[];
}

/** What a reload of a plugin came to. */
export interface ReloadReport {
  readonly id: string;
  /** True when the new version runs. */
  readonly ok: boolean;
  /** Why not; the former version runs on, unless `state` says otherwise. */
  readonly reason?: string;
  /** State after it. */
  readonly state: string;
  readonly generation: number;
  /** The new version had started to replace the old one and failed; the old one was started again. */
  readonly rolledBack: boolean;
  /** Plugins that were restarted with it, because they use what it provides. */
  readonly restarted: readonly string[];
  /** Milliseconds during which calls to it were held. */
  readonly heldMs: number;
}

/** What a plugin has cost since the gateway started, over all its generations. */
export interface PluginStats {
  /** Methods and routes it answered, refusals included. */
  readonly calls: number;
  readonly underWay: number;
  /** Charged to it: of calls, hooks, timers, and code nobody awaited. */
  readonly errors: number;
  /** Milliseconds, up to an eighth too many; `null` before its first answer. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
  readonly hookRuns: number;
  readonly hookErrors: number;
  /** `null` where its code shares the memory of the gateway: in the placement `host`. */
  readonly memoryBytes: number | null;
  /** How often it blocked the event loop for a second or more. */
  readonly blocks: number;
  readonly longestBlockMs: number;
}

/** The same, with what only a monitoring system wants. */
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

/** A block of the event loop that is over. */
export interface EventLoopBlock {
  /** Milliseconds */
  readonly ms: number;
  /** Where the code stood after a second, innermost call first; empty: unknown. */
  readonly stack: readonly string[];
}

/**
 * Whose code runs in the gateway's own thread, for a plugin that watches that thread. Every generation of a plugin has a number of its
 * own, never used again in this process; 0 stands for code of no plugin.
 */
export interface EventLoopOwners {
  /** Holds one `Int32`: the owner of the code that runs now, up to its first `await`. Other threads may read it. */
  readonly running: SharedArrayBuffer;
  /** False while the log leaves errors out. */
  readonly logsErrors: boolean;
  /** Owner of the async context this is called in. */
  current(): number;
  /** Calls `listen` with each owner there is now, and with each change: `undefined` when a generation has ended. @returns stops it */
  follow(listen: (owner: number, plugin: string | undefined) => void): () => void;
  /** Counts a block in the statistics of its plugin and charges the plugin with it; a block by code of no plugin goes to the log. */
  attribute(owner: number, block: EventLoopBlock): void;
}

/** Owners of running code. Provided by the host. */
export const EventLoopOwners = defineService<EventLoopOwners>()("gateway.event-loop", "1.0.0");

/** Everything known about one plugin. */
export interface PluginInspection {
  readonly plugin: PluginReport;
  readonly stats: PluginStats;
  readonly package: {
    /** What named it: a package, a path or `inline`. */
    readonly origin: string;
    readonly directory?: string;
    readonly description?: string;
  };
  /** What its package asks for. */
  readonly permissions?: Readonly<Record<string, unknown>>;
  readonly placements: {
    readonly now: NonNullable<PluginReport["placement"]>;
    readonly supports: readonly NonNullable<PluginReport["placement"]>[];
  };
  /** Of a plugin that does not run: what is known without it. */
  readonly declares: PluginDeclarations;
}

/** What a plugin declares, by kind, e.g. `methods`: each with its name, and the facts of its kind. */
export type PluginDeclarations = Readonly<
  Record<string, readonly { readonly name: string; readonly [fact: string]: unknown }[]>
>;

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
}

/** Reloading plugins. Provided by the host. */
export const PluginControl = defineService<PluginControl>()("plugin.control", "1.0.0");

/** What an install or update of a plugin came to. */
export interface PluginInstallation {
  readonly id: string;
  /** Of its package. */
  readonly name: string;
  readonly version: string;
  /** `link`: a directory under development, used where it lies. */
  readonly source: "npm" | "archive" | "directory" | "git" | "link";
  /** What was asked for; an update asks for the same. */
  readonly spec: string;
  /** Rises with every install of this id. */
  readonly generation: number;
  /** Subresource integrity of its archive; empty for a link. */
  readonly integrity: string;
  /** False: that very package was installed already. */
  readonly changed: boolean;
  /** The one that was replaced and is kept. */
  readonly previousVersion?: string;
  /** State in the running gateway; absent when nothing changed there. */
  readonly state?: string;
  /** Why it is not active. */
  readonly reason?: string;
}

/** What a removal of a plugin came to. */
export interface PluginRemoval {
  readonly id: string;
  readonly version: string;
  /** What is still there of it: its directory in the state directory, and keys of the configuration. */
  readonly kept: { readonly directory?: string; readonly keys: readonly string[] };
}

/** Something wrong with what is installed. */
export interface PluginFinding {
  readonly severity: "error" | "warning";
  /** A plugin, or a file. */
  readonly about: string;
  readonly message: string;
  /** What to type or do. */
  readonly next: string;
}

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

/** Installing plugins. Provided by the host. */
export const PluginInstaller = defineService<PluginInstaller>()("plugin.installer", "1.0.0");

/** A restart that was asked for. Spec: protocol/methods-config.md §3. */
export interface ScheduledRestart {
  /** Milliseconds until it is due, cooldown included; 0 when one is under way. */
  readonly delayMs: number;
  /** It joined one that was pending. */
  readonly coalesced: boolean;
  readonly cooldownMsApplied: number;
}

/** How a restart is done. `gateway`: within its process. `process`: by a new process, which runs the code that lies on disk then. */
export type RestartKind = "gateway" | "process";

/** Restarts of the gateway. */
export interface Restarts {
  /** False where nobody can start it again: a gateway inside another program. */
  readonly possible: boolean;
  /** A restart of kind `process` is possible: the gateway is the program, and not a part of another one. */
  readonly renewable?: boolean;
  /**
   * @param options.delayMs default 2000, clamped to 0..60000
   * @param options.kind default `gateway`; of several who ask for the same restart, one who needs a new process is enough
   * @throws GatewayError `UNAVAILABLE` where not `possible`, or not `renewable` for the kind `process`
   */
  schedule(options: {
    readonly reason: string;
    readonly delayMs?: number;
    readonly kind?: RestartKind;
  }): ScheduledRestart;
}

/** Restarts. Provided by the host. */
export const Restarts = defineService<Restarts>()("gateway.restarts", "1.0.0");

/** Ends what relies on a credential. */
export interface Credentials {
  /** Everything that acts as this principal is dead from now on: its connections are closed with 1008, its calls refused. */
  revoke(principalId: string, reason: string): void;
  /** The same for everything that proved this device, whatever credential came with it. */
  revokeDevice(deviceId: string, reason: string): void;
}

/** Revoking credentials that a plugin vouched for. Provided by the host. */
export const Credentials = defineService<Credentials>()("credentials", "1.0.0");

/** What this gateway is and does. */
export interface GatewayInfo {
  readonly version: string;
  /** Where the host's own package lies, without symbolic links. Absent when its code was taken out of it. */
  readonly hostDirectory?: string;
  /** epoch ms */
  readonly startedAt: number;
  readonly stateDir: string;
  readonly configPath: string;
  readonly authMode: string;
  /** `gateway.aliases`, as they are now. */
  readonly aliases: readonly string[];
  /** Set once the port is open. */
  readonly url: string | undefined;
  /** Path of the file the next line of the log goes into; it may not be there yet. Its name follows `logSeries`. */
  logFile(): string;
  plugins(): readonly PluginReport[];
  /** Accepted connections. */
  connections(): readonly ConnectionInfo[];
}

/** Facts about this gateway. Provided by the host. */
export const GatewayInfo = defineService<GatewayInfo>()("gateway.info", "1.0.0");
