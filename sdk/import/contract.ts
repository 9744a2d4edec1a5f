/** Import namespace: records that move into a gateway, and out of it. Choice: specific to this gateway. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** Words for what became of a record, a setting or a file. */
export const IMPORT_ACTIONS = ["take", "convert", "skip", "keep", "drop", "refuse"] as const;
/** What became of a record, a setting or a file. */
export const ImportAction = Type.Enum([...IMPORT_ACTIONS], {
  description:
    "take: as it was; convert: changed; skip: it was here before; keep: put aside in the report directory; drop: without meaning here; refuse: cannot be taken",
});
export type ImportAction = Static<typeof ImportAction>;

/** What became of one record. */
export const ImportOutcome = Type.Object({
  id: Type.String(),
  action: ImportAction,
  reason: Type.Optional(Type.String({ description: "for people; without secrets" })),
  next: Type.Optional(Type.String({ description: "the next step: a command or an action" })),
  added: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "stored units, e.g. messages of a transcript; default 1 for take and convert, else 0",
    }),
  ),
});
export type ImportOutcome = Static<typeof ImportOutcome>;

/** Records that move between gateways. */
export const imports = defineContract("import", {
  kinds: {
    summary: "List the kinds of records that can be imported, and how many are stored",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({
      kinds: Type.Array(
        Type.Object({
          kind: Type.String(),
          title: Type.String(),
          plugin: Type.String(),
          count: Type.Integer({ minimum: 0 }),
          gives: Type.Boolean({ description: "records of this kind are exported" }),
        }),
      ),
    }),
  },
  take: {
    summary: "Take records into the state of this gateway",
    scope: "operator.admin",
    params: Strict({
      kind: NonEmpty,
      records: Type.Array(Type.Object({ id: NonEmpty }), { minItems: 1, maxItems: 1_000 }),
    }),
    result: Type.Object({ outcomes: Type.Array(ImportOutcome) }),
  },
  give: {
    summary: "Read stored records in the form in which they can be imported",
    scope: "operator.admin",
    params: Strict({ kind: NonEmpty, after: Type.Optional(NonEmpty) }),
    result: Type.Object({
      records: Type.Array(Type.Object({ id: Type.String() })),
      next: Type.Optional(Type.String({ description: "`after` of the next page; absent: these are the last" })),
    }),
  },
});
