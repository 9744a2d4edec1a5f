/** Storage namespace: disk usage and retention. Choice: not part of the interface. */
import { defineContract } from "../contract.ts";
import { type Static, Strict, Type } from "../schema.ts";

const Bytes = Type.Integer({ minimum: 0, description: "bytes" });
const Count = Type.Integer({ minimum: 0 });

/** One kind of stored data. */
export const StorageItem = Type.Object({
  id: Type.String(),
  plugin: Type.Optional(Type.String({ description: "absent: no enabled plugin declares these tables" })),
  tables: Type.Array(Type.String()),
  files: Type.Array(Type.String({ description: "paths below the state directory" })),
  holds: Type.String(),
  rule: Type.String({ description: "when it is deleted" }),
  rows: Count,
  bytes: Bytes,
});
export type StorageItem = Static<typeof StorageItem>;

/** Disk usage of tables and files. */
export const storage = defineContract("storage", {
  usage: {
    summary: "Get the disk usage of the state directory and the retention rules",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      location: Type.String({ description: "path of the database file" }),
      bytes: Bytes,
      freeBytes: Type.Integer({ minimum: 0, description: "unused bytes in the database file" }),
      givesBack: Type.Boolean({ description: "false: only a vacuum returns free bytes to the disk" }),
      items: Type.Array(StorageItem, { description: "largest first" }),
    }),
  },
  clean: {
    summary: "Delete expired data now instead of within the hour",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      dryRun: Type.Optional(Type.Boolean({ description: "only count what would be deleted" })),
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
