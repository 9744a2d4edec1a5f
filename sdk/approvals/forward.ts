/** Approval requests in chats: the extension point that shows them, and the service that takes decisions from chats. */
import type { Principal } from "../principal.ts";
import { defineExtensionPoint, defineService } from "../service.ts";
import type { ApprovalDecision, ApprovalRequestView } from "./contract.ts";

/** A chat that gets requests. */
export interface ApprovalTarget {
  readonly channel: string;
  readonly to: string;
  readonly accountId?: string;
  readonly threadId?: string;
}

/** A request to show. Times: epoch ms. */
export interface ForwardedApproval {
  readonly id: string;
  readonly request: ApprovalRequestView;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Show it in the chat of the session that the request comes from. */
  readonly inSession: boolean;
  readonly targets: readonly ApprovalTarget[];
}

/** Outcome of a forwarded request. */
export interface ForwardedOutcome {
  readonly id: string;
  readonly request: ApprovalRequestView;
  /** `null`: it expired. */
  readonly decision: ApprovalDecision | null;
  /** Who decided, for people. */
  readonly by?: string;
  /** Why it expired: `reason` of `exec.approval.list`. */
  readonly reason?: string;
}

/** Shows requests where approvers read them. */
export interface ApprovalForwarder {
  /** Resolves when the request is on its way. @returns false: there was no chat to show it in */
  ask(approval: ForwardedApproval): Promise<boolean>;
  /** Shows the outcome in the same message. Called after `ask` has ended; after a restart also for requests that it never got. */
  settled(outcome: ForwardedOutcome): Promise<void>;
}

/** Token of the extension point. */
export const ApprovalForwarder = defineExtensionPoint<ApprovalForwarder>("approval.forwarder", {
  summary:
    "Shows approval requests to people. Owned by the plugin `approvals`; contributed by plugins that reach approvers, e.g. `channels`.",
  remotable: true,
});

/** A decision made in a chat. */
export interface ChatDecision {
  /** Id of the request, or its first characters if they are unique among the pending ones. */
  readonly id: string;
  readonly decision: ApprovalDecision;
  /** Channel id, account, and the immutable id of the person there; must be an approver of chats. */
  readonly channel: string;
  readonly accountId: string;
  /** Whether this is the default account of the channel. */
  readonly isDefaultAccount: boolean;
  readonly senderId: string;
  readonly principal: Principal;
  /** Name of the person, for people. */
  readonly by: string;
}

/** Takes decisions that people make in chats. Trusts its caller: a plugin that requires it can decide as any approver. */
export interface ApprovalDecisions {
  /** @throws GatewayError `FORBIDDEN`: not an approver; `INVALID_REQUEST`: already decided or expired; `NOT_FOUND` */
  decide(decision: ChatDecision): Promise<void>;
}

/** Token of the service. */
export const ApprovalDecisions = defineService<ApprovalDecisions>()("approval.decisions", "1.0.0", {
  summary: "Takes decisions on approval requests from chats. Provided by the plugin `approvals`; used by `channels`.",
});
