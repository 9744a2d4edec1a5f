/** The kind `secret` of imports. Its code is read on the first import. */
import { lazy } from "@svc/sdk";
import type { GatewayInfo } from "@svc/sdk/gateway";
import { type Importer, SecretRecord } from "@svc/sdk/import";

const storeCode = lazy(() => import("./imported-file.ts"));

/** Stores records in `credentials/imported.json` of the state directory; the configuration refers to them by id. */
export function createImporter({ stateDir }: Pick<GatewayInfo, "stateDir">): Importer<SecretRecord> {
  return {
    title: "secrets",
    record: SecretRecord,
    take: async (records) => (await storeCode()).takeSecrets(stateDir, records),
    count: async () => (await storeCode()).countSecrets(stateDir),
  };
}
