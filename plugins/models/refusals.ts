/** What the section may ask for, as the spec has it, that this gateway does not do: the reason and the next step. */

/** For `auth`. */
export function noLogin(auth: string): string {
  return `only "api-key" works here, no logins of the kind "${auth}"; set apiKey, or headers with a token`;
}

/** For `injectNumCtxForOpenAICompat`. */
export const NO_NUM_CTX =
  "num_ctx is not sent to servers here; set the context length at the server and remove this key";

/** For `models[].compat`. */
export const NO_COMPAT =
  "quirks of a server cannot be set here; remove this key: requests are kept to what most servers know";

/** For `bedrockDiscovery.enabled`. */
export const NO_DISCOVERY =
  "models are not looked up at Amazon Bedrock here; list them under `providers.<name>.models`";

/** The first value that stood in the list before. */
export function secondOf(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) < index);
}
