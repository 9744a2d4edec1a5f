/** The public list of OpenRouter, with prices; and whether it accepts a key. */
import { refuseAnswer, systemCodeOf } from "@svc/kit/providers";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { unavailable } from "@svc/sdk";
import type { KnownModel, ProviderAccount } from "@svc/sdk/models";
import { boundedJson, entriesIn, fieldOf, modelId, tokenCount } from "./bounded-json.ts";

const MAX_BYTES = 10_000_000;
const MAX_MODELS = 5_000;
const MILLION = 1_000_000;

/** @throws GatewayError `UNAVAILABLE` of kind `auth` for a rejected key; the list itself needs none */
export async function listOpenRouter(account: ProviderAccount, signal: AbortSignal): Promise<readonly KnownModel[]> {
  const { baseUrl = "https://openrouter.ai/api/v1", apiKey, headers = {} } = account;
  const { origin } = new URL(baseUrl); // without user name, password and query, which may be secrets
  const get = async (path: string) => {
    const auth = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await sameOriginFetch()(`${baseUrl}${path}`, {
      headers: { accept: "application/json", ...auth, ...headers },
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      return refuseAnswer("network", `${origin} does not respond (${systemCodeOf(error) ?? "no connection"})`);
    });
    if (response.ok) return boundedJson(response, MAX_BYTES, origin);
    await response.body?.cancel();
    const { status } = response;
    return status === 401 || status === 403
      ? refuseAnswer("auth", `OpenRouter rejects the key (${status})`)
      : unavailable(`${origin} returned ${status}`);
  };
  if (apiKey !== undefined) await get("/key");
  const entries = entriesIn(fieldOf(await get("/models"), "data"), MAX_MODELS);
  return entries.flatMap((entry) => readModel(entry) ?? []);
}

function readModel(entry: unknown): KnownModel | undefined {
  const id = modelId(fieldOf(entry, "id"));
  if (id === undefined) return undefined;
  const name = fieldOf(entry, "name");
  const window = tokenCount(fieldOf(entry, "context_length"));
  const limit = tokenCount(fieldOf(fieldOf(entry, "top_provider"), "max_completion_tokens"));
  const kinds = entriesIn(fieldOf(fieldOf(entry, "architecture"), "input_modalities"), 10);
  const input = [
    ...(kinds.includes("text") ? ["text"] : []),
    ...(kinds.includes("image") ? ["image"] : []),
    ...(kinds.includes("file") ? ["document"] : []),
  ];
  const cost = pricesIn(fieldOf(entry, "pricing"));
  return {
    id,
    name: typeof name === "string" && name.trim() !== "" ? name.slice(0, 200) : id,
    provider: "openrouter",
    reasoning: entriesIn(fieldOf(entry, "supported_parameters"), 100).includes("reasoning"),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(limit === undefined ? {} : { maxTokens: limit }),
    ...(input.length > 0 ? { input } : {}),
    ...(cost ? { cost } : {}),
  };
}

/** The list has US dollars per token, as text. Cached tokens without a price of their own cost as much as input. */
function pricesIn(pricing: unknown): KnownModel["cost"] {
  const of = (key: string) => {
    const text = fieldOf(pricing, key);
    const price = typeof text === "string" && text !== "" ? Number(text) * MILLION : Number.NaN;
    return Number.isFinite(price) && price >= 0 ? Number(price.toFixed(6)) : undefined;
  };
  const [input, output] = [of("prompt"), of("completion")];
  if (input === undefined || output === undefined) return undefined;
  return { input, output, cacheRead: of("input_cache_read") ?? input, cacheWrite: of("input_cache_write") ?? 0 };
}
