/**
 * Decides who is an approver. Pure.
 *
 * Choice: `approvals.approvers` lists immutable ids, compared exactly: ids of proven devices, or of principals. Absent: every
 * operator with the scope. `[]`: nobody. `""`, `" "`, `"*"` and display names are no ids, so a list of only these allows
 * nobody either.
 */
import { type ConnectionInfo, coversScope, type Principal } from "@svc/sdk";

export type ApproverList = readonly string[] | undefined;

/** Principals that are not people never decide, whatever their scopes or the list. */
const NEVER: ReadonlySet<Principal["provenance"]> = new Set(["plugin", "webhook"]);

/** @param device device that the connection has proven, if any */
export function mayDecide(list: ApproverList, principal: Principal, device: string | undefined): boolean {
  if (principal.role !== "operator" || NEVER.has(principal.provenance)) return false;
  if (!coversScope(principal.scopes, "operator.approvals")) return false;
  if (list === undefined) return true;
  // A blank text or a star is never a valid id, even if a principal ever had one.
  const ids = list.filter((id) => id.trim() !== "" && id !== "*");
  const proven = principal.device ?? device;
  return ids.includes(principal.id) || (proven !== undefined && ids.includes(proven));
}

/** The connections that could decide now. */
export function approversAmong(list: ApproverList, connections: readonly ConnectionInfo[]): readonly string[] {
  return connections
    .filter(({ principal, device }) => principal !== undefined && mayDecide(list, principal, device))
    .map(({ id }) => id);
}
