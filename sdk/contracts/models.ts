/** Models namespace. Spec: §4.1 row "Models"; protocol/methods-models.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

/** One model a user can pick. */
export const ModelChoice = Type.Object({
  id: NonEmpty,
  name: NonEmpty,
  provider: NonEmpty,
  contextWindow: Type.Optional(Type.Integer({ minimum: 1, description: "tokens" })),
  reasoning: Type.Optional(Type.Boolean()),
  input: Type.Optional(Type.Array(Type.String({ description: "text, image or document" }))),
});

/** Which models there are. */
export const models = defineContract("models", {
  list: {
    summary: "The models that can be used, by provider and name",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ models: Type.Array(ModelChoice) }),
  },
});
