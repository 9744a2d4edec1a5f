/** The embeddings server of an agent, with its key resolved. */
import { isGatewayError } from "@svc/sdk";
import type { MemorySearch } from "@svc/sdk/memory";
import { isSecretRef, type Secrets } from "@svc/sdk/secrets";

/** The embeddings server as configured; its key may be a secret reference. */
export interface EndpointSettings {
  readonly provider: NonNullable<MemorySearch["provider"]>;
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: NonNullable<MemorySearch["remote"]>["apiKey"];
  readonly headers: Readonly<Record<string, string>>;
}

/** Where texts are sent to be embedded. */
export interface Endpoint {
  /** Identifies server and model; vectors of different keys are not comparable. Contains no secret. */
  readonly key: string;
  /** Target of `POST`. */
  readonly url: string;
  readonly model: string;
  /** Includes the API key. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Why the endpoint cannot be used, for people. */
export interface NoEndpoint {
  readonly reason: string;
}

/** @param secrets `undefined`: no running plugin resolves secrets */
export async function findEndpoint(
  settings: EndpointSettings,
  secrets: Pick<Secrets, "reveal"> | undefined,
): Promise<Endpoint | NoEndpoint> {
  const { provider, baseUrl, model, headers, apiKey } = settings;
  const found = await findKey(apiKey, secrets);
  if ("reason" in found) return found;
  const bearer = found.key === undefined ? {} : { authorization: `Bearer ${found.key}` };
  if (!URL.canParse(baseUrl)) return { reason: "memorySearch.remote.baseUrl is not a valid URL; correct it" };
  const { origin, pathname } = new URL(baseUrl);
  return {
    // Without user, password and query, which may hold a secret.
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
    return { reason: `memorySearch.remote.apiKey is a reference, and no running plugin resolves secrets: ${next}` };
  }
  try {
    return { key: await secrets.reveal(setting) };
  } catch (error) {
    return { reason: isGatewayError(error) ? error.message : "the key of the embeddings server cannot be resolved" };
  }
}
