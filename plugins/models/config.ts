/** The configuration section `models`. Spec: http/config-keys.md `models.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";
import { knownServer } from "@svc/kit/providers";
import { NO_COMPAT, NO_DISCOVERY, NO_NUM_CTX, noLogin, noModels, secondOf } from "./refusals.ts";

const price = (description: string) => Type.Number({ minimum: 0, default: 0, description });
const tokens = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const Headers = Type.Record(Type.String(), Type.String({ sensitive: true }), {
  description: "Sent with every request",
});
const BaseUrl = Type.String({
  pattern: "^https?://",
  description: "Address of the server; required unless the kind of server or the name of the provider has a default",
});

const ModelEntry = Strict({
  id: Type.String({ minLength: 1, description: "The server's name of the model" }),
  name: Type.Optional(Type.String({ minLength: 1, description: "Display name; default: the id" })),
  api: Type.Optional(Type.String({ minLength: 1, description: "Kind of server; default: the provider's" })),
  reasoning: Type.Optional(
    Type.Boolean({ description: "The model supports thinking levels; default: as publicly known, else false" }),
  ),
  xhigh: Type.Optional(
    Type.Boolean({ description: "It supports the thinking level `xhigh`; default: as publicly known, else false" }),
  ),
  input: Type.Optional(
    Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")]), {
      description: "Supported kinds of input; default: as publicly known, else text",
    }),
  ),
  // Choice: no assumed window or limit; if both the configuration and the public facts lack it, the server's limits apply.
  contextWindow: tokens("Maximum number of tokens of request and answer together; default: as publicly known"),
  maxTokens: tokens("Maximum number of tokens of an answer; default: as publicly known, else the server's limit"),
  headers: Type.Optional(Headers),
  cost: Type.Optional(
    Strict(
      {
        input: price("US dollars per million input tokens; default 0: free"),
        output: price("US dollars per million output tokens; default 0: free"),
        cacheRead: price("US dollars per million tokens read from the server's cache; default 0: free"),
        cacheWrite: price("US dollars per million tokens written to the server's cache; default 0: free"),
      },
      { description: "US dollars per million tokens; 0 means free; default: as publicly known for a public server" },
    ),
  ),
  compat: Type.Optional(
    Type.Refine(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "refused unless empty: server quirks cannot be configured",
      }),
      (quirks) => Object.keys(quirks).length === 0,
      () => NO_COMPAT,
    ),
  ),
});

const ModelEntries = Type.Refine(
  Type.Array(ModelEntry, { description: "Models of the provider; may be left out for providers known by name" }),
  (models) => secondOf(models.map(({ id }) => id)) === undefined,
  (models) => `"${secondOf(models.map(({ id }) => id))}" is listed twice; remove one of the two`,
);

// Choice: several accounts per provider; the spec has one key per provider.
const Account = Strict({
  name: Type.String({ pattern: "^[^:/\\s]+$", description: "Display name" }),
  apiKey: SecretSetting({ description: "key of this account, or a reference to it; never shown again" }),
  baseUrl: Type.Optional(BaseUrl),
  headers: Type.Optional(Headers),
});

const Accounts = Type.Refine(
  Type.Array(Account, { minItems: 1, description: "Instead of `apiKey`: accounts, tried in this order" }),
  (accounts) => secondOf(accounts.map(({ name }) => name)) === undefined,
  (accounts) => `"${secondOf(accounts.map(({ name }) => name))}" is listed twice; give one of the two another name`,
);

const ProviderFields = Strict(
  {
    baseUrl: Type.Optional(BaseUrl),
    apiKey: Type.Optional(
      SecretSetting({ description: "the key, or a reference to it; absent for servers without keys" }),
    ),
    accounts: Type.Optional(Accounts),
    auth: Type.Optional(
      Type.Refine(
        Type.Enum(["api-key", "aws-sdk", "oauth", "token"], {
          description: "kind of authentication; default api-key, others are refused",
        }),
        (auth) => auth === "api-key",
        noLogin,
      ),
    ),
    authHeader: Type.Optional(
      Type.Boolean({
        description:
          "true: send the key as `Authorization: Bearer`; false: as `x-api-key`; default: depends on the kind of server",
      }),
    ),
    headers: Type.Optional(Headers),
    api: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Kind of server; default: by the provider's name, else openai-completions",
      }),
    ),
    models: Type.Optional(ModelEntries),
    injectNumCtxForOpenAICompat: Type.Optional(
      Type.Refine(
        Type.Boolean({ description: "true is refused: num_ctx is not sent to servers; default false" }),
        (asked) => !asked,
        () => NO_NUM_CTX,
      ),
    ),
  },
  { default: {} }, // typebox fills in defaults below a record only if the values of the record have a default
);

const ProviderEntry = Type.Refine(
  ProviderFields,
  ({ apiKey, accounts }) => apiKey === undefined || accounts === undefined,
  () => "apiKey cannot be used together with accounts; make it an account, or remove it",
);

// Choice: the spec requires `models`. A provider known by name needs no list: its models are public facts, or it is asked.
const Providers = Type.Refine(
  Type.Record(Type.String(), ProviderEntry, {
    default: {},
    propertyNames: { pattern: "^[^/:\\s]+$" },
    description: "Model servers by name",
  }),
  (providers) => withoutModels(providers) === undefined,
  (providers) => noModels(String(withoutModels(providers))),
);

/** The first provider that needs a list of models and has none. */
function withoutModels(providers: Readonly<Record<string, Static<typeof ProviderEntry>>>): string | undefined {
  return Object.keys(providers).find((name) => !providers[name]?.models && !knownServer(name));
}

/**
 * Section `models`. The name of a provider contains no slash and no colon: it precedes the first slash of a model
 * reference, and the colon of an account's name. Changes take effect without a restart.
 */
export const ModelsConfig = Strict(
  {
    mode: Type.Enum(["merge", "replace"], {
      default: "merge",
      description: "replace: hide models that need no configuration",
    }),
    default: Type.Optional(
      Type.String({ minLength: 1, description: "Model used when neither a request nor `agents` names one" }),
    ),
    providers: Providers,
    idleTimeoutSeconds: Type.Integer({
      default: 240,
      minimum: 0,
      maximum: 3_600,
      description:
        "Seconds without a part of an answer after which the next account or model is tried; 0: no limit of the gateway",
    }),
    discovery: Strict(
      {
        ollama: Type.Boolean({ default: true, description: "Find the models of an Ollama server on this machine" }),
        lmstudio: Type.Boolean({ default: true, description: "Find the models of LM Studio on this machine" }),
      },
      { default: {}, description: "Local model servers that need no configuration" },
    ),
    bedrockDiscovery: Type.Optional(
      Type.Object(
        {
          enabled: Type.Optional(
            Type.Refine(
              Type.Boolean({
                description: "true is refused: models are not looked up at Amazon Bedrock; default false",
              }),
              (asked) => !asked,
              () => NO_DISCOVERY,
            ),
          ),
        },
        { additionalProperties: true },
      ),
    ),
  },
  { reload: "hot", order: 70 },
);

export type ModelsConfig = Static<typeof ModelsConfig>;
export type ProviderEntry = Static<typeof ProviderEntry>;
