/** Options of a gateway, and the interface of a started one. */
import type { Clock, ConnectionInfo, Plugin } from "@svc/sdk";
import type { PluginReport, ReloadReport } from "@svc/sdk/plugins";
import type { AuthOverrides, AuthSettings } from "./auth/settings.ts";
import type { Environment, Paths } from "./config/paths.ts";
import type { KernelHooks } from "./kernel/kind.ts";
import type { MissingPlugin, PluginSource } from "./kernel/load.ts";
import type { LogLevel } from "./logs/log.ts";
import type { Restarter } from "./restarts.ts";

export interface GatewayOptions {
  /** Load exactly these plugins: values, ids, package names or paths. Default: `plugins.use` of the configuration, else the full bundle. */
  readonly plugins?: readonly (Plugin | string)[];
  /**
   * Absolute paths of modules whose default export is an additional kind of declaration (`defineKind`). It extends the `gateway` of
   * every plugin, wherever the plugin runs. Default: none.
   */
  readonly kinds?: readonly string[];
  /** Called before any plugin is loaded, to tap the lifecycle hooks. */
  readonly tap?: (hooks: KernelHooks) => void;
  /** A plugin under development: loaded in addition, replacing one with the same id. Called at the start and on each `reload` of it. */
  readonly developed?: () => PluginSource | MissingPlugin;
  /** Used instead of the configuration file, which is then not read. */
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * If a start with the file is refused, start with the last configuration that worked; the file is used as soon as it is
   * valid. Default false.
   */
  readonly lastGood?: boolean;
  /** Default: `SVC_GATEWAY_PORT`, `gateway.port`, 18789. 0 picks a free port. */
  readonly port?: number;
  /** Overrides `gateway.auth`, also after it changes. */
  readonly auth?: AuthOverrides;
  /** Default: `SVC_STATE_DIR`, else `~/.svc`. */
  readonly stateDir?: string;
  /** Default: the process environment. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Level of the log file and of stderr. Default: `SVC_LOG_LEVEL`, else the section `logging`. */
  readonly logLevel?: LogLevel;
  /** Check every result against its schema. Default false; true in tests. */
  readonly checkResults?: boolean;
  /** Milliseconds a stop waits for work in flight: runs, calls, streams. A restart waits equally long, at least 30000. Default 5000. */
  readonly drainMs?: number;
  /** Milliseconds within which a socket must send `connect`. Default 10000. */
  readonly handshakeTimeoutMs?: number;
  /** Bytes a slow reader may leave unread. Default 52428800. */
  readonly maxBufferedBytes?: number;
  /** Restarts the gateway when a changed key needs it. Default: none; the log names the keys that wait for a restart. */
  readonly restart?: Restarter;
}

/** Options of `Gateway.stop`. */
export interface StopOptions {
  /** Milliseconds until the gateway is expected back, announced to clients. Default: it does not restart. */
  readonly restartExpectedMs?: number;
  /** Overrides `drainMs` of the gateway. */
  readonly drainMs?: number;
}

export interface Gateway {
  /** `ws://127.0.0.1:<port>`, or `wss:` if the port uses TLS. */
  readonly url: string;
  /** SHA-256 of the certificate, as `AB:CD:...`, if the port uses TLS. */
  readonly tlsFingerprint: string | undefined;
  readonly port: number;
  /** Whether it listens on an address other than loopback. */
  readonly isOpen: boolean;
  readonly auth: AuthSettings;
  /** `gateway.aliases`. */
  readonly aliases: readonly string[];
  readonly paths: Paths;
  plugins(): readonly PluginReport[];
  /** Ids of the plugins with work in flight, which a stop waits for. */
  busy(): readonly string[];
  connections(): readonly ConnectionInfo[];
  /** Number of other gateways on the same state, which go on when this one stops. */
  readonly others: number;
  /**
   * Loads a plugin's code again and replaces the running version; the report contains the outcome.
   * @param id the id, or the name it was loaded by, e.g. a path @throws GatewayError `NOT_FOUND`
   */
  reload(id: string): Promise<ReloadReport>;
  /** Number of declarations of each kind, e.g. `taps`, which a reload must not change. */
  holdings(): Readonly<Record<string, number>>;
  /** Warnings about the start for the operator. */
  readonly warnings: readonly string[];
  /** Logs the error that ends the process. @returns its text with secrets hidden */
  crashed(error: unknown): string;
  /** Drains, notifies clients, stops plugins in reverse order, closes. Safe to call twice. */
  stop(reason?: string, options?: StopOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
