/** The configuration section `models`. Spec: http/config-keys.md `models.*`. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";
import { NO_COMPAT, NO_DISCOVERY, NO_NUM_CTX, noLogin, secondOf } from "./refusals.ts";

const price = (description: string) => Type.Number({ minimum: 0, default: 0, description });
const tokens = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const Headers = Type.Record(Type.String(), Type.String({ sensitive: true }), {
  description: "Sent with every request",
});
const BaseUrl = Type.String({
  pattern: "^https?://",
  description: "Address of the server; required unless the kind of server has a default",
});

const ModelEntry = Strict({
  id: Type.String({ minLength: 1, description: "The server's name of the model" }),
  name: Type.Optional(Type.String({ minLength: 1, description: "Display name; default: the id" })),
  api: Type.Optional(Type.String({ minLength: 1, description: "Kind of server; default: the provider's" })),
  reasoning: Type.Boolean({ default: false, description: "The model supports thinking levels" }),
  xhigh: Type.Optional(Type.Boolean({ description: "It supports the thinking level `xhigh`; default false" })),
  input: Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")]), {
    default: ["text"],
    description: "Supported kinds of input",
  }),
  // Choice: no assumed window or limit; if absent, the server's own limits apply.
  contextWindow: tokens("Maximum number of tokens of request and answer together"),
  maxTokens: tokens("Maximum number of tokens of an answer; default: the server's limit"),
  headers: Type.Optional(Headers),
  cost: Type.Optional(
    Strict(
      {
        input: price("US dollars per million input tokens; default 0: free"),
        output: price("US dollars per million output tokens; default 0: free"),
        cacheRead: price("US dollars per million tokens read from the server's cache; default 0: free"),
        cacheWrite: price("US dollars per million tokens written to the server's cache; default 0: free"),
      },
      { description: "US dollars per million tokens; 0 means free, absent means unknown" },
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
  Type.Array(ModelEntry, { description: "models of the provider" }),
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
    api: Type.String({ minLength: 1, default: "openai-completions", description: "Kind of server" }),
    models: ModelEntries,
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
    providers: Type.Record(Type.String(), ProviderEntry, {
      default: {},
      propertyNames: { pattern: "^[^/:\\s]+$" },
      description: "Model servers by name",
    }),
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
