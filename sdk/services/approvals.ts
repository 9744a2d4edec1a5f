/** Asking people: the services `Approver` (any question) and `ExecApprovals` (commands that were allowed and now run). */
import type { ApprovalDecision } from "../contracts/approvals.ts";
import type { SystemRunPlan } from "../exec/schema.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** Something that a person should decide. */
export interface ApprovalQuestion {
  /** One line, shown to people, e.g. the command. */
  readonly title: string;
  /** What is asked for, as JSON: all of it, and nothing that changes from one time to the next. `allow-always` binds to it. */
  readonly subject: unknown;
  /** What kind of thing, e.g. `toolBefore:exec`; two kinds never share an answer. */
  readonly kind: string;
  /** For people; the plugin or hook that asks. */
  readonly askedBy: string;
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** Milliseconds; default 120000. Nobody answers in time: denied. */
  readonly timeoutMs?: number | undefined;
  /** Takes the question back: it counts as denied. */
  readonly signal?: AbortSignal | undefined;
}

/** What came of it; `decision: null`: nobody answered, which is a no. */
export interface ApprovalAnswer {
  readonly id: string;
  readonly decision: ApprovalDecision | null;
  /** Why it is a no, for whoever asked. */
  readonly reason?: string;
}

/** Asks people. */
export interface Approver {
  /** @throws GatewayError `UNAVAILABLE` when the question cannot be recorded */
  ask(question: ApprovalQuestion): Promise<ApprovalAnswer>;
}

/** Asks people. Provided by the plugin `approvals`; gates use it for answers with `allow: "ask"`. */
export const Approver = defineService<Approver>()("approver", "1.0.0", { remotable: true });

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
