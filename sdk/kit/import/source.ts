/** What a reader of another product's state gives to an import. */
import type { ImportOutcome, ImportRecord, SecretRecord } from "@svc/sdk/import";

/** What became of one record, setting or file. `kind` is the kind of the record, `setting` or `file`. */
export interface ImportItem extends ImportOutcome {
  readonly kind: string;
}

/** Records of one kind: at most 500, and about 4 MB of JSON. */
export interface ImportBatch {
  readonly kind: string;
  readonly records: readonly ImportRecord[];
}

/** A file or directory that is copied into the new state directory. */
export interface CopiedFile {
  /** Absolute. */
  readonly from: string;
  /** Relative to the state directory. */
  readonly to: string;
  /** Names that are not copied, at any depth. */
  readonly without?: readonly string[];
}

/** A finding about a setting. */
export interface ConfigIssue {
  readonly path: string;
  readonly message: string;
  /** The value at `path` has this key, which is unknown. */
  readonly unexpected?: string;
}

/** What `svc config validate --json` says about a configuration. */
export interface CheckedConfig {
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
  /** Paths of sections that no plugin in use has. */
  readonly unused: readonly string[];
  /** Settings that are accepted and have no effect. */
  readonly withoutEffect: readonly ConfigIssue[];
}

/** The settings for the new `svc.json`, and what became of each one of the source. */
export interface ConvertedSettings {
  readonly config: Readonly<Record<string, unknown>>;
  readonly items: readonly Omit<ImportItem, "kind">[];
  /** Settings that are put aside. May hold secrets. */
  readonly kept: Readonly<Record<string, unknown>>;
  /** One sentence each: what is less protected than before, and what is more. */
  readonly weaker: readonly string[];
  readonly stricter: readonly string[];
  readonly secrets: readonly SecretRecord[];
  readonly warnings: readonly string[];
}

/** A gateway that uses the source. */
export interface RunningSource {
  readonly pid?: number;
}

/** The state of another product, opened by its reader. Nothing in its directory is ever changed. */
export interface ImportSource {
  /** For people, e.g. "OpenClaw 2026.3.2". */
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
  /** How the state is stored, for people, e.g. "files". */
  readonly format: string;
  /** The state is only partly moved between two formats. */
  readonly halfMoved: boolean;
  /** The commands that stop and start its gateway. */
  readonly stop: string;
  readonly start: string;
  running(): Promise<RunningSource | undefined>;
  /**
   * @param stateDir the new state directory
   * @param check validates a candidate. @throws GatewayError `IMPORT_UNPROTECTED`, `IMPORT_UNREADABLE`
   */
  settings(
    stateDir: string,
    check: (config: Readonly<Record<string, unknown>>) => Promise<CheckedConfig>,
  ): Promise<ConvertedSettings>;
  /** Called after `settings`. */
  files(): Promise<readonly CopiedFile[]>;
  /** In the order in which they are taken. @param tell called for what the reader itself decides */
  records(settings: ConvertedSettings, tell: (item: ImportItem) => void): AsyncIterable<ImportBatch>;
  /** Files of the report directory by name: the configuration as it was. */
  original(): Promise<Readonly<Record<string, string>>>;
  /** Removes what the reader made. */
  close(): Promise<void>;
}

/** Choice: limits of a batch. */
const MOST_RECORDS = 500;
const MOST_CHARS = 4_000_000;

/** Collects records of one kind in batches. */
export async function* inBatches(
  kind: string,
  records: AsyncIterable<ImportRecord> | Iterable<ImportRecord>,
): AsyncGenerator<ImportBatch> {
  let batch: ImportRecord[] = [];
  let chars = 0;
  for await (const record of records) {
    const size = JSON.stringify(record).length;
    if (batch.length > 0 && (batch.length === MOST_RECORDS || chars + size > MOST_CHARS)) {
      yield { kind, records: batch };
      batch = [];
      chars = 0;
    }
    batch.push(record);
    chars += size;
  }
  if (batch.length > 0) yield { kind, records: batch };
}
