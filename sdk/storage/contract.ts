/** Storage namespace: what takes room, and what goes. Choice: the interface knows no such methods. */
import { defineContract } from "../contract.ts";
import { type Static, Strict, Type } from "../schema.ts";

const Bytes = Type.Integer({ minimum: 0, description: "bytes" });
const Count = Type.Integer({ minimum: 0 });

/** One subject that plugins keep. */
export const StorageItem = Type.Object({
  id: Type.String(),
  plugin: Type.Optional(Type.String({ description: "absent: no plugin that is enabled names these tables" })),
  tables: Type.Array(Type.String()),
  files: Type.Array(Type.String({ description: "below the state directory" })),
  holds: Type.String(),
  rule: Type.String({ description: "when it goes" }),
  rows: Count,
  bytes: Bytes,
});
export type StorageItem = Static<typeof StorageItem>;

/** The room that tables and files take. */
export const storage = defineContract("storage", {
  usage: {
    summary: "What takes room in the state directory, and when it goes",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      location: Type.String({ description: "the database file" }),
      bytes: Bytes,
      freeBytes: Type.Integer({ minimum: 0, description: "bytes in the file that hold nothing" }),
      givesBack: Type.Boolean({ description: "false: only a vacuum gives free bytes back to the disk" }),
      items: Type.Array(StorageItem, { description: "the largest first" }),
    }),
  },
  clean: {
    summary: "Deletes what has expired now instead of within the hour",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      dryRun: Type.Optional(Type.Boolean({ description: "only count what would go" })),
      vacuum: Type.Optional(
        Type.Boolean({ description: "also rewrite the database without its free pages; other calls wait meanwhile" }),
      ),
    }),
    result: Type.Object({
      items: Type.Array(Type.Object({ id: Type.String(), deleted: Count })),
      vacuum: Type.Optional(
        Type.Object({ before: Bytes, after: Bytes, ms: Type.Integer({ minimum: 0, description: "milliseconds" }) }),
      ),
    }),
  },
});
