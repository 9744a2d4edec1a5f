/** Who acts: roles, scopes and the principal that the gateway mints after it has verified a credential. */

/** Role of a connection. Spec: §5.1 rule 3. */
export type Role = "operator" | "node";

/** The scopes methods can ask for. A connection may hold other strings; they grant nothing. Spec: protocol/authorization.md §1. */
export const SCOPES = [
  "operator.read",
  "operator.write",
  "operator.approvals",
  "operator.pairing",
  "operator.admin",
] as const;

export type Scope = (typeof SCOPES)[number];

/**
 * Who a request acts for. Only the host's auth layer makes one; handlers get it instead of headers.
 * A derived principal (a plugin, a tool, a webhook run) can only hold less than its source.
 */
export interface Principal {
  /** Stable for the same credential holder, e.g. `token`, `plugin:notes`. */
  readonly id: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  /** How it came to be. */
  readonly provenance: "token" | "password" | "none" | "trusted-proxy" | "local" | "device" | "plugin" | "webhook";
  /** Grows when a credential ends, over restarts too; a principal of before the end of its credential is dead. */
  readonly epoch: number;
  /** Id of the device that was proven with the credential; revoking that device ends this principal, too. */
  readonly device?: string;
  /** The gateway's own credential let its device in: the principal ends with that credential, too. */
  readonly onShared?: boolean;
}

/** Whether `held` covers `wanted`: admin covers every operator scope, write covers read. Spec: authorization.md §1. */
export function coversScope(held: readonly string[], wanted: Scope): boolean {
  if (held.includes(wanted) || held.includes("operator.admin")) return true;
  return wanted === "operator.read" && held.includes("operator.write");
}
