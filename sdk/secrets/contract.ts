/** References to secrets. Spec: protocol/methods-secrets.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** Params of `secrets.resolve`. */
export const SecretsResolveParams = Strict({ commandName: NonEmpty, targetIds: Type.Array(NonEmpty) });
export type SecretsResolveParams = Static<typeof SecretsResolveParams>;

/** Secrets that are kept outside the configuration. */
export const secrets = defineContract("secrets", {
  list: {
    summary: "References of the configuration and whether they are found; never a value, never an id",
    scope: "operator.admin",
    advertised: false,
    params: Type.Object({}),
    result: Type.Object({
      secrets: Type.Array(
        Type.Object({
          path: NonEmpty,
          source: NonEmpty,
          provider: NonEmpty,
          // pending: not looked up yet. inactive: no running plugin reads it.
          state: Type.Enum(["found", "missing", "failed", "pending", "inactive"]),
          reason: Type.Optional(NonEmpty),
        }),
      ),
    }),
  },
  reload: {
    summary: "Looks all references up anew; what was known stays when one of them fails",
    scope: "operator.admin",
    params: Type.Object({}),
    result: Type.Object({ ok: Type.Literal(true), warningCount: Type.Integer({ minimum: 0 }) }),
  },
  resolve: {
    summary: "The values of secrets, for commands of admins",
    scope: "operator.admin",
    // Open for the dispatcher: its refusal names only the field, so the handler checks them. Spec: methods-secrets.md §2.
    params: Type.Unsafe<SecretsResolveParams>(Type.Object({})),
    result: Type.Object({
      ok: Type.Literal(true),
      assignments: Type.Array(
        Type.Object({
          path: Type.Optional(Type.String()),
          pathSegments: Type.Array(NonEmpty),
          value: Type.Unknown(),
        }),
      ),
      diagnostics: Type.Array(NonEmpty),
      inactiveRefPaths: Type.Array(Type.String()),
    }),
  },
});
