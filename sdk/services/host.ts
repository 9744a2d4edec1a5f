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

/** Reads the configuration. */
export interface ConfigStore {
  /** Reads the file anew. */
  snapshot(): Promise<ConfigSnapshot>;
  /** The composed JSON Schema, with hints for forms. */
  schema(): { schema: unknown; uiHints: Record<string, unknown>; version: string };
}

/** The configuration file. Provided by the host. */
export const ConfigStore = defineService<ConfigStore>()("config.store", "1.0.0");

/** State of a plugin as reports show it. */
export interface PluginReport {
  readonly id: string;
  readonly version: string;
  readonly state: string;
  /** Why it is not active. */
  readonly reason?: string;
  readonly generation: number;
  /** Milliseconds each step took. */
  readonly importMs?: number;
  readonly setupMs?: number;
  readonly startMs?: number;
  /** Errors charged to it since the start. */
  readonly errors: number;
  /** What it declared that does nothing now, e.g. a contribution without an owner. */
  readonly inert: readonly string[];
}

/** What this gateway is and does. */
export interface GatewayInfo {
  readonly version: string;
  /** epoch ms */
  readonly startedAt: number;
  readonly stateDir: string;
  readonly configPath: string;
  readonly authMode: string;
  /** Set once the port is open. */
  readonly url: string | undefined;
  plugins(): readonly PluginReport[];
  /** Accepted connections. */
  connections(): readonly ConnectionInfo[];
}

/** Facts about this gateway. Provided by the host. */
export const GatewayInfo = defineService<GatewayInfo>()("gateway.info", "1.0.0");
