/** Answers that hold longer than once: for what, and until when. Pure. */
import { invalidRequest, type ParamsOf } from "@svc/sdk";
import type { ApprovalDecision, ApprovalGrant, ApprovalRequestView, execApproval } from "@svc/sdk/approvals";

/** Choice: milliseconds that a grant holds unless told, and the most of one for a session. */
export const GRANT_MS = 90 * 86_400_000;
const SESSION_GRANT_MS = 3_600_000;
const MAX_SESSION_GRANT_MS = 24 * 3_600_000;

type Wish = ParamsOf<typeof execApproval.resolve>["grant"];

/**
 * The grant that an approver wants, where it is not that of a bare `allow-always`.
 * @throws GatewayError `INVALID_REQUEST`: it goes with `allow-always` only, the question does not offer it, or it is too long
 */
export function wantedGrant(
  wish: Wish,
  decision: ApprovalDecision,
  { session }: Pick<ApprovalRequestView, "session">,
  now: number,
): ApprovalGrant | undefined {
  if (wish === undefined) return undefined;
  if (decision !== "allow-always") invalidRequest(`grant goes with allow-always only; leave it out of ${decision}`);
  const { for: what = "this", durationMs } = wish;
  if (what === "this") return durationMs === undefined ? undefined : { for: what, expiresAtMs: now + durationMs };
  if (session === undefined) {
    invalidRequest(
      "grant.for: this question offers nothing for the session; allow it once, or this very thing for a time",
    );
  }
  if (durationMs !== undefined && durationMs > MAX_SESSION_GRANT_MS) {
    invalidRequest(`grant.durationMs: a grant for the session holds at most 24 h (${MAX_SESSION_GRANT_MS})`);
  }
  return { for: what, expiresAtMs: now + (durationMs ?? SESSION_GRANT_MS) };
}

/**
 * What whoever asked is told. Choice: only a bare `allow-always` is told as such, since some clients and nodes keep it
 * for good themselves; under a grant with a chosen end each question is allowed once.
 */
export function toldDecision(decision: ApprovalDecision, grant: ApprovalGrant | undefined): ApprovalDecision {
  return grant === undefined ? decision : "allow-once";
}
