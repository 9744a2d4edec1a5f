/** The service that asks people to decide a question of a gate. */
import type { ApprovalDecision } from "../approvals/contract.ts";
import type { BoundFile } from "../approvals/exec-schema.ts";
import { defineService } from "../service.ts";

/** A question for a person to decide. */
export interface ApprovalQuestion {
  /** One line, shown to people, e.g. the command. */
  readonly title: string;
  /**
   * What is to be approved, as JSON: everything that matters, and nothing that varies between calls. `allow-always` is
   * bound to it.
   */
  readonly subject: unknown;
  /**
   * What people may allow for the whole session in addition to this request: a description, and JSON that the grant is
   * bound to. The JSON must name the conversation and everything else whose change requires a new question. Absent:
   * nothing.
   */
  readonly session?: { readonly title: string; readonly subject: unknown } | undefined;
  /**
   * Shown to people: file contents that are approved as well. They are binding only if `subject` also contains them.
   */
  readonly files?: readonly BoundFile[] | undefined;
  /** Kind of request, e.g. `toolBefore:exec`; two kinds never share an answer. */
  readonly kind: string;
  /** For people: why approval is needed, e.g. the external content that led to the request. Shown, but not binding. */
  readonly because?: string | undefined;
  /** Shown to people: the plugin or hook that asks. */
  readonly askedBy: string;
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
  /** Milliseconds; default 120000. Without an answer in time: denied. */
  readonly timeoutMs?: number | undefined;
  /** Withdraws the question, which counts as denied. */
  readonly signal?: AbortSignal | undefined;
}

/** Outcome of a question; `decision: null`: no answer, which counts as a denial. */
export interface ApprovalAnswer {
  readonly id: string;
  readonly decision: ApprovalDecision | null;
  /** The answer comes from a grant, which may end at any time: ask again instead of storing the answer. */
  readonly isGranted?: true;
  /** Why the request was denied; shown to the caller. */
  readonly reason?: string;
}

/** Asks people for approval. */
export interface Approver {
  /** @throws GatewayError `UNAVAILABLE` if the question cannot be recorded */
  ask(question: ApprovalQuestion): Promise<ApprovalAnswer>;
}

/** Token of the service. */
export const Approver = defineService<Approver>()("approver", "1.0.0", {
  summary:
    'Asks people for approval. Provided by the plugin `approvals`; used by gates for answers with `allow: "ask"`, and by tools that ask themselves.',
  remotable: true,
});
