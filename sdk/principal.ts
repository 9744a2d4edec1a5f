/** Identity of a caller: roles, scopes, and the principal that the gateway creates after verifying a credential. */

/** Role of a connection. Spec: §5.1 rule 3. */
export type Role = "operator" | "node";

/**
 * Scopes that methods can require. A connection may hold other strings; they grant nothing. Spec:
 * protocol/authorization.md §1.
 */
export const SCOPES = [
  "operator.read",
  "operator.write",
  "operator.approvals",
  "operator.pairing",
  "operator.admin",
] as const;

export type Scope = (typeof SCOPES)[number];

/**
 * The identity a request acts for. Only the authentication layer of the host creates principals; handlers receive one
 * instead of headers. A derived principal (of a plugin, a tool or a webhook run) never has more rights than its source.
 */
export interface Principal {
  /** Stable for the same credential holder, e.g. `token`, `plugin:notes`. */
  readonly id: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  /** How the caller was authenticated. */
  readonly provenance: "token" | "password" | "none" | "trusted-proxy" | "local" | "device" | "plugin" | "webhook";
  /** Increases when a credential is revoked, also across restarts; a principal with an older epoch is invalid. */
  readonly epoch: number;
  /** Id of the device proven with the credential; revoking the device invalidates this principal, too. */
  readonly device?: string;
  /**
   * The device was admitted by the gateway's shared credential; revoking that credential invalidates the principal,
   * too.
   */
  readonly onShared?: boolean;
}

/** Whether `held` covers `wanted`: admin covers every operator scope, write covers read. Spec: authorization.md §1. */
export function coversScope(held: readonly string[], wanted: Scope): boolean {
  if (held.includes(wanted) || held.includes("operator.admin")) return true;
  return wanted === "operator.read" && held.includes("operator.write");
}
