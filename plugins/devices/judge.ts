/** Decides whether a device may connect as claimed, and whether people must approve it. Pure. Spec: protocol/frames-and-connect.md §10. */
import type { Admission, PairingRequest } from "@svc/sdk";
import { isWebClient, WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import type { Claim } from "./claim.ts";
import type { DeviceRecord, Reason } from "./records.ts";
import { missingScopes } from "./scopes.ts";

/** Why the device must be approved; `undefined`: it need not. Rows a to d, in this order. */
export function obstacle(record: DeviceRecord | undefined, claim: Claim): PairingRequest["reason"] | undefined {
  if (!record || record.publicKey !== claim.facts.publicKey) return "not-paired";
  if (differs(record.platform, claim.facts.platform)) return "metadata-upgrade";
  if (differs(record.deviceFamily, claim.facts.deviceFamily)) return "metadata-upgrade";
  if (!record.roles.includes(claim.role)) return "role-upgrade";
  // Only approvals count: editing the other fields of the store does not widen what people approved.
  const held = record.approvedScopes;
  return missingScopes(held, claim.scopes, claim.role).length > 0 ? "scope-upgrade" : undefined;
}

/** Compares with the pinned value; an empty one pins nothing. */
function differs(pinned: string | undefined, claimed: string | undefined): boolean {
  return pinned !== undefined && pinned !== "" && folded(pinned) !== folded(claimed ?? "");
}

/** Normalized as in the signed payload: trimmed, ASCII letters in lower case. */
function folded(text: string): string {
  return text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Connections that need no pairing, because their credential outranks one. */
export function needsNoPairing({ clientId, connect, local, fromPage, principal }: Admission): boolean {
  const { provenance } = principal;
  if (provenance === "local") return true; // it can read the state directory
  if (clientId === WEB_PANEL_CLIENT_ID && provenance === "trusted-proxy") return true;
  const bySecret = provenance === "token" || provenance === "password";
  return clientId === "gateway-client" && connect.client.mode === "backend" && local && !fromPage && bySecret;
}

/**
 * Whether the approval may be silent: for a program of this machine, or the gateway's own web client on it, that is new or
 * requests more scopes. Choice: never for more commands of a node, since its key and token suffice to request them, without the
 * gateway's secret.
 */
export function mayBeSilent(
  { clientId, connect, local, fromPage }: Pick<Admission, "clientId" | "connect" | "local" | "fromPage">,
  reason: Reason,
  record: DeviceRecord | undefined,
): boolean {
  if (!local || (fromPage && !isWebClient({ ...connect.client, id: clientId }))) return false;
  if (reason === "not-paired") return record === undefined; // Choice: people must approve a changed key
  return reason === "scope-upgrade";
}
