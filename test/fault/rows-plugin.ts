/** Runs inside a gateway under test and reads the tables, so that checks do not depend on the plugins that write them. */
import { defineContract, definePlugin, Strict, Type } from "@svc/sdk";
import { Storage } from "@svc/sdk/storage";

export const stored = defineContract("stored", {
  rows: {
    summary: "Rows of a query",
    scope: "operator.admin",
    params: Strict({ sql: Type.String() }),
    result: Type.Object({ rows: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
  },
});

export default definePlugin({
  id: "stored",
  api: "^1.0.0",
  requires: { storage: Storage },
  setup(gateway) {
    gateway.serve(stored, { rows: async ({ params: { sql } }) => ({ rows: await gateway.services.storage.all(sql) }) });
  },
});
