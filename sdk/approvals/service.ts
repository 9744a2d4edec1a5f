/** The service `ExecApprovals`: commands that people allowed and that now run. */
import type { ApprovalDecision } from "./contract.ts";
import type { BoundFile, SystemRunPlan } from "./exec-schema.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** A command that is about to run on a node, and claims to be allowed. */
export interface ExecClaim {
  /** Id of the approval: `runId` of `system.run`. */
  readonly approvalId: string | undefined;
  readonly nodeId: string;
  readonly plan: SystemRunPlan;
  readonly env: Readonly<Record<string, string>> | undefined;
  /** What the caller says was decided; the record counts. */
  readonly claimed: ApprovalDecision | undefined;
  readonly principal: Principal;
  readonly deviceId: string | undefined;
  readonly connectionId: string | undefined;
}

/** A claim that holds: this plan and no other may run. */
export interface AllowedExec {
  readonly decision: "allow-once" | "allow-always";
  readonly plan: SystemRunPlan;
  /** Contents that were allowed with it, where whoever asked named them: the node runs no others. */
  readonly files?: readonly BoundFile[];
}

/** Approvals of commands. */
export interface ExecApprovals {
  /**
   * Uses an approval; `allow-once` can be used once.
   * @throws GatewayError `INVALID_REQUEST`, `details.code` as in protocol/methods-node.md §4, e.g. `APPROVAL_EXPIRED`
   */
  claim(claim: ExecClaim): Promise<AllowedExec>;
}

/** Approvals of commands. Provided by the plugin `approvals`. */
export const ExecApprovals = defineService<ExecApprovals>()("exec.approvals", "1.0.0");
