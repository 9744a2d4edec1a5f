/** Checks whether a command that claims an approval matches it exactly. Spec: protocol/methods-node.md §4, table of `details.code`. */
import { envHash } from "@svc/kit/exec";
import type { Clock } from "@svc/sdk";
import type { AllowedExec, ExecApprovals, ExecClaim, SystemRunPlan } from "@svc/sdk/approvals";
import { type DetailCode, refusal } from "@svc/sdk/errors";
import type { ApprovalRecord } from "./approval-rows.ts";
import type { ApprovalStore } from "./approval-store.ts";

/** Why a claim is refused: code, message and further details for the client. */
export interface Mismatch {
  readonly code: DetailCode;
  readonly message: string;
  readonly more?: object;
}

const ANEW = "request a new approval with exec.approval.request";

/** Each approval lets its command run once (`allow-always`: while its grant exists), and only exactly as approved. */
export function createClaims(store: ApprovalStore, clock: Clock): ExecApprovals {
  return {
    async claim(claim): Promise<AllowedExec> {
      const { approvalId } = claim;
      if (approvalId === undefined || approvalId.trim() === "") {
        return refuse(claim, { code: "MISSING_RUN_ID", message: `runId, the id of the approval, is missing; ${ANEW}` });
      }
      const record = await store.get(approvalId);
      const fault = mismatch(record, claim, clock.now());
      if (fault) return refuse(claim, fault);
      if (!record?.plan || !allows(record.decision)) return refuse(claim, NOT_ALLOWED);
      // One statement checks and records the use, so only one of two concurrent claims runs, also after a crash.
      if (!(await store.use(approvalId, clock.now())))
        return refuse(claim, await whyUnusable(store, record, clock.now()));
      const { files } = record.view;
      return { decision: record.decision, plan: record.plan, ...(files !== undefined && { files }) };
    },
  };
}

const NOT_ALLOWED: Mismatch = {
  code: "APPROVAL_REQUIRED",
  message: `this command is not approved, or its approval has been used; ${ANEW}`,
};

async function whyUnusable(store: ApprovalStore, { id, expiresAt }: ApprovalRecord, now: number): Promise<Mismatch> {
  return (await store.get(id)) === undefined || expiresAt <= now ? EXPIRED : NOT_ALLOWED;
}

const EXPIRED: Mismatch = { code: "APPROVAL_EXPIRED", message: `the approval has expired; ${ANEW}` };

function allows(decision: ApprovalRecord["decision"]): decision is "allow-once" | "allow-always" {
  return decision === "allow-once" || decision === "allow-always";
}

/**
 * The first difference between an approval and the command that claims it, in the order of the table; `undefined`: none.
 * Choice: no scope allows running a command whose approval expired undecided: silence is a no.
 */
export function mismatch(record: ApprovalRecord | undefined, claim: ExecClaim, now: number): Mismatch | undefined {
  if (record === undefined) return { code: "UNKNOWN_APPROVAL_ID", message: `no approval has this id; ${ANEW}` };
  if (record.status === "expired" || record.expiresAt <= now) return EXPIRED;
  const { nodeId } = record.view;
  if (nodeId === null) {
    return { code: "APPROVAL_NODE_BINDING_MISSING", message: `the approval is not for a node; ${ANEW} and host node` };
  }
  if (nodeId !== claim.nodeId) {
    return { code: "APPROVAL_NODE_MISMATCH", message: `the approval is for another node; ${ANEW}` };
  }
  return foreign(record, claim) ?? otherPlan(record, claim) ?? otherEnvironment(record, claim);
}

/** An approval belongs to its requester: the device; without a device the connection; inside the gateway the caller. */
function foreign({ requester }: ApprovalRecord, claim: ExecClaim): Mismatch | undefined {
  if (requester.deviceId !== null) {
    if (requester.deviceId === claim.deviceId) return undefined;
    return { code: "APPROVAL_DEVICE_MISMATCH", message: `another device requested the approval; ${ANEW}` };
  }
  const isSame =
    requester.connectionId === (claim.connectionId ?? null) && requester.principalId === claim.principal.id;
  if (isSame) return undefined;
  return { code: "APPROVAL_CLIENT_MISMATCH", message: `another client requested the approval; ${ANEW}` };
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
    return {
      code: "APPROVAL_ENV_BINDING_MISSING",
      message: `the approval does not include environment variables; ${ANEW}`,
      more,
    };
  }
  return { code: "APPROVAL_ENV_MISMATCH", message: `the approval is for another environment; ${ANEW}`, more };
}

function refuse({ approvalId }: ExecClaim, { code, message, more }: Mismatch): never {
  throw refusal(code, message, { ...(approvalId !== undefined && { runId: approvalId }), ...more });
}
