/** Refusals of settings that the spec has and this gateway does not support: the reason and the next step. */

/** The refusal of `auth`. */
export function noLogin(auth: string): string {
  return `"${auth}" is not supported, only "api-key"; set apiKey, or headers with a token`;
}

/** The refusal of `injectNumCtxForOpenAICompat`. */
export const NO_NUM_CTX = "num_ctx is not sent to servers; set the context length at the server and remove this key";

/** The refusal of `models[].compat`. */
export const NO_COMPAT =
  "server quirks cannot be configured; remove this key: requests only use features that most servers support";

/** The refusal of `bedrockDiscovery.enabled`. */
export const NO_DISCOVERY = "models are not looked up at Amazon Bedrock; list them under `providers.<name>.models`";

/** The refusal of a provider without `models`. */
export function noModels(name: string): string {
  return `"${name}" has no models and is not known by name; list them under ${name}.models, or use svc models add <url>`;
}

/** The first value that a list contains twice. */
export function secondOf(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) < index);
}
