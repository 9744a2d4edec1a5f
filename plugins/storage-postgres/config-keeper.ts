/** The configuration that all gateways on the database share. */
import type { ConfigKeeper, KeptConfig } from "@svc/sdk/gateway";
import type { Storage } from "@svc/sdk/storage";

/** @param isConfigured the configuration names the database, not the environment */
export function configKeeper(storage: Pick<Storage, "get" | "transaction">, isConfigured: boolean): ConfigKeeper {
  return {
    foundBy: isConfigured ? ["plugins.entries.storage-postgres.enabled", "storage-postgres.url"] : [],
    async read() {
      const row = await storage.get<{ revision: number; text: string | null }>("SELECT revision, text FROM svc_config");
      return { revision: row?.revision ?? 0, text: row?.text ?? undefined } satisfies KeptConfig;
    },
    async revision() {
      return (await storage.get<{ revision: number }>("SELECT revision FROM svc_config"))?.revision ?? 0;
    },
    async replace(base, text) {
      const sql = "UPDATE svc_config SET revision = revision + 1, text = ? WHERE revision = ?";
      const [done] = await storage.transaction([{ sql, params: [text ?? null, base] }]);
      return done?.changes === 1;
    },
  };
}
