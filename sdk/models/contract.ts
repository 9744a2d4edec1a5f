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

/** Available models, their accounts, and a test call. */
export const models = defineContract("models", {
  list: {
    summary: "List the usable models, by provider and name",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ models: Type.Array(ModelChoice) }),
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
