/** The configuration section `models`. Spec: http/config-keys.md `models.*`. */
import { type Static, Strict, Type } from "@svc/sdk";

const Price = Type.Number({ minimum: 0, default: 0 });
const tokens = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));

const ModelEntry = Strict({
  id: Type.String({ minLength: 1, description: "The server's own name for the model" }),
  name: Type.Optional(Type.String({ minLength: 1, description: "Shown to people; default: the id" })),
  reasoning: Type.Boolean({ default: false, description: "The model takes a thinking level" }),
  input: Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")]), {
    default: ["text"],
    description: "What may be sent to it",
  }),
  // Choice: no made-up window or limit. Unknown is absent, and then the server's own limits hold.
  contextWindow: tokens("Tokens question and answer may have together"),
  maxTokens: tokens("Tokens the answer may have; default: the server's"),
  cost: Type.Optional(
    Strict(
      { input: Price, output: Price, cacheRead: Price, cacheWrite: Price },
      { description: "Price of a million tokens; 0 means free" },
    ),
  ),
});

const ProviderEntry = Strict(
  {
    baseUrl: Type.String({ pattern: "^https?://", description: "Address of the server, usually ending in /v1" }),
    apiKey: Type.Optional(
      Type.String({ minLength: 1, sensitive: true, description: "Absent for servers that ask for none" }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ sensitive: true }), { description: "Sent with every request" }),
    ),
    api: Type.String({ minLength: 1, default: "openai-completions", description: "Kind of server" }),
    models: Type.Array(ModelEntry),
  },
  { default: {} }, // typebox fills in defaults below a record only where its values have a default themselves
);

/** Section `models`. A provider's name stands before the first slash of a model reference, so it has none itself. */
export const ModelsConfig = Strict({
  default: Type.Optional(
    Type.String({ minLength: 1, description: "`<provider>/<id>` used when nothing else is asked for" }),
  ),
  providers: Type.Record(Type.String(), ProviderEntry, {
    default: {},
    propertyNames: { pattern: "^[^/\\s]+$" },
    description: "Accounts by name",
  }),
});

export type ModelsConfig = Static<typeof ModelsConfig>;
export type ProviderEntry = Static<typeof ProviderEntry>;
