/** Two parts of the guided setup: a server of models with its key, checked live, and the default model. */
import { KNOWN_SERVERS } from "@svc/kit/providers";
import { withDeadline } from "@svc/kit/time";
import { type Clock, type ExtensionView, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ModelProvider, ProviderAccount } from "@svc/sdk/models";
import type { SetupCall, SetupOption, SetupPart, SetupStep } from "@svc/sdk/wizard";
import { askServer } from "./discovery/scan.ts";
import { MOST_MODELS, nameOf } from "./verbs/add.ts";
import { defaultModelOf, patchOf } from "./verbs/default-model.ts";
import type { ModelDesk } from "./models.ts";
import { askForModels } from "./verbs/server-models.ts";

/** A server that people know by name. */
interface Preset {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  /** Kind of server; the option is offered while a plugin contributes it. */
  readonly api: string;
  readonly baseUrl?: string;
  /** The first listed model that matches is suggested. */
  readonly suggests: RegExp;
}

/** Kind of servers with the chat-completions API, the default of `models.providers.<name>.api`. */
const CHAT = "openai-completions";

/** Choice: these servers; others by their address. */
const PRESETS = [
  {
    id: "anthropic",
    label: "Anthropic",
    hint: "needs an API key",
    suggests: /sonnet/,
  },
  {
    id: "openai",
    label: "OpenAI",
    hint: "needs an API key",
    suggests: /^gpt-[5-9](?:\.\d)?$/,
  },
  {
    id: "openrouter",
    label: "OpenRouter",
    hint: "needs an API key",
    suggests: /sonnet/,
  },
  {
    id: "google",
    label: "Google Gemini",
    hint: "needs an API key",
    suggests: /gemini-[\d.]+-flash$/,
  },
].map(({ id, ...preset }): Preset => {
  const { api = CHAT, baseUrl } = KNOWN_SERVERS[id] ?? {};
  return { id, api, ...(baseUrl === undefined ? {} : { baseUrl }), ...preset };
});

/** Choice: usual addresses of model servers on this machine. */
const LOCAL_SERVERS = [11434, 1234, 8080, 8000].map((port) => `http://127.0.0.1:${port}/v1`);
const LOCAL_TIMEOUT_MS = 1_000;
/** Choice: timeout of the list of a known server in milliseconds. */
const CHECK_TIMEOUT_MS = 15_000;
/** An environment variable of the gateway as the whole value. */
const VARIABLE = /^\$\{([A-Z_][A-Z0-9_]*)\}$/;
const OFFLINE = "offline/offline";

/** What the provider part knows between its questions. */
type State =
  | { readonly at: "choice" }
  | { readonly at: "url" }
  | { readonly at: "key"; readonly server: Server }
  | { readonly at: "model"; readonly server: Server; readonly key: string; readonly ids: readonly string[] };

interface Server extends Omit<Preset, "label" | "hint" | "suggests"> {
  /** Source of the regular expression. */
  readonly suggests: string;
  readonly label: string;
  /** The person entered the address: it may lack `/v1`, and may need no key. */
  readonly isEntered?: true;
}

export interface PartSources {
  readonly providers: ExtensionView<ModelProvider>;
  readonly desk: Pick<ModelDesk, "list">;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Addresses to look for a server of this machine. */
  readonly local?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export function createProviderPart({
  providers,
  clock,
  local = LOCAL_SERVERS,
  env = process.env,
}: Omit<PartSources, "desk">): Pick<SetupPart, "start" | "next"> {
  async function choice({ config }: SetupCall, why?: string): Promise<SetupStep> {
    const configured = Object.keys(providersIn(config));
    const found = await Promise.all(local.map((url) => answers(url)));
    const options: SetupOption[] = [
      ...(configured.length > 0 ? [{ value: "keep", label: `Keep ${configured.join(", ")}` }] : []),
      { value: "offline", label: "None for now", hint: "the offline responder answers; it is no language model" },
      ...local.flatMap((url, index) => (found[index] ? [{ value: url, label: `The server at ${url}` }] : [])),
      ...PRESETS.filter(({ api }) => providers.get(api)).map(({ id, label, hint }) => ({ value: id, label, hint })),
      { value: "other", label: "Another server", hint: "any address with a chat-completions API" },
    ];
    const initial = configured.length > 0 ? "keep" : "offline";
    const message = withReason("Which server runs the language model?", why);
    return { ask: { kind: "select", message, options, initial }, state: { at: "choice" } satisfies State };
  }

  function chosen(value: unknown, call: SetupCall): Promise<SetupStep> | SetupStep {
    if (value === "keep") return { done: true, message: "Language model: unchanged." };
    if (value === "offline") return withoutServer(call.config);
    if (value === "other") return askUrl();
    const preset = PRESETS.find(({ id }) => id === value);
    if (!preset) return begin(urlServer(String(value)), call);
    return askKey({ ...preset, suggests: preset.suggests.source });
  }

  /** Without a key first: most servers of one's own need none. */
  async function begin(server: Server, call: SetupCall): Promise<SetupStep> {
    if (!isAddress(server.baseUrl)) return askUrl(`"${server.baseUrl}" is not a server address.`);
    try {
      return accepted(server, "", await check(server, "", call.signal), call);
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isGatewayError(error)) throw error;
      return error.code === "INVALID_REQUEST" ? askKey(server, error.message) : askUrl(error.message);
    }
  }

  async function withKey(server: Server, key: string, call: SetupCall): Promise<SetupStep> {
    let secret = "";
    try {
      secret = revealed(key, env);
      return accepted(server, key, await check(server, secret, call.signal), call);
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isGatewayError(error)) throw error;
      return askKey(server, secret === "" ? error.message : error.message.replaceAll(secret, "(hidden)"));
    }
  }

  /** @throws GatewayError the server does not respond or rejects the key */
  async function check(server: Server, key: string, signal: AbortSignal): Promise<Checked> {
    const { id, api, baseUrl, label, isEntered } = server;
    const apiKey = key === "" ? {} : { apiKey: key };
    if (isEntered && baseUrl !== undefined) return askForModels(baseUrl, apiKey.apiKey);
    const account: ProviderAccount = { name: id, ...(baseUrl === undefined ? {} : { baseUrl }), ...apiKey };
    const late = () => `${label} did not list its models within ${CHECK_TIMEOUT_MS / 1_000} s.`;
    const listed = await withDeadline({ ms: CHECK_TIMEOUT_MS, clock, signals: [signal], late }, (until) =>
      askServer({ name: id, api }, account, providers, until),
    );
    const ids = listed?.map((model) => model.id);
    return { ids: ids ?? invalidRequest(`no enabled plugin can list the models of servers with the API ${api}.`) };
  }

  function accepted(server: Server, key: string, { baseUrl, ids }: Checked, call: SetupCall): SetupStep {
    const reached = baseUrl === undefined ? server : { ...server, baseUrl };
    if (ids.length === 0) return askUrl(`${server.label} responds but has no models; load one there first.`);
    if (ids.length <= MOST_MODELS) return written(reached, key, ids, suggestion(reached, ids), call);
    return askModel(reached, key, ids);
  }

  return {
    start: (call) => choice(call),
    async next(call) {
      const state = call.state as State; // this part made it
      const text = typeof call.answer === "string" ? call.answer.trim() : "";
      switch (state.at) {
        case "choice":
          return chosen(call.answer, call);
        case "url":
          return text === "" ? choice(call) : begin(urlServer(text), call);
        case "key":
          return text === "" ? choice(call) : withKey(state.server, text, call);
        case "model":
          return state.ids.includes(text)
            ? written(state.server, state.key, [text], text, call)
            : askModel(state.server, state.key, state.ids, `The server has no model "${text}".`);
      }
    },
  };
}

interface Checked {
  /** The address that answered, if it differs from the one that was entered. */
  readonly baseUrl?: string;
  readonly ids: readonly string[];
}

function askUrl(why?: string): SetupStep {
  const message = withReason("Address of the server, usually ending in /v1. Empty: back to the list.", why);
  const placeholder = "http://127.0.0.1:8080/v1";
  return { ask: { kind: "text", message, placeholder }, state: { at: "url" } satisfies State };
}

function askKey(server: Server, why?: string): SetupStep {
  const message = withReason(
    `API key of ${server.label}, or \${NAME} for an environment variable of the gateway. It is checked, then written to the configuration file. Empty: back to the list.`,
    why,
  );
  return { ask: { kind: "text", message, sensitive: true }, state: { at: "key", server } satisfies State };
}

function askModel(server: Server, key: string, ids: readonly string[], why?: string): SetupStep {
  const message = withReason(`${server.label} has ${ids.length} models. Id of the model to use:`, why);
  const initial = suggestion(server, ids);
  return {
    ask: { kind: "text", message, placeholder: initial, initial },
    state: { at: "model", server, key, ids } satisfies State,
  };
}

function urlServer(baseUrl: string): Server {
  const id = URL.canParse(baseUrl) ? nameOf(baseUrl) : "server";
  return { id, label: baseUrl, api: CHAT, baseUrl, suggests: "", isEntered: true };
}

function suggestion({ suggests }: Server, ids: readonly string[]): string {
  const pattern = new RegExp(suggests);
  return ids.find((id) => suggests !== "" && pattern.test(id)) ?? ids[0] ?? "";
}

function written(
  { id, api, baseUrl, label }: Server,
  key: string,
  ids: readonly string[],
  first: string,
  { config }: SetupCall,
): SetupStep {
  const { accounts } = Object(providersIn(config)[id]) as { accounts?: unknown };
  const provider = {
    ...(api === CHAT ? {} : { api }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(accounts === undefined ? {} : { accounts: null }), // the key replaces them
    ...(key === "" ? {} : { apiKey: key }),
    models: ids.map((model) => ({ id: model })),
  };
  const name = VARIABLE.exec(key)?.[1];
  const variable = name === undefined ? "" : ` The gateway needs ${name} in its environment at each start.`;
  const count = ids.length === 1 ? "1 model" : `${ids.length} models`;
  return {
    done: true,
    message: `Language model: ${label} responds; added ${count} as models.providers.${id}.${variable}`,
    config: { models: { providers: { [id]: provider } }, ...patchOf(config, `${id}/${first}`) },
  };
}

/** A configured server stays configured; only the default model changes. */
function withoutServer(config: Readonly<Record<string, unknown>>): SetupStep {
  const isPlain = Object.keys(providersIn(config)).length === 0 && defaultModelOf(config) === undefined;
  return {
    done: true,
    message: "Language model: none; the offline responder answers. Add one later: svc models add <address>",
    ...(isPlain ? {} : { config: { ...patchOf(config, OFFLINE) } }),
  };
}

/** @throws GatewayError `INVALID_REQUEST` the gateway has no such environment variable */
function revealed(key: string, env: NodeJS.ProcessEnv): string {
  const name = VARIABLE.exec(key)?.[1];
  if (name === undefined) return key;
  return env[name] || invalidRequest(`${name} is not set in the environment of the gateway.`);
}

function isAddress(text: string | undefined): boolean {
  if (text === undefined || !URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && !(username || password || search || hash);
}

async function answers(url: string): Promise<boolean> {
  const found = askForModels(url, undefined, LOCAL_TIMEOUT_MS);
  return found.then(({ ids }) => ids.length > 0).catch(() => false);
}

function providersIn({ models }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { providers } = Object(models) as { providers?: unknown };
  return Object(providers) as Readonly<Record<string, unknown>>;
}

function withReason(question: string, why: string | undefined): string {
  return why === undefined ? question : `${why}\n\n${question}`;
}

/** Asks for the default model if there is a choice. */
export function createModelPart({ desk }: Pick<PartSources, "desk">): Pick<SetupPart, "start" | "next"> {
  function ask({ config }: SetupCall, why?: string): SetupStep {
    const refs = desk.list().map(({ provider, id }) => `${provider}/${id}`);
    const real = refs.filter((ref) => ref !== OFFLINE);
    const current = defaultModelOf(config);
    const [only] = real;
    if (only === undefined) return { done: true };
    if (real.length === 1 && current === only) return { done: true, message: `Default model: ${only}.` };
    const initial = refs.find((ref) => ref === current) ?? only;
    const message = withReason("Which model do agents use?", why);
    if (refs.length > MOST_MODELS)
      return { ask: { kind: "text", message: `${message} ${refs.length} are available.`, initial } };
    const options = refs.map((ref) => ({ value: ref, label: ref, ...(ref === current ? { hint: "current" } : {}) }));
    return { ask: { kind: "select", message, options, initial } };
  }

  return {
    start: async (call) => ask(call),
    async next(call) {
      const ref = String(call.answer ?? "").trim();
      if (!desk.list().some(({ provider, id }) => `${provider}/${id}` === ref))
        return ask(call, `There is no model "${ref}".`);
      const isSame = defaultModelOf(call.config) === ref;
      return {
        done: true,
        message: `Default model: ${ref}.`,
        ...(isSame ? {} : { config: { ...patchOf(call.config, ref) } }),
      };
    },
  };
}
