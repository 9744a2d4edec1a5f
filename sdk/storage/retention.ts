/**
 * Extension point `storage.retention`: what a plugin stores, and when it is deleted. The storage plugin deletes expired
 * data.
 */
import { defineExtensionPoint } from "../service.ts";

/** Rows that expire. The oldest are deleted first, in transactions of at most 500 rows. */
export interface ExpiringRows {
  readonly table: string;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** Column with the decisive time, epoch ms; index it. A row without a value never expires. */
  readonly at: string;
  /** Age in milliseconds after which a row is deleted; 0: once `at` has passed. Default: any age. */
  readonly olderThanMs?: number;
  /** Number of newest rows to keep; older rows are deleted at any age. Default: unlimited. */
  readonly most?: number;
  /** SQL condition for the rows this rule covers; other rows stay. Default: every row. */
  readonly only?: string;
}

/**
 * Tables or files of one kind of data. Plain data except for `clean`, so that a sleeping plugin need not be woken for
 * it.
 */
export interface Retention {
  readonly tables?: readonly string[];
  /** Files and directories below the state directory. */
  readonly files?: readonly string[];
  /** What is stored, for people, e.g. `accepted webhooks and their outcome`. */
  readonly holds: string;
  /** When it is deleted, for people, e.g. `30 days after its end`. */
  readonly rule: string;
  readonly rows?: readonly ExpiringRows[];
  /**
   * Deletes what row rules cannot express, e.g. files.
   * @param dryRun only count
   * @returns number of sessions, files or other items that were or would be deleted
   */
  readonly clean?: (dryRun: boolean) => Promise<number>;
}

/** Token of the extension point. */
export const Retention = defineExtensionPoint<Retention>("storage.retention", {
  summary:
    "Retention rules. Owned by the storage plugin, which deletes expired data; contributed by every plugin that stores tables or files. A test checks that each table of a bundled plugin is covered.",
  remotable: true,
});
