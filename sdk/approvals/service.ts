/** The service `ExecApprovals`: uses approvals of commands that are about to run. */
import type { ApprovalDecision } from "./contract.ts";
import type { BoundFile, SystemRunPlan } from "./exec-schema.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** A command that is about to run on a node and claims to be approved. */
export interface ExecClaim {
  /** Id of the approval: `runId` of `system.run`. */
  readonly approvalId: string | undefined;
  readonly nodeId: string;
  readonly plan: SystemRunPlan;
  readonly env: Readonly<Record<string, string>> | undefined;
  /** The decision claimed by the caller; the stored record is authoritative. */
  readonly claimed: ApprovalDecision | undefined;
  readonly principal: Principal;
  readonly deviceId: string | undefined;
  readonly connectionId: string | undefined;
}

/** An accepted claim: only this plan may run. */
export interface AllowedExec {
  readonly decision: "allow-once" | "allow-always";
  readonly plan: SystemRunPlan;
  /** File contents approved together with the command, if the requester listed them; the node runs no others. */
  readonly files?: readonly BoundFile[];
}

/** Uses approvals of commands. */
export interface ExecApprovals {
  /**
   * Consumes an approval; `allow-once` can be used only once.
   * @throws GatewayError `INVALID_REQUEST`, `details.code` as in protocol/methods-node.md §4, e.g. `APPROVAL_EXPIRED`
   */
  claim(claim: ExecClaim): Promise<AllowedExec>;
}

/** Token of the service. */
export const ExecApprovals = defineService<ExecApprovals>()("exec.approvals", "1.0.0", {
  summary:
    "Checks that a command for a node was approved. Provided by the plugin `approvals`; used by the plugin `nodes`.",
});
