/** Push namespace. Spec: protocol/methods-system.md §3. */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const Environment = Type.Enum(["sandbox", "production"]);

/** Push messages to nodes. */
export const push = defineContract("push", {
  test: {
    summary: "Send a push message to a node",
    scope: "operator.write",
    advertised: false,
    params: Strict({
      nodeId: NonEmpty,
      title: Type.Optional(Type.String({ description: "default: the name of the product" })),
      body: Type.Optional(Type.String()),
      environment: Type.Optional(
        Type.Enum(["sandbox", "production"], { description: "default: that of the registration" }),
      ),
    }),
    result: Type.Object({
      ok: Type.Boolean(),
      status: Type.Integer({ description: "HTTP status of the push service" }),
      apnsId: Type.Optional(Type.String()),
      reason: Type.Optional(Type.String({ description: "why the push service refused it" })),
      tokenSuffix: Type.String({ description: "last 8 characters of the device token" }),
      topic: Type.String(),
      environment: Environment,
    }),
  },
});
