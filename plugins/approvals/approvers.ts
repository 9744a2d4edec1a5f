/**
 * Who may decide. Pure.
 *
 * Choice: the list `approvals.approvers` holds immutable ids, compared exactly: the id of a proven device, or the id of a
 * principal. Absent: every operator with the scope. `[]`: nobody. `""`, `" "`, `"*"` and display names are nobody's id, so a list of
 * only these is nobody as well.
 */
import { type ConnectionInfo, coversScope, type Principal } from "@svc/sdk";

export type ApproverList = readonly string[] | undefined;

/** What others set off never decides, whatever scopes or list say: a question is for people. */
const NEVER: ReadonlySet<Principal["provenance"]> = new Set(["plugin", "webhook"]);

/** @param device proven by the connection, where there is one */
export function mayDecide(list: ApproverList, principal: Principal, device: string | undefined): boolean {
  if (principal.role !== "operator" || NEVER.has(principal.provenance)) return false;
  if (!coversScope(principal.scopes, "operator.approvals")) return false;
  if (list === undefined) return true;
  // What is blank or a star is no id, should one ever be minted.
  const ids = list.filter((id) => id.trim() !== "" && id !== "*");
  const proven = principal.device ?? device;
  return ids.includes(principal.id) || (proven !== undefined && ids.includes(proven));
}

/** Those among the connections that could decide now. */
export function approversAmong(list: ApproverList, connections: readonly ConnectionInfo[]): readonly string[] {
  return connections
    .filter(({ principal, device }) => principal !== undefined && mayDecide(list, principal, device))
    .map(({ id }) => id);
}
