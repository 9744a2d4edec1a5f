/** Computes scope and expiry of grants. Pure. */
import { invalidRequest, type ParamsOf } from "@svc/sdk";
import type { ApprovalDecision, ApprovalGrant, ApprovalRequestView, execApproval } from "@svc/sdk/approvals";

/** Choice: default lifetime of a grant in milliseconds, and default and maximum for a session. */
export const GRANT_MS = 90 * 86_400_000;
const SESSION_GRANT_MS = 3_600_000;
const MAX_SESSION_GRANT_MS = 24 * 3_600_000;

type Wish = ParamsOf<typeof execApproval.resolve>["grant"];

/**
 * The grant that an approver requests; `undefined` for a plain `allow-always` and other decisions.
 * @throws GatewayError `INVALID_REQUEST`: grant without `allow-always`, not offered by the question, or too long
 */
export function wantedGrant(
  wish: Wish,
  decision: ApprovalDecision,
  { session }: Pick<ApprovalRequestView, "session">,
  now: number,
): ApprovalGrant | undefined {
  if (wish === undefined) return undefined;
  if (decision !== "allow-always") invalidRequest(`grant requires allow-always; omit it with ${decision}`);
  const { for: what = "this", durationMs } = wish;
  if (what === "this") return durationMs === undefined ? undefined : { for: what, expiresAtMs: now + durationMs };
  if (session === undefined) {
    invalidRequest(
      "grant.for: this question offers no grant for the session; allow it once, or exactly this for a time",
    );
  }
  if (durationMs !== undefined && durationMs > MAX_SESSION_GRANT_MS) {
    invalidRequest(`grant.durationMs: a grant for the session lasts at most 24 h (${MAX_SESSION_GRANT_MS})`);
  }
  return { for: what, expiresAtMs: now + (durationMs ?? SESSION_GRANT_MS) };
}

/**
 * The decision reported to the requester. Choice: only a plain `allow-always` is reported as such, since some clients and
 * nodes store it permanently. Under a grant with a chosen end, each question is reported as `allow-once`.
 */
export function toldDecision(decision: ApprovalDecision, grant: ApprovalGrant | undefined): ApprovalDecision {
  return grant === undefined ? decision : "allow-once";
}
