/** Storages on a real server. */
import type { TestContext } from "node:test";
import { parseAddress } from "../../../plugins/storage-postgres/address.ts";
import { createStorage, type StorageOwner } from "../../../plugins/storage-postgres/storage.ts";
import { emptySchema } from "../../postgres.ts";

export { withoutPostgres } from "../../postgres.ts";

export interface OpenPostgres extends StorageOwner {
  readonly url: string;
}

/** An open storage that closes with the test. @param url default: an empty schema */
export async function openPostgres(t: Pick<TestContext, "after">, url?: string): Promise<OpenPostgres> {
  const address = url ?? (await emptySchema());
  const log = { warn: () => undefined };
  const owner = createStorage({ clock: { now: () => Date.now() }, log: log as never });
  t.after(owner.close);
  await owner.open(parseAddress(address, "/state"), 2);
  return { ...owner, url: address };
}
