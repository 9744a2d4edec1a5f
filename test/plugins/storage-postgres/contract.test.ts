/** `Storage` in a PostgreSQL server. */
import { describe } from "node:test";
import { storageContract } from "../storage-contract.ts";
import { openPostgres, withoutPostgres } from "./open-postgres.ts";

describe("PostgreSQL", { skip: withoutPostgres() }, () => {
  storageContract(async (t) => (await openPostgres(t)).storage);
});
