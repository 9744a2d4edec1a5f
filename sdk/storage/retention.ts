/** Extension point `storage.retention`: what a plugin keeps, and when it goes. The storage plugin deletes what has expired. */
import { defineExtensionPoint } from "../service.ts";

/** Rows that go. The oldest are deleted first, in transactions of at most 500 rows. */
export interface ExpiringRows {
  readonly table: string;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** Column with the time that counts, epoch ms; index it. A row without one stays. */
  readonly at: string;
  /** Age in milliseconds after which a row goes; 0: once `at` is over. Default: at any age. */
  readonly olderThanMs?: number;
  /** Rows that stay, the newest; older ones go at any age. Default: any number. */
  readonly most?: number;
  /** SQL condition on a row; other rows stay. Default: every row. */
  readonly only?: string;
}

/** Tables or files of one subject. It is plain data but for `clean`, so that a plugin that is asleep is not woken for it. */
export interface Retention {
  readonly tables?: readonly string[];
  /** Files and directories below the state directory. */
  readonly files?: readonly string[];
  /** What is kept, for people, e.g. `accepted webhooks and their outcome`. */
  readonly holds: string;
  /** When it goes, for people, e.g. `30 days after its end`. */
  readonly rule: string;
  readonly rows?: readonly ExpiringRows[];
  /**
   * Deletes what no row rule can name, e.g. files.
   * @param dryRun only count
   * @returns sessions, files or other pieces that went or would go
   */
  readonly clean?: (dryRun: boolean) => Promise<number>;
}

/** Every table of a plugin is named by one of its contributions; a test holds that for the bundle. Owned by the storage plugin. */
export const Retention = defineExtensionPoint<Retention>("storage.retention", { remotable: true });
