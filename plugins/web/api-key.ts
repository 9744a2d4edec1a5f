/** The key of a search engine: written in the configuration, or kept elsewhere. */
import { unavailable } from "@svc/sdk";
import { isSecretRef, type SecretRef, type Secrets } from "@svc/sdk/secrets";

/** @throws GatewayError `UNAVAILABLE` naming the reference and what to do, never the value */
export async function findKey(setting: string | SecretRef | undefined, secrets: Secrets | undefined): Promise<string> {
  if (!isSecretRef(setting)) return setting ?? "";
  if (secrets) return secrets.reveal(setting);
  return unavailable(
    "tools.web.search.apiKey is a reference, and no running plugin finds secrets: enable the plugin secrets; see `svc plugins why secrets`",
  );
}
