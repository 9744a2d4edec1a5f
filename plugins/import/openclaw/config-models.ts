/** Model servers and their keys, also those of logins and variables. */
import { KNOWN_SERVERS, knownServer } from "@svc/kit/providers";
import { isSecretRef } from "@svc/sdk/secrets";
import { convert, type Draft, note, remove } from "./config-draft.ts";
import { at, cut, isValues, leaves, put, type Values } from "./config-paths.ts";
import { imported, type Variables } from "./config-variables.ts";

/** Kinds of servers that a plugin here speaks with. */
const APIS = [
  "anthropic-messages",
  "bedrock-converse-stream",
  "google-generative-ai",
  "openai-completions",
  "openai-responses",
];

const PROVIDERS = ["models", "providers"];
const ADD_KEY = "svc models auth, with a key of the provider";
const OAUTH = "a login that is refreshed works in one program only, and no plugin here refreshes it";

/** The parsed `auth-profiles.json` of an agent. */
export interface AgentCredentials {
  readonly id: string;
  readonly authProfiles: unknown;
}

export function convertModels(draft: Draft, agents: readonly AgentCredentials[], variables: Variables): void {
  for (const [name, provider] of Object.entries(Object(at(draft.config, PROVIDERS)) as Values))
    convertProvider(draft, name, Object(provider) as Values);
  takeCredentials(draft, agents, variables);
  takeVariables(draft, variables);
}

function convertProvider(draft: Draft, name: string, { api, baseUrl, models }: Values): void {
  const path = [...PROVIDERS, name];
  if (models === undefined && knownServer(name) === undefined)
    return remove(draft, path, "keep", "its models are not known", "svc models add");
  if (api === "ollama") {
    convert(draft, [...path, "api"], "openai-completions", "the same server, with its other interface");
    if (typeof baseUrl === "string" && !/\/v1\/?$/u.test(baseUrl))
      convert(
        draft,
        [...path, "baseUrl"],
        `${baseUrl.replace(/\/$/u, "")}/v1`,
        "the same server, with its other interface",
      );
  } else if (typeof api === "string" && !APIS.includes(api))
    remove(draft, path, "keep", `no plugin here speaks ${api}`, "svc models add");
}

interface Credential {
  readonly profile: string;
  readonly agent: string;
  readonly provider: string;
  /** A text or a reference. */
  readonly key: unknown;
}

/** Profiles with a key or token -> accounts of their provider, in the order of `auth.order`. */
function takeCredentials(draft: Draft, agents: readonly AgentCredentials[], variables: Variables): void {
  const auth = Object(at(draft.config, ["auth"])) as Values;
  const found = agents.flatMap((agent) => credentialsOf(draft, agent));
  for (const provider of new Set(found.map((one) => one.provider))) {
    const all = found.filter((one) => one.provider === provider);
    const keys = all.map(({ key }) => JSON.stringify(key));
    const credentials = all.filter((_, index) => keys.indexOf(keys[index] ?? "") === index); // agents have copies
    const order = [at(auth, ["order", provider])].flat();
    const rank = ({ profile }: Credential) => (order.includes(profile) ? order.indexOf(profile) : order.length);
    const path = [...PROVIDERS, provider];
    const configured = Object(at(draft.config, path)) as Values;
    const names = new Set<string>();
    const accounts = credentials
      .sort((one, other) => rank(one) - rank(other))
      .map(({ profile, agent, key }) => {
        const plain = (profile.split(":").slice(1).join("-") || profile).replaceAll(/[^A-Za-z0-9_.@-]/gu, "-");
        let name = names.has(plain) ? `${agent}-${plain}` : plain;
        while (names.has(name)) name += "-2";
        names.add(name);
        return { name, apiKey: typeof key === "string" ? imported(variables, `${provider}:${name}`, key) : key };
      });
    if (configured["apiKey"] !== undefined) {
      note(draft, [...path, "apiKey"], "convert", "is one of the accounts of the provider here");
      draft.moved.push({ from: [...path, "apiKey"], to: [...path, "accounts", accounts.length, "apiKey"] });
      accounts.push({ name: "config", apiKey: cut(draft.config, [...path, "apiKey"]) });
    }
    put(draft.config, [...path, "accounts"], accounts);
  }
  noteProfiles(draft, auth, found);
}

function credentialsOf(draft: Draft, { id: agent, authProfiles }: AgentCredentials): Credential[] {
  const profiles = Object(at(authProfiles, ["profiles"])) as Values;
  if (!isValues(at(authProfiles, ["profiles"])) && isValues(authProfiles))
    for (const name of Object.keys(authProfiles).filter((key) => isValues(authProfiles[key])))
      draft.warnings.push(`login ${name}: not copied: ${OAUTH}; next: ${ADD_KEY}`);
  return Object.entries(profiles).flatMap(([profile, own]): Credential[] => {
    const { type, provider, key, token, keyRef, tokenRef } = Object(own) as Values;
    const secret = key ?? token ?? keyRef ?? tokenRef;
    const skip = (why: string) => {
      draft.warnings.push(`login ${profile} of agent ${agent}: not copied: ${why}; next: ${ADD_KEY}`);
      return [];
    };
    if (type === "oauth") return skip(OAUTH);
    const isUsable = (typeof secret === "string" && secret !== "") || isSecretRef(secret);
    if (typeof provider !== "string" || !isUsable) return skip("it has neither a key nor a token");
    if (typeof secret === "string" && secret.startsWith("sk-ant-oat"))
      return skip("a token of a subscription is accepted from its own program only");
    const isKnown = knownServer(provider) !== undefined || at(draft.config, [...PROVIDERS, provider]) !== undefined;
    return isKnown ? [{ profile, agent, provider, key: secret }] : skip(`no provider here is named ${provider}`);
  });
}

function noteProfiles(draft: Draft, auth: Values, taken: readonly Credential[]): void {
  for (const leaf of leaves(auth)) {
    const path = ["auth", ...leaf];
    const [kind, name = ""] = leaf.map(String);
    const mode = at(auth, ["profiles", name, "mode"]);
    if (kind === "order" && taken.some(({ provider }) => provider === name))
      note(draft, path, "convert", "is the order of the accounts of a provider here");
    else if (kind !== "profiles") note(draft, path, "drop", "concerns no account that was taken");
    else if (taken.some(({ profile }) => profile === name))
      note(draft, path, "convert", "is an account of its provider here");
    else if (mode === "oauth") note(draft, path, "drop", OAUTH, ADD_KEY);
    else note(draft, path, "drop", "its key is in no auth-profiles.json that could be used", ADD_KEY);
  }
  cut(draft.config, ["auth"]);
}

/** Keys in variables count there without being configured. */
function takeVariables(draft: Draft, { found, isSet }: Variables): void {
  const text = JSON.stringify(at(draft.config, ["agents"]) ?? {});
  for (const [provider, { env, local }] of Object.entries(KNOWN_SERVERS)) {
    const { apiKey, accounts } = Object(at(draft.config, [...PROVIDERS, provider])) as Values;
    const isUsed = text.includes(`"${provider}/`);
    const name = env.find((one) => found.has(one) || (isUsed && isSet(one)));
    if (local || apiKey !== undefined || accounts !== undefined || name === undefined) continue;
    put(draft.config, [...PROVIDERS, provider, "apiKey"], `\${${name}}`);
  }
}
