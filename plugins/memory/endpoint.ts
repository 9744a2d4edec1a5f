/** The server that tells what texts mean, with its key looked up. */
import { isGatewayError } from "@svc/sdk";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";
import type { Endpoint } from "./memory-index.ts";
import type { EndpointSettings } from "./settings.ts";

/** Why it cannot be asked, for people. */
export interface NoEndpoint {
  readonly reason: string;
}

/** @param secrets `undefined`: no running plugin finds secrets */
export async function findEndpoint(
  settings: EndpointSettings,
  secrets: Pick<Secrets, "reveal"> | undefined,
): Promise<Endpoint | NoEndpoint> {
  const { provider, baseUrl, model, headers, apiKey } = settings;
  const found = await findKey(apiKey, secrets);
  if ("reason" in found) return found;
  const bearer = found.key === undefined ? {} : { authorization: `Bearer ${found.key}` };
  if (!URL.canParse(baseUrl)) return { reason: "memorySearch.remote.baseUrl is no address; correct it" };
  const { origin, pathname } = new URL(baseUrl);
  return {
    // Without what an address may carry of a secret: user, password, query.
    key: JSON.stringify([provider, `${origin}${pathname}`, model]),
    url: `${baseUrl}/embeddings`,
    model,
    headers: { ...bearer, ...headers },
  };
}

async function findKey(
  setting: EndpointSettings["apiKey"],
  secrets: Pick<Secrets, "reveal"> | undefined,
): Promise<{ readonly key: string | undefined } | NoEndpoint> {
  if (!isSecretRef(setting)) return { key: setting };
  if (!secrets) {
    const next = "enable the plugin secrets; see `svc plugins why secrets`";
    return { reason: `memorySearch.remote.apiKey is a reference, and no running plugin finds secrets: ${next}` };
  }
  try {
    return { key: await secrets.reveal(setting) };
  } catch (error) {
    return { reason: isGatewayError(error) ? error.message : "the key of the embeddings server cannot be found" };
  }
}
