/** A command that says it was allowed: whether it was, exactly so. Spec: protocol/methods-node.md §4, table of `details.code`. */
import { envHash } from "@svc/kit/exec";
import type { Clock } from "@svc/sdk";
import type { AllowedExec, ExecApprovals, ExecClaim, SystemRunPlan } from "@svc/sdk/approvals";
import { type DetailCode, refusal } from "@svc/sdk/errors";
import type { ApprovalRecord } from "./approval-rows.ts";
import type { ApprovalStore } from "./approval-store.ts";

/** Why a claim does not hold: code, sentence, and what else the client is told. */
export interface Mismatch {
  readonly code: DetailCode;
  readonly message: string;
  readonly more?: object;
}

const ANEW = "ask anew with exec.approval.request";

/** Commands are run once per allowance, and only as allowed. */
export function createClaims(store: ApprovalStore, clock: Clock): ExecApprovals {
  return {
    async claim(claim): Promise<AllowedExec> {
      const { approvalId } = claim;
      if (approvalId === undefined || approvalId.trim() === "") {
        return refuse(claim, { code: "MISSING_RUN_ID", message: `runId is missing: the id of the approval; ${ANEW}` });
      }
      const record = await store.get(approvalId);
      const fault = mismatch(record, claim, clock.now());
      if (fault) return refuse(claim, fault);
      if (!record?.plan || !allows(record.decision)) return refuse(claim, NOT_ALLOWED);
      // In the same statement as the check: of two that come at once, and of one that comes again after a crash, one runs.
      if (!(await store.use(approvalId, clock.now())))
        return refuse(claim, await whyUnusable(store, record, clock.now()));
      const { files } = record.view;
      return { decision: record.decision, plan: record.plan, ...(files !== undefined && { files }) };
    },
  };
}

const NOT_ALLOWED: Mismatch = {
  code: "APPROVAL_REQUIRED",
  message: `this command is not allowed, or was allowed once and has run; ${ANEW}`,
};

async function whyUnusable(store: ApprovalStore, { id, expiresAt }: ApprovalRecord, now: number): Promise<Mismatch> {
  return (await store.get(id)) === undefined || expiresAt <= now ? EXPIRED : NOT_ALLOWED;
}

const EXPIRED: Mismatch = { code: "APPROVAL_EXPIRED", message: `the approval is over; ${ANEW}` };

function allows(decision: ApprovalRecord["decision"]): decision is "allow-once" | "allow-always" {
  return decision === "allow-once" || decision === "allow-always";
}

/**
 * What differs between an approval and the command that claims it, in the order of the table; `undefined`: nothing.
 * Choice: nobody may run what expired undecided, whatever scopes they hold: silence is a no.
 */
export function mismatch(record: ApprovalRecord | undefined, claim: ExecClaim, now: number): Mismatch | undefined {
  if (record === undefined) return { code: "UNKNOWN_APPROVAL_ID", message: `there is no such approval; ${ANEW}` };
  if (record.status === "expired" || record.expiresAt <= now) return EXPIRED;
  const { nodeId } = record.view;
  if (nodeId === null) {
    return { code: "APPROVAL_NODE_BINDING_MISSING", message: `the approval is for no node; ${ANEW} and host node` };
  }
  if (nodeId !== claim.nodeId) {
    return { code: "APPROVAL_NODE_MISMATCH", message: `the approval is for another node; ${ANEW}` };
  }
  return foreign(record, claim) ?? otherPlan(record, claim) ?? otherEnvironment(record, claim);
}

/** An allowance belongs to whoever asked for it: the device; without one the connection; within the gateway the caller. */
function foreign({ requester }: ApprovalRecord, claim: ExecClaim): Mismatch | undefined {
  if (requester.deviceId !== null) {
    if (requester.deviceId === claim.deviceId) return undefined;
    return { code: "APPROVAL_DEVICE_MISMATCH", message: `another device asked for the approval; ${ANEW}` };
  }
  const isSame =
    requester.connectionId === (claim.connectionId ?? null) && requester.principalId === claim.principal.id;
  if (isSame) return undefined;
  return { code: "APPROVAL_CLIENT_MISMATCH", message: `another client asked for the approval; ${ANEW}` };
}

function otherPlan({ plan }: ApprovalRecord, claim: ExecClaim): Mismatch | undefined {
  if (plan !== null && boundText(plan) === boundText(claim.plan)) return undefined;
  return { code: "APPROVAL_REQUEST_MISMATCH", message: `the approval is for another command; ${ANEW}` };
}

function boundText({ argv, cwd, agentId, sessionKey }: SystemRunPlan): string {
  return JSON.stringify([argv, cwd, agentId, sessionKey]);
}

function otherEnvironment({ envHash: allowed }: ApprovalRecord, { env }: ExecClaim): Mismatch | undefined {
  const wanted = envHash(env);
  if (wanted === allowed) return undefined;
  const more = { envKeys: Object.keys(env ?? {}).sort(), expectedEnvHash: allowed, actualEnvHash: wanted };
  if (allowed === null) {
    return { code: "APPROVAL_ENV_BINDING_MISSING", message: `the approval is for no added environment; ${ANEW}`, more };
  }
  return { code: "APPROVAL_ENV_MISMATCH", message: `the approval is for another environment; ${ANEW}`, more };
}

function refuse({ approvalId }: ExecClaim, { code, message, more }: Mismatch): never {
  throw refusal(code, message, { ...(approvalId !== undefined && { runId: approvalId }), ...more });
}
