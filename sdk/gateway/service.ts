/** Services about the gateway as a whole: restarts, credentials, facts. */
import type { ConnectionInfo } from "../host-hooks.ts";
import type { PluginReport } from "../plugin-report.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** A requested restart. Spec: protocol/methods-config.md §3. */
export interface ScheduledRestart {
  /** Milliseconds until the restart, cooldown included; 0: a restart is under way. */
  readonly delayMs: number;
  /** The request was merged with a pending one. */
  readonly coalesced: boolean;
  readonly cooldownMsApplied: number;
}

/** How to restart. `gateway`: within its process. `process`: in a new process, which runs the code then on disk. */
export type RestartKind = "gateway" | "process";

/** Restarts of the gateway. */
export interface Restarts {
  /** False if nothing can start the gateway again: it is embedded in another program. */
  readonly possible: boolean;
  /** A restart of kind `process` is possible: the gateway is the main program of its process. */
  readonly renewable?: boolean;
  /**
   * @param options.delayMs default 2000, clamped to 0..60000
   * @param options.kind default `gateway`; if several callers request the same restart, one request for `process`
   * suffices
   * @throws GatewayError `UNAVAILABLE` if not `possible`, or not `renewable` for the kind `process`
   */
  schedule(options: {
    readonly reason: string;
    readonly delayMs?: number;
    readonly kind?: RestartKind;
  }): ScheduledRestart;
}

/** Token of the service. */
export const Restarts = defineService<Restarts>()("gateway.restarts", "1.0.0", {
  summary:
    "Schedules restarts. Provided by the host; used by the plugins that change the configuration or update the gateway.",
});

/** Validity of credentials, and revoking them. */
export interface Credentials {
  /**
   * Revokes everything that acts as this principal, effective immediately: its connections are closed with 1008, its
   * calls rejected, its runs stopped (hook `credentialsEnded`). Survives restarts once it resolves; if that could not
   * be written, the log says so.
   */
  revoke(principalId: string, reason: string): Promise<void>;
  /** Revokes everything that proved this device, whichever credential it used. */
  revokeDevice(deviceId: string, reason: string): Promise<void>;
  /**
   * Whether the credential of a principal is still valid; also works for a principal stored on disk across restarts.
   */
  isLive(principal: Principal): boolean;
}

/** Token of the service. */
export const Credentials = defineService<Credentials>()("credentials", "1.0.0", {
  summary:
    "Checks and revokes credentials of clients. Provided by the host; used by plugins that pair devices or work on behalf of a principal.",
});

/** Where the control panel is served: `gateway.controlUi`. */
export interface PanelPlace {
  readonly isServed: boolean;
  /** As written. Default: empty. */
  readonly basePath: string;
  /** Directory of its files, as written. Absent: those of the plugin. */
  readonly root?: string;
}

/**
 * Path below which the control panel is served: begins with a slash, does not end with one, or is empty. Spec:
 * http/control-panel.md §1.
 */
export function panelBasePath({ basePath }: Pick<PanelPlace, "basePath">): string {
  const path = basePath.trim();
  return (path.startsWith("/") || path === "" ? path : `/${path}`).replace(/\/$/, "");
}

/** Facts about this gateway. */
export interface GatewayInfo {
  readonly version: string;
  /** Directory of the host package, symbolic links resolved. Absent if its code was bundled elsewhere. */
  readonly hostDirectory?: string;
  /** epoch ms */
  readonly startedAt: number;
  readonly stateDir: string;
  readonly configPath: string;
  readonly authMode: string;
  /** Current value of `gateway.aliases`. */
  readonly aliases: readonly string[];
  /** Current value of `gateway.controlUi`. */
  readonly panel: PanelPlace;
  /** Set once the port is open. */
  readonly url: string | undefined;
  /**
   * Why the configuration file was rejected at startup; several lines. Set while the last working configuration is used
   * instead (`svc gateway run --last-good`).
   */
  readonly fileRefusal?: string | undefined;
  /** SHA-256 of the TLS certificate, as `AB:CD:...`. Set once a TLS port is open. */
  readonly tlsFingerprint: string | undefined;
  /** Path of the log file for the next line; it may not exist yet. Its name follows `logSeries`. */
  logFile(): string;
  plugins(): readonly PluginReport[];
  /** Names of plugins that should run but do not; `plugins` has the reasons. */
  missingPlugins(): readonly string[];
  /** Ids of plugins with work in flight. */
  busy(): readonly string[];
  /** Accepted connections. */
  connections(): readonly ConnectionInfo[];
  /** Connections that other gateways on the same state have accepted. */
  connectionsElsewhere(): readonly ConnectionInfo[];
}

/** Token of the service. */
export const GatewayInfo = defineService<GatewayInfo>()("gateway.info", "1.0.0", {
  summary: "Facts about this gateway. Provided by the host; used by every plugin that reports or displays them.",
});
