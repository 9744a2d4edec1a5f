/** The service that puts a question of a gate to people. */
import type { ApprovalDecision } from "../approvals/contract.ts";
import type { BoundFile } from "../approvals/exec-schema.ts";
import { defineService } from "../service.ts";

/** Something that a person should decide. */
export interface ApprovalQuestion {
  /** One line, shown to people, e.g. the command. */
  readonly title: string;
  /** What is asked for, as JSON: all of it, and nothing that changes from one time to the next. `allow-always` binds to it. */
  readonly subject: unknown;
  /**
   * What people may allow for the session at once, beside this very thing: in words, and as JSON that the grant binds to. It must
   * name the conversation, and everything else that makes it a new question when it changes. Absent: nothing.
   */
  readonly session?: { readonly title: string; readonly subject: unknown } | undefined;
  /** Shown to people: contents that are allowed with it. They bind only where `subject` has them, too. */
  readonly files?: readonly BoundFile[] | undefined;
  /** What kind of thing, e.g. `toolBefore:exec`; two kinds never share an answer. */
  readonly kind: string;
  /** For people: what makes it a question, e.g. the words of somebody else that led to it. Shown and not bound. */
  readonly because?: string | undefined;
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
  /** A grant gave the answer, which may end at any time: ask again instead of keeping it. */
  readonly isGranted?: true;
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
