/** The service that reads and changes the configuration file. */
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
  /** What the gateway uses; absent where none runs. */
  readonly running?: {
    readonly hash: string;
    /** Dotted paths that take effect with the next restart. */
    readonly restart?: { readonly paths: readonly string[]; readonly delayMs?: number };
    /** The file that is not used, and why. */
    readonly refused?: { readonly hash: string; readonly reason: string };
  };
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
  /** The caller schedules the restart that a changed key needs. Default false: `gateway.reload.mode` decides. */
  readonly restartsItself?: boolean;
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
