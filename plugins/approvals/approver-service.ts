/** The service `Approver`, through which plugins and gates ask people. */
import { invalidRequest } from "@svc/sdk";
import type { ApprovalAnswer, ApprovalQuestion, Approver } from "@svc/sdk/gateway";
import type { ApprovalRecord } from "./approval-rows.ts";
import { askedQuestion } from "./asking.ts";
import type { ApprovalQueue } from "./approval-queue.ts";

/** Reason of an expired question, for the requester. */
const NO: Readonly<Record<string, string>> = {
  time: "nobody answered in time",
  "nobody to ask": "no approver is connected. Next: svc approvals watch in a terminal, then try again",
  cancelled: "the question was cancelled",
  restart: "the gateway was restarted before an answer",
};

export function createApprover(queue: ApprovalQueue): Approver {
  return {
    async ask(question) {
      const taken = await queue.take({
        asked: askedQuestion(question),
        requester: { principalId: `asker:${question.askedBy.slice(0, 200)}`, deviceId: null, connectionId: null },
        timeoutMs: question.timeoutMs,
        always: false,
      });
      if (!taken) return invalidRequest("a question with this id already exists; ask again"); // ids are random
      return answerOf(await settledOrCancelled(queue, taken.record.id, taken.settled, question.signal));
    },
  };
}

async function settledOrCancelled(
  queue: ApprovalQueue,
  id: string,
  settled: Promise<ApprovalRecord>,
  signal: ApprovalQuestion["signal"],
): Promise<ApprovalRecord> {
  const cancel = () => void queue.close(id, "cancelled");
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    return await settled;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

function answerOf({ id, decision, reason, resolvedBy }: ApprovalRecord): ApprovalAnswer {
  if (decision === null) return { id, decision, reason: NO[reason ?? ""] ?? "nobody decided" };
  if (decision !== "deny") return { id, decision, ...(resolvedBy === null && { isGranted: true }) };
  return { id, decision, reason: resolvedBy === null ? "the request was denied" : `${resolvedBy} denied it` };
}
