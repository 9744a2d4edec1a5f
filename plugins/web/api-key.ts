/** The key of a search engine: from the configuration, or from a secret reference. */
import { unavailable } from "@svc/sdk";
import { isSecretRef, type SecretRef, type Secrets } from "@svc/sdk/secrets";

/** @throws GatewayError `UNAVAILABLE` naming the reference and the next step, never the value */
export async function findKey(setting: string | SecretRef | undefined, secrets: Secrets | undefined): Promise<string> {
  if (!isSecretRef(setting)) return setting ?? "";
  if (secrets) return secrets.reveal(setting);
  return unavailable(
    "tools.web.search.apiKey is a secret reference, but no running plugin resolves secrets: enable the plugin secrets; see `svc plugins why secrets`",
  );
}
