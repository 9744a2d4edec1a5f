/** References to secrets. Spec: protocol/methods-secrets.md. */
import { defineContract } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

/** Params of `secrets.resolve`. */
export const SecretsResolveParams = Strict({ commandName: NonEmpty, targetIds: Type.Array(NonEmpty) });
export type SecretsResolveParams = Static<typeof SecretsResolveParams>;

/** Secrets stored outside the configuration. */
export const secrets = defineContract("secrets", {
  list: {
    summary: "List secret references of the configuration and whether they resolve; never values or ids",
    scope: "operator.admin",
    advertised: false,
    params: Type.Object({}),
    result: Type.Object({
      secrets: Type.Array(
        Type.Object({
          path: NonEmpty,
          source: NonEmpty,
          provider: NonEmpty,
          // pending: not resolved yet. inactive: no running plugin reads it.
          state: Type.Enum(["found", "missing", "failed", "pending", "inactive"]),
          reason: Type.Optional(NonEmpty),
        }),
      ),
    }),
  },
  reload: {
    summary: "Resolve all secret references again; if one fails, the known values stay",
    scope: "operator.admin",
    params: Type.Object({}),
    result: Type.Object({ ok: Type.Literal(true), warningCount: Type.Integer({ minimum: 0 }) }),
  },
  resolve: {
    summary: "Get the values of secrets, for admin commands",
    scope: "operator.admin",
    // Accepts any object: the dispatcher would name only the field, so the handler validates the params. Spec:
    // methods-secrets.md §2.
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
