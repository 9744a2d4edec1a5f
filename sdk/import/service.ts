/** The `Importer` extension point: what plugins take from the state of another product, and give back. Plain data and promises only. */
import { defineExtensionPoint } from "../service.ts";
import { type ErrorCode, isGatewayError } from "../gateway-error.ts";
import { messageOf } from "../errors.ts";
import type { Static, TSchema } from "../schema.ts";
import { Turns } from "../turns.ts";
import type { ImportOutcome } from "./contract.ts";

/** A record of any kind. `id` is unique in its kind. */
export interface ImportRecord {
  readonly id: string;
}

/** Some records, and where the next ones begin. */
export interface GivenRecords<R> {
  readonly records: readonly R[];
  /** `after` of the next page; absent: these are the last. */
  readonly next?: string;
}

/** Takes and gives the records of one kind; the id of the contribution is the kind. */
export interface Importer<R extends ImportRecord = ImportRecord> {
  /** The records for people, plural: "cron jobs". */
  readonly title: string;
  /** JSON schema of a record. The owner of the extension point checks every record with it. */
  readonly record: TSchema;
  /**
   * Takes records into the state of the plugin. A record that is there already is not changed, so a repeated call changes nothing.
   *
   * @returns one outcome for each record, in order; a record that cannot be taken is `refuse`, not an error
   * @throws GatewayError for a failure that concerns every record, e.g. a full disk; the import ends and the former state stays
   */
  take(records: readonly R[]): Promise<readonly ImportOutcome[]>;
  /** Stored units. Unit: see `ImportOutcome.added`. The difference of two counts is compared with the outcomes. */
  count(): Promise<number>;
  /** Gives stored records for an export, in a fixed order. Absent: records of this kind are not exported. */
  give?(after: string | undefined): Promise<GivenRecords<R>>;
}

/** Token of the extension point. */
export const Importer = defineExtensionPoint<Importer>("importer", {
  summary:
    "Records that move between products, by kind. Owned by the plugin `import`; contributed by every plugin whose state can be imported.",
  remotable: true,
});

/** Errors that concern one record only. */
const OF_THE_RECORD: ReadonlySet<ErrorCode> = new Set(["INVALID_REQUEST", "NOT_FOUND", "CONFLICT"]);

/**
 * An importer that takes each record by itself: those with the same id one after the other, others at the same time.
 * @param parts.takeOne when it throws `INVALID_REQUEST`, `NOT_FOUND` or `CONFLICT`, the record is a `refuse` with the message as its reason
 */
export function importerOf<S extends TSchema>(
  facts: { readonly title: string; readonly record: S },
  parts: Pick<Importer, "count"> & {
    takeOne(record: Static<S> & ImportRecord): Promise<Omit<ImportOutcome, "id">>;
    give?(after: string | undefined): Promise<GivenRecords<Static<S> & ImportRecord>>;
  },
): Importer {
  const { count, give } = parts;
  const turns = new Turns();
  const outcomeOf = async (record: ImportRecord): Promise<ImportOutcome> => {
    const { id } = record;
    try {
      // the owner of the extension point has checked the record
      return { id, ...(await turns.take(id, () => parts.takeOne(record as Static<S> & ImportRecord))) };
    } catch (error) {
      if (isGatewayError(error) && OF_THE_RECORD.has(error.code))
        return { id, action: "refuse", reason: messageOf(error) };
      throw error;
    }
  };
  return { ...facts, count, ...(give && { give }), take: (records) => Promise.all(records.map(outcomeOf)) };
}

/** An importer that gives records, its code imported on first use. */
export function lazyImporter<R extends ImportRecord>(
  facts: Pick<Importer<R>, "title" | "record">,
  load: () => Promise<Pick<Importer<R>, "take" | "count" | "give">>,
): Importer<R> {
  return {
    ...facts,
    take: async (records) => (await load()).take(records),
    count: async () => (await load()).count(),
    give: async (after) => (await load()).give?.(after) ?? { records: [] },
  };
}
