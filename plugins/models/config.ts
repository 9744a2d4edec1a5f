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
  description: "Address of the server; needed unless the kind of server has one of its own",
});

const ModelEntry = Strict({
  id: Type.String({ minLength: 1, description: "The server's own name for the model" }),
  name: Type.Optional(Type.String({ minLength: 1, description: "Shown to people; default: the id" })),
  api: Type.Optional(Type.String({ minLength: 1, description: "Kind of server; default: that of the provider" })),
  reasoning: Type.Boolean({ default: false, description: "The model takes a thinking level" }),
  xhigh: Type.Optional(Type.Boolean({ description: "It takes the thinking level `xhigh`; default false" })),
  input: Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")]), {
    default: ["text"],
    description: "What may be sent to it",
  }),
  // Choice: no made-up window or limit. Unknown is absent, and then the server's own limits hold.
  contextWindow: tokens("Tokens question and answer may have together"),
  maxTokens: tokens("Tokens the answer may have; default: the server's"),
  headers: Type.Optional(Headers),
  cost: Type.Optional(
    Strict(
      {
        input: price("US dollars for a million tokens sent; default 0: free"),
        output: price("US dollars for a million tokens of the answer; default 0: free"),
        cacheRead: price("US dollars for a million tokens read from the server's cache; default 0: free"),
        cacheWrite: price("US dollars for a million tokens put into the server's cache; default 0: free"),
      },
      { description: "US dollars for a million tokens; 0 means free, absent means unknown" },
    ),
  ),
  compat: Type.Optional(
    Type.Refine(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "refused unless empty: quirks of a server cannot be set here",
      }),
      (quirks) => Object.keys(quirks).length === 0,
      () => NO_COMPAT,
    ),
  ),
});

const ModelEntries = Type.Refine(
  Type.Array(ModelEntry),
  (models) => secondOf(models.map(({ id }) => id)) === undefined,
  (models) => `"${secondOf(models.map(({ id }) => id))}" is listed twice; remove one of the two`,
);

// Choice: several accounts of one provider; the spec has one key for each.
const Account = Strict({
  name: Type.String({ pattern: "^[^:/\\s]+$", description: "Shown to people" }),
  apiKey: SecretSetting({ description: "key of this account, or a reference to it; never shown again" }),
  baseUrl: Type.Optional(BaseUrl),
  headers: Type.Optional(Headers),
});

const Accounts = Type.Refine(
  Type.Array(Account, { minItems: 1, description: "Instead of `apiKey`: asked in this order when one fails" }),
  (accounts) => secondOf(accounts.map(({ name }) => name)) === undefined,
  (accounts) => `"${secondOf(accounts.map(({ name }) => name))}" is listed twice; give one of the two another name`,
);

const ProviderFields = Strict(
  {
    baseUrl: Type.Optional(BaseUrl),
    apiKey: Type.Optional(
      SecretSetting({ description: "the key, or a reference to it; absent for servers that ask for none" }),
    ),
    accounts: Type.Optional(Accounts),
    auth: Type.Optional(
      Type.Refine(
        Type.Enum(["api-key", "aws-sdk", "oauth", "token"], {
          description: "kind of login; default api-key, all others are refused",
        }),
        (auth) => auth === "api-key",
        noLogin,
      ),
    ),
    authHeader: Type.Optional(
      Type.Boolean({
        description:
          "true: the key goes as `Authorization: Bearer`; false: as `x-api-key`; default: as the kind does it",
      }),
    ),
    headers: Type.Optional(Headers),
    api: Type.String({ minLength: 1, default: "openai-completions", description: "Kind of server" }),
    models: ModelEntries,
    injectNumCtxForOpenAICompat: Type.Optional(
      Type.Refine(
        Type.Boolean({ description: "true is refused: num_ctx is not sent to servers here; default false" }),
        (asked) => !asked,
        () => NO_NUM_CTX,
      ),
    ),
  },
  { default: {} }, // typebox fills in defaults below a record only where its values have a default themselves
);

const ProviderEntry = Type.Refine(
  ProviderFields,
  ({ apiKey, accounts }) => apiKey === undefined || accounts === undefined,
  () => "apiKey stands beside accounts; make it one of them, or remove it",
);

/**
 * Section `models`. A provider's name stands before the first slash of a model reference and before the colon of an
 * account's name, so it has neither itself. All of it is taken while the plugin runs.
 */
export const ModelsConfig = Strict(
  {
    mode: Type.Enum(["merge", "replace"], {
      default: "merge",
      description: "replace: models that need no configuration are hidden",
    }),
    default: Type.Optional(Type.String({ minLength: 1, description: "Model used when nothing else is asked for" })),
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
                description: "true is refused: models are not looked up at Amazon Bedrock here; default false",
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
