import { lazy } from "@svc/sdk";
import type { Storage } from "@svc/sdk/storage";

/**
 * Storage whose tables are created on first use, so that a gateway without accounts creates none.
 * @returns rejects with `UNAVAILABLE`; the next call tries again
 */
export function withTables(storage: Storage, owner: string, steps: readonly string[]): () => Promise<Storage> {
  return lazy(async () => {
    await storage.migrate(owner, steps);
    return storage;
  });
}
