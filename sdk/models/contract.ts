/** Models namespace. Spec: §4.1 row "Models"; protocol/methods-models.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** One model that users can select. */
export const ModelChoice = Type.Object({
  id: NonEmpty,
  name: NonEmpty,
  provider: NonEmpty,
  contextWindow: Type.Optional(Type.Integer({ minimum: 1, description: "tokens" })),
  reasoning: Type.Optional(Type.Boolean()),
  input: Type.Optional(Type.Array(Type.String({ description: "text, image or document" }))),
});
export type ModelChoice = Static<typeof ModelChoice>;

/** Thinking levels of a model, for clients that offer them. */
export const ThinkingLevels = Type.Array(Type.Object({ id: NonEmpty, label: NonEmpty }), {
  description: "thinking levels that change something, in rising order; `off` only: the model does not think",
});

/** A model that users can select, and whether it can answer now. */
export const ListedModel = Type.Object({
  ...ModelChoice.properties,
  alias: Type.Optional(Type.String({ minLength: 1, description: "from `agents.defaults.models`" })),
  tags: Type.Optional(Type.Array(Type.String({ description: "default: first model of the agent" }))),
  available: Type.Boolean({
    description: "false: no account of its provider has a key that the server needs, or that it accepted last",
  }),
  unavailableReason: Type.Optional(Type.Enum(["missing-auth", "auth-failed"])),
  unavailableUntil: Type.Optional(Type.Integer({ description: "epoch ms; when a rejected key is tried again" })),
  thinkingLevels: ThinkingLevels,
});
export type ListedModel = Static<typeof ListedModel>;

const AuthState = Type.Enum(["static", "missing", "expired"], {
  description:
    "static: nothing speaks against the key, or the server needs none; missing: it needs one and none is configured; expired: it rejected the key",
});

const AuthProvider = Type.Object({
  provider: NonEmpty,
  displayName: NonEmpty,
  status: AuthState,
  profiles: Type.Array(
    Type.Object({
      profileId: Type.String({ description: "`<provider>`, or `<provider>:<account>`" }),
      type: Type.Literal("api_key"),
      status: AuthState,
      source: Type.Literal("config"),
    }),
    { description: "configured accounts, in the order in which they are used" },
  ),
  apiKey: Type.Optional(
    Type.Object({ source: Type.Literal("config") }, { description: "an account has a key; the key is never returned" }),
  ),
});

const AccountStatus = Type.Object({
  name: NonEmpty,
  hasKey: Type.Boolean({ description: "an API key is configured; the key is never returned" }),
  coolingUntil: Type.Optional(Type.Integer({ description: "epoch ms; absent: usable now" })),
  lastFailure: Type.Optional(
    Type.Object({
      kind: Type.String({ description: "rate_limit, auth, billing, timeout, network or server_error" }),
      status: Type.Optional(Type.Integer({ description: "HTTP status" })),
      at: Type.Integer({ description: "epoch ms" }),
      count: Type.Integer({ description: "failures in a row" }),
    }),
  ),
});

const ProviderStatus = Type.Object({
  name: NonEmpty,
  api: NonEmpty,
  usable: Type.Boolean({ description: "an enabled plugin supports this API" }),
  models: Type.Integer(),
  accounts: Type.Array(AccountStatus, { description: "in the order in which they are used" }),
});

const Price = Type.Number({ minimum: 0 });
const Prices = Type.Object(
  { input: Price, output: Price, cacheRead: Price, cacheWrite: Price },
  { description: "US dollars per million tokens" },
);

/** A model with what is known about it. */
export const KnownModel = Type.Object({
  ...ModelChoice.properties,
  maxTokens: Type.Optional(Type.Integer({ minimum: 1, description: "maximum tokens of an answer" })),
  cost: Type.Optional(Prices),
});
export type KnownModel = Static<typeof KnownModel>;

const ScannedServer = Type.Object({
  provider: NonEmpty,
  api: NonEmpty,
  baseUrl: Type.Optional(Type.String({ description: "absent: the default of the API" })),
  configured: Type.Boolean({ description: "`models.providers` has it" }),
  hasList: Type.Boolean({ description: "its configuration lists models; only these can be used" }),
  problem: Type.Optional(Type.String({ description: "why its models could not be read" })),
  problemKind: Type.Optional(
    Type.String({ description: "kind of `ProviderFailure`, or `unsupported`: its API has no list of models" }),
  ),
  models: Type.Array(
    Type.Object({
      ...KnownModel.properties,
      isNew: Type.Boolean({ description: "cannot be used with the current configuration" }),
    }),
    { description: "at most 1,000" },
  ),
  total: Type.Integer({ description: "number of models of the server" }),
});

/** Available models, their accounts, and a test call. */
export const models = defineContract("models", {
  list: {
    summary: "List the usable models, by provider and name, and whether they can answer now",
    scope: "operator.read",
    params: Strict({
      agentId: Type.Optional(
        Type.String({
          minLength: 1,
          description: "agent whose first model is the default; default: the default agent",
        }),
      ),
      view: Type.Optional(
        Type.Enum(["default", "configured", "all"], {
          description:
            "default, configured: models that may be used; all: also those that `agents.defaults.models` restricts",
        }),
      ),
    }),
    result: Type.Object({ models: Type.Array(ListedModel) }),
  },
  authStatus: {
    summary: "Get for each provider whether its accounts have keys, and whether the server accepted them",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ ts: Type.Integer({ description: "epoch ms" }), providers: Type.Array(AuthProvider) }),
  },
  status: {
    summary: "Get accounts and their cooldowns, the default model and aliases; optionally resolve a model reference",
    scope: "operator.read",
    advertised: false,
    params: Strict({ model: Type.Optional(Type.String({ minLength: 1, description: "reference to resolve" })) }),
    result: Type.Object({
      default: Type.Optional(
        Type.String({ description: "`provider/id` used if neither a request nor `agents` selects a model" }),
      ),
      resolved: Type.Optional(Type.String({ description: "`provider/id` that `model` resolves to" })),
      restricted: Type.Boolean({ description: "only models listed in `agents.defaults.models` may be used" }),
      aliases: Type.Array(Type.Object({ alias: NonEmpty, model: NonEmpty })),
      providers: Type.Array(ProviderStatus),
    }),
  },
  known: {
    summary: "List all models that are known, also those that cannot be used now",
    scope: "operator.read",
    advertised: false,
    params: Strict({}),
    result: Type.Object({
      asOf: Type.Array(Type.String(), { description: "days of the public facts, `YYYY-MM-DD`" }),
      models: Type.Array(
        Type.Object({
          ...KnownModel.properties,
          state: Type.Enum(["usable", "restricted", "unsupported", "unconfigured"], {
            description:
              "restricted: not in `agents.defaults.models`; unsupported: no enabled plugin supports its API; unconfigured: its provider is not in `models.providers`",
          }),
        }),
      ),
    }),
  },
  scan: {
    summary:
      "Ask model servers for their models: local ones, configured ones, or the named one; optionally with another key",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      provider: Type.Optional(Type.String({ pattern: "^[^/:\\s]+$", description: "default: all" })),
      account: Type.Optional(
        Strict(
          {
            apiKey: Type.Optional(Type.String({ minLength: 1, sensitive: true })),
            baseUrl: Type.Optional(Type.String({ pattern: "^https?://" })),
            api: Type.Optional(NonEmpty),
          },
          { description: "Used instead of the configured account; requires `provider`" },
        ),
      ),
    }),
    result: Type.Object({
      servers: Type.Array(ScannedServer),
      environment: Type.Array(Type.Object({ variable: NonEmpty, provider: NonEmpty, configured: Type.Boolean() }), {
        description:
          "variables of the gateway that hold keys of `provider`, or of all known providers; they are used only if configured",
      }),
    }),
  },
  test: {
    summary: "Send one short request to a model; costs a few tokens",
    scope: "operator.write",
    advertised: false,
    params: Strict({
      model: Type.Optional(Type.String({ minLength: 1, description: "reference; default: the default model" })),
    }),
    result: Type.Object({
      model: Type.String({ description: "`provider/id`" }),
      account: Type.String({ description: "account that answered" }),
      text: Type.String(),
      firstTokenMs: Type.Integer({ description: "milliseconds until the first chunk" }),
      durationMs: Type.Integer(),
      usage: Type.Optional(
        Type.Object({
          input: Type.Integer(),
          output: Type.Integer(),
          cacheRead: Type.Integer(),
          cacheWrite: Type.Integer(),
          totalTokens: Type.Integer(),
        }),
      ),
      cost: Type.Optional(Type.Number({ description: "US dollars; absent if no price is configured" })),
    }),
  },
});
