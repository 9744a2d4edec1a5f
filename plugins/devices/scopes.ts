/** Scopes and roles in pairing. Pure. Spec: protocol/frames-and-connect.md §7, §10; authorization.md §1. */
import { coversScope, type Role, type Scope, SCOPES } from "@svc/sdk";

/** The contract's name of the admin scope. Spec: spec/README.md "admin scope". */
const ALIASES: ReadonlyMap<string, string> = new Map([["admin", "operator.admin"]]);

export const ROLES: readonly Role[] = ["operator", "node"];

/** Resolves aliases and removes duplicates. */
export function resolved(scopes: readonly string[] = []): string[] {
  return [...new Set(scopes.map((scope) => ALIASES.get(scope) ?? scope))];
}

function isKnown(scope: string): scope is Scope {
  return SCOPES.some((known) => known === scope);
}

/** The known scopes among these, in the order of `SCOPES`. */
export function knownScopes(scopes: readonly string[] = []): Scope[] {
  const asked = resolved(scopes);
  return SCOPES.filter((scope) => asked.includes(scope));
}

/**
 * The scopes that a connection requests.
 * Choice: none for nodes, since every scope belongs to operators; so a scope approved for a node can never become an
 * operator's.
 */
export function wantedScopes(role: Role, scopes: readonly string[] = []): Scope[] {
  return role === "node" ? [] : knownScopes(scopes);
}

/** Whether `held` covers one scope. Nodes hold only the scopes listed. */
function covers(held: readonly string[], scope: string, role: string): boolean {
  if (held.includes(scope)) return true;
  if (role === "node") return false;
  return isKnown(scope) ? coversScope(held, scope) : scope.startsWith("operator.") && held.includes("operator.admin");
}

/** The scopes of `wanted` that `held` does not cover; empty when `wanted` is empty. */
export function missingScopes(held: readonly string[], wanted: readonly string[], role: string = "operator"): string[] {
  return wanted.filter((scope) => !covers(held, scope, role));
}

/** The union, sorted, without duplicates. */
export function union(some: readonly string[] = [], others: readonly string[] = []): string[] {
  return [...new Set([...some, ...others])].sort();
}
