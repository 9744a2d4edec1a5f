/** The service that reads and changes the configuration file. */
import type { ConfigHint } from "./contract.ts";
import { defineService } from "../service.ts";

/** A snapshot of the configuration, with secrets replaced by a sentinel. Spec: protocol/methods-config.md §1. */
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
  /** The configuration in use; absent if no gateway is running. */
  readonly running?: {
    readonly hash: string;
    /** Dotted paths that take effect at the next restart. */
    readonly restart?: { readonly paths: readonly string[]; readonly delayMs?: number };
    /** The rejected file, and why. */
    readonly refused?: { readonly hash: string; readonly reason: string };
    /** The configuration is in the database of all gateways. Default false: in the file of this one. */
    readonly isShared?: boolean;
  };
}

/** How a change takes effect: at once, by reloading the plugin that owns the key, or by restarting the gateway. */
export type ReloadKind = "hot" | "plugin" | "restart";

/** Author of a configuration change, for the audit log. */
export interface ConfigAuthor {
  /** E.g. a principal id, `cli`. */
  readonly actor: string;
  /** E.g. `config.patch`. */
  readonly action: string;
}

/** A configuration change given as text. */
export interface ConfigChange extends ConfigAuthor {
  /** `replace`: `raw` is the whole file. `patch`: `raw` is a merge patch (RFC 7396). */
  readonly mode: "replace" | "patch";
  /** JSON5. The redaction sentinel stands for the current value. */
  readonly raw: string;
  /** `patch`: a list replaces the current one also if its entries have ids. Default false: such lists merge by id. */
  readonly replaceLists?: boolean;
  /** Hash of the file that the change is based on; required if the file exists. */
  readonly baseHash?: string;
  /** The caller schedules the restart that a changed key needs. Default false: `gateway.reload.mode` decides. */
  readonly restartsItself?: boolean;
}

/** Sets one value at a path, or removes it (`value` absent or `undefined`). Numbers are array indexes. */
export interface ConfigEdit {
  readonly path: readonly (string | number)[];
  readonly value?: unknown;
}

/** Outcome of a change. */
export interface ConfigWritten {
  readonly path: string;
  /** Hash of the current file. */
  readonly hash: string;
  /** With defaults, secrets redacted. */
  readonly config: unknown;
  /** Dotted paths whose value changed. */
  readonly changed: readonly string[];
  /** The strongest reload that the changed keys need; `undefined` if nothing changed. */
  readonly reload: ReloadKind | undefined;
}

/** Where the configuration is: in the file of each gateway, or in the database of all gateways. */
export type ConfigPlace = "file" | "database";

/** Reads and changes the configuration. */
export interface ConfigStore {
  /** Reads the file again. */
  snapshot(): Promise<ConfigSnapshot>;
  /** The composed JSON Schema, with hints for forms. */
  schema(): { schema: unknown; uiHints: Record<string, ConfigHint>; version: string };
  /** How a change of the value at a path takes effect. `*` stands for any key of a map. */
  reloadKind(path: readonly string[]): ReloadKind;
  /**
   * Writes a change durably to the file and applies it to the running gateway (a restart is left to `Restarts`). Order
   * of checks: base hash, syntax, sentinels, schema, the hook `configValidate`.
   * @throws GatewayError `INVALID_REQUEST` naming the problem, with `details.issues` for schema violations;
   * `UNAVAILABLE` if the file cannot be written
   */
  write(change: ConfigChange): Promise<ConfigWritten>;
  /**
   * Like `write`, for single values: `decide` receives the parsed file (without defaults, placeholders unresolved) and
   * runs under the lock shared by all writers. If it returns no edits, nothing is written. @throws GatewayError like
   * `write`, and errors of `decide`
   */
  edit(
    author: ConfigAuthor,
    decide: (parsed: Readonly<Record<string, unknown>>) => readonly ConfigEdit[],
  ): Promise<ConfigWritten>;
  /**
   * Moves the configuration of this gateway to the database, where it is that of all gateways on it, or ends that: then the file of each gateway
   * counts, which was a copy. @returns whether it was elsewhere @throws GatewayError `INVALID_REQUEST`: the gateway has no such database, or its file
   * has issues or includes other files; `UNAVAILABLE`
   */
  move(to: ConfigPlace, author: ConfigAuthor): Promise<boolean>;
}

/** Token of the service. */
export const ConfigStore = defineService<ConfigStore>()("config.store", "1.0.0", {
  summary: "Reads and changes the configuration file. Provided by the host; used by plugins that manage settings.",
});
