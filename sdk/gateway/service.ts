/** Services about the gateway as a whole: restarts, credentials, facts. */
import type { ConnectionInfo } from "../host-hooks.ts";
import type { PluginReport } from "../plugin-report.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

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

/** Which credentials count, and ending them. */
export interface Credentials {
  /**
   * Everything that acts as this principal is dead from this call on: its connections are closed with 1008, its calls
   * refused, its runs stopped (hook `credentialsEnded`). Over restarts too once it resolves; where that could not be
   * written, the log says so.
   */
  revoke(principalId: string, reason: string): Promise<void>;
  /** The same for everything that proved this device, whatever credential came with it. */
  revokeDevice(deviceId: string, reason: string): Promise<void>;
  /** Whether the credential behind a principal still counts; also of a principal that was kept on disk over restarts. */
  isLive(principal: Principal): boolean;
}

/** Credentials of clients. Provided by the host. */
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
  /**
   * Why the start refused the configuration file, in lines; set while the last configuration that worked is used instead
   * (`svc gateway run --last-good`).
   */
  readonly fileRefusal?: string | undefined;
  /** SHA-256 of its certificate, as `AB:CD:...`. Set once a port is open that speaks TLS. */
  readonly tlsFingerprint: string | undefined;
  /** Path of the file the next line of the log goes into; it may not be there yet. Its name follows `logSeries`. */
  logFile(): string;
  plugins(): readonly PluginReport[];
  /** Names of those that are to run and do not; `plugins` says why. */
  missingPlugins(): readonly string[];
  /** Accepted connections. */
  connections(): readonly ConnectionInfo[];
}

/** Facts about this gateway. Provided by the host. */
export const GatewayInfo = defineService<GatewayInfo>()("gateway.info", "1.0.0");
