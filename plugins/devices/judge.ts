/** Whether a device may come in as it asks to, and whether anybody has to be asked. Pure. Spec: protocol/frames-and-connect.md §10. */
import type { Admission, PairingRequest } from "@svc/sdk";
import { isWebClient, WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import type { Claim } from "./claim.ts";
import type { DeviceRecord, Reason } from "./records.ts";
import { missingScopes } from "./scopes.ts";

/** What stands in its way; `undefined`: nothing. Rows a to d, in this order. */
export function obstacle(record: DeviceRecord | undefined, claim: Claim): PairingRequest["reason"] | undefined {
  if (!record || record.publicKey !== claim.facts.publicKey) return "not-paired";
  if (differs(record.platform, claim.facts.platform)) return "metadata-upgrade";
  if (differs(record.deviceFamily, claim.facts.deviceFamily)) return "metadata-upgrade";
  if (!record.roles.includes(claim.role)) return "role-upgrade";
  // Only approvals count: a store that was written by hand cannot widen what people said yes to.
  const held = record.approvedScopes;
  return missingScopes(held, claim.scopes, claim.role).length > 0 ? "scope-upgrade" : undefined;
}

/** A pinned value holds, an empty one pins nothing. */
function differs(pinned: string | undefined, claimed: string | undefined): boolean {
  return pinned !== undefined && pinned !== "" && folded(pinned) !== folded(claimed ?? "");
}

/** As in the signed payload: trimmed, ASCII letters in lower case. */
function folded(text: string): string {
  return text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Connections nobody pairs: what let them in is worth more than a pairing. */
export function needsNoPairing({ clientId, connect, local, fromPage, principal }: Admission): boolean {
  const { provenance } = principal;
  if (provenance === "local") return true; // it can read the state directory
  if (clientId === WEB_PANEL_CLIENT_ID && provenance === "trusted-proxy") return true;
  const bySecret = provenance === "token" || provenance === "password";
  return clientId === "gateway-client" && connect.client.mode === "backend" && local && !fromPage && bySecret;
}

/**
 * Whether nobody has to be asked: a program of this machine, or one of its own pages, that is new or asks for more scopes.
 * Choice: never for more commands of a node. Its key and token suffice to ask for them, without the secret of the gateway.
 */
export function mayBeSilent(
  { clientId, connect, local, fromPage }: Pick<Admission, "clientId" | "connect" | "local" | "fromPage">,
  reason: Reason,
  record: DeviceRecord | undefined,
): boolean {
  if (!local || (fromPage && !isWebClient({ ...connect.client, id: clientId }))) return false;
  if (reason === "not-paired") return record === undefined; // Choice: a key that changed is for people to look at
  return reason === "scope-upgrade";
}
