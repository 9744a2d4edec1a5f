/** What a gateway is started with, and what its starter gets. */
import type { Clock, ConnectionInfo, Plugin } from "@svc/sdk";
import type { PluginReport, ReloadReport } from "@svc/sdk/plugins";
import type { AuthOverrides, AuthSettings } from "./auth/settings.ts";
import type { Environment, Paths } from "./config/paths.ts";
import type { KernelHooks } from "./kernel/kind.ts";
import type { MissingPlugin, PluginSource } from "./kernel/load.ts";
import type { LogLevel } from "./logs/log.ts";
import type { Restarter } from "./restarts.ts";

export interface GatewayOptions {
  /** Exactly these plugins: values, ids, package names or paths. Default: `plugins.use` of the configuration, else the full bundle. */
  readonly plugins?: readonly (Plugin | string)[];
  /**
   * Absolute paths of modules whose default export is a further kind of declaration (`defineKind`): what it offers stands in the `gateway` of
   * every plugin, wherever that runs. Default: none.
   */
  readonly kinds?: readonly string[];
  /** Taps the life of plugins before any is loaded. */
  readonly tap?: (hooks: KernelHooks) => void;
  /** A plugin that is being written: loaded beside those, in the place of one with its id. Asked at the start and at each `reload` of it. */
  readonly developed?: () => PluginSource | MissingPlugin;
  /** Used instead of the configuration file, which is not read then. */
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * Start with the last configuration that worked where a start with the file is refused; the file is used as soon as it is
   * right. Default false.
   */
  readonly lastGood?: boolean;
  /** Default: `SVC_GATEWAY_PORT`, `gateway.port`, 18789. 0 picks a free port. */
  readonly port?: number;
  /** Instead of what `gateway.auth` says, also after it changes. */
  readonly auth?: AuthOverrides;
  /** Default: `SVC_STATE_DIR`, else `~/.svc`. */
  readonly stateDir?: string;
  /** Default: the process environment. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Of the file and of standard error. Default: `SVC_LOG_LEVEL`, else as the section `logging` says. */
  readonly logLevel?: LogLevel;
  /** Compare every result with its schema. Default false; on in tests. */
  readonly checkResults?: boolean;
  /** Milliseconds a stop waits for work in flight: runs, calls, streams. A restart waits as long, and 30000 at least. Default 5000. */
  readonly drainMs?: number;
  /** Milliseconds a socket has for `connect`. Default 10000. */
  readonly handshakeTimeoutMs?: number;
  /** Bytes a slow reader may leave unread. Default 52428800. */
  readonly maxBufferedBytes?: number;
  /** Who starts the gateway again when a changed key needs it. Default: nobody, and the log says what waits for a restart. */
  readonly restart?: Restarter;
}

/** How a stop is announced to clients. */
export interface StopOptions {
  /** Milliseconds until it is back. Default: it is not coming back. */
  readonly restartExpectedMs?: number;
  /** Instead of `drainMs` of the gateway. */
  readonly drainMs?: number;
}

export interface Gateway {
  /** `ws://127.0.0.1:<port>`, or `wss:` where the port speaks TLS. */
  readonly url: string;
  /** SHA-256 of the certificate, as `AB:CD:...`, where the port speaks TLS. */
  readonly tlsFingerprint: string | undefined;
  readonly port: number;
  /** It listens beyond this machine. */
  readonly isOpen: boolean;
  readonly auth: AuthSettings;
  /** `gateway.aliases`. */
  readonly aliases: readonly string[];
  readonly paths: Paths;
  plugins(): readonly PluginReport[];
  /** Ids of the plugins with work in flight, which a stop waits for. */
  busy(): readonly string[];
  connections(): readonly ConnectionInfo[];
  /**
   * Loads a plugin's code anew and puts it in the place of the running version; the report says what became of it.
   * @param id or what named it, e.g. a path. @throws GatewayError `NOT_FOUND`
   */
  reload(id: string): Promise<ReloadReport>;
  /** How much of each kind plugins have declared now, e.g. `taps`: what a reload must leave as it was. */
  holdings(): Readonly<Record<string, number>>;
  /** Things an operator should know about the start. */
  readonly warnings: readonly string[];
  /** Puts the error that ends the process into the log. @returns it, for people, secrets hidden */
  crashed(error: unknown): string;
  /** Drains, tells clients, stops plugins in reverse, closes. Safe to call twice. */
  stop(reason?: string, options?: StopOptions): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
