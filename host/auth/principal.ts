/** Mints principals: the only place where authority comes into being. */
import type { Principal, Role } from "@svc/sdk";
import type { AuthMode } from "./mode.ts";

/** One number for all credentials of this process; it will grow when one of them changes. */
const EPOCH = 1;

/** Names clients use for a scope beside its own. Spec: spec/README.md "admin scope". */
const SCOPE_ALIASES: ReadonlyMap<string, string> = new Map([["admin", "operator.admin"]]);

/** The scopes a connection asks for, aliases resolved, each once. */
export function requestedScopes(scopes: readonly string[] = []): string[] {
  return [...new Set(scopes.map((scope) => SCOPE_ALIASES.get(scope) ?? scope))];
}

/** Who holds the gateway's shared secret: all that was asked for is granted. */
export function sharedSecretPrincipal(mode: AuthMode, role: Role, scopes: readonly string[]): Principal {
  return Object.freeze({ id: mode, role, scopes: Object.freeze([...scopes]), provenance: mode, epoch: EPOCH });
}

/** Who a plugin vouched for: never more than was asked for. */
export function vouchedPrincipal(
  id: string,
  role: Role,
  vouched: readonly string[],
  requested: readonly string[],
): Principal {
  const scopes = requested.filter((scope) => vouched.includes(scope));
  return Object.freeze({ id, role, scopes: Object.freeze(scopes), provenance: "device", epoch: EPOCH });
}

/** What a plugin acts as: exactly the scopes its package asks for. */
export function pluginPrincipal(id: string, scopes: readonly string[]): Principal {
  return Object.freeze({
    id: `plugin:${id}`,
    role: "operator",
    scopes: Object.freeze([...scopes]),
    provenance: "plugin",
    epoch: EPOCH,
  });
}
